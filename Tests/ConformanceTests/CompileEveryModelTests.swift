import ModelToolchain
import TestSupport
import Testing

/// Every model at hand becomes a bundle that reads back as the same model, or is refused with a
/// reason.
@Suite struct CompileEveryModelTests {
  @Test(.enabled(if: !MILTextTests.models.isEmpty, Comment(rawValue: TestData.absence)))
  func bundlesHoldTheirModels() throws {
    var kinds: [String: Int] = [:]
    for path in MILTextTests.models {
      let loaded = try LoadedModel(path: path)
      let compiler = BundleCompiler(name: "m")
      do {
        try compiler.check(loaded.model)
      } catch {
        #expect(Self.holdsNetwork(loaded.model), "\(path): \(error)")
        continue
      }
      let scratch = try ScratchFolder()
      let bundle = "\(scratch.path)/m.mlmodelc"
      let folder = FolderWriter(scratch.path, shownAs: scratch.path)
      let result = try compiler.compile(loaded, into: try folder.folder("m.mlmodelc"))
      #expect(result.dropped.isEmpty, "\(path)")
      let compiled = try CompiledModel(ModelContainer.open(path: bundle))
      #expect(Self.difference(loaded.model, compiled.model) == nil, "\(path)")
      let errors = try ModelValidator().findings(path: bundle).filter { $0.severity == .error }
      #expect(errors == [], "\(path)")
      kinds[loaded.model.kind.typeName, default: 0] += 1
    }
    #expect(kinds.count > 2 && kinds["mlProgram", default: 0] > 20)
  }

  private static func holdsNetwork(_ model: Model) -> Bool {
    switch model.kind {
    case .neuralNetwork: true
    case .pipeline(let pipeline): pipeline.models.contains(where: holdsNetwork)
    default: false
    }
  }

  /// What differs between a model and that of its bundle, or nil.
  private static func difference(_ source: Model, _ bundle: Model) -> String? {
    if source.specificationVersion != bundle.specificationVersion { return "version" }
    var description = source.description ?? ModelDescription()
    if description.metadata == nil { description.metadata = Metadata() }
    switch (source.kind, bundle.kind) {
    case (.program(let left), .program(var right)):
      if description != bundle.description { return "interface" }
      // The compiler names itself.
      right.attributes = left.attributes
      if let difference = MILComparison.difference(left, right) { return difference }
      return sameWeights(left, right) ? nil : "weights"
    case (.pipeline(let left), .pipeline(let right)):
      if left.models.count != right.models.count { return "models" }
      for (own, other) in zip(left.models, right.models) {
        if let difference = difference(own, other) { return difference }
      }
      return description == bundle.description ? nil : "interface"
    case (.other(let left), .other(let right)):
      return left.typeName == right.typeName && left.payload == right.payload ? nil : "content"
    default: return "kind"
    }
  }

  private static func sameWeights(_ left: Program, _ right: Program) -> Bool {
    func all(_ program: Program) -> [String] {
      var found: [String] = []
      program.forEachWeight { weight in
        var digest = ContentDigest()
        try? weight.source.withElements(0..<weight.source.elementCount) { digest.update($0) }
        found.append("\(weight.reference.offset) \(weight.source.shape) \(digest.hexadecimal)")
      }
      return found.sorted()
    }
    return all(left) == all(right)
  }
}
