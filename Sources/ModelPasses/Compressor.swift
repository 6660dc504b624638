import ModelCompression
import ModelFiles
import ModelGraph
import ModelOperations
import ModelSpec
import ModelTensors

/// Runs a compressing pass on a model: decides per constant, streams the weights into new files,
/// patches the programs, writes the model.
public struct Compressor: Sendable {
  public var settings: CompressionSettings
  public var parallel: Parallel
  /// Called with the share of the work that is done, 0…1.
  public var progress: @Sendable (Double) -> Void = { _ in }

  /// A compressor with these settings.
  public init(
    settings: CompressionSettings = CompressionSettings(), parallel: Parallel = Parallel()
  ) {
    self.settings = settings
    self.parallel = parallel
  }

  /// Compresses `loaded` and commits it to `writer`; without a writer nothing is written and the
  /// ledger is the same. When nothing was compressed the writer is discarded.
  ///
  /// - Throws: ``PassError``, `UpgradeRefusal`, `FileError`, `SpecError`, `TensorError`.
  public func run(
    _ pass: any CompressionPass, on loaded: LoadedModel, to writer: PackageWriter?
  ) throws -> Ledger {
    do {
      return try compress(pass, loaded, writer)
    } catch {
      writer?.discard()
      throw error
    }
  }

  private func compress(
    _ pass: any CompressionPass, _ loaded: LoadedModel, _ writer: PackageWriter?
  ) throws -> Ledger {
    var model = loaded.model
    try check(model)
    let knownFindings = Compressor.errors(in: model)
    var pass = pass
    let (version, raiseNotes) = try VersionRaise.apply(
      to: &model, minimum: pass.minimumVersion, target: settings.targetVersion)
    let notes = raiseNotes + (try pass.rewrite(&model, settings: settings))
    let index = ConstantIndex(model)
    let plan = CompressionPlan(
      index: index, filter: CandidateFilter(settings: settings, pass: pass),
      version: version.after)
    var ledger = Ledger(version: version, rows: [], notes: notes)

    let items = assemblyItems(of: model, index, plan)
    // Every byte is looked at and then written.
    let meter = ProgressMeter(
      total: items.reduce(0) { $0 + $1.source.byteCount * 2 }, report: progress)
    let assembly = WeightAssembly(parallel: parallel, progress: meter.add)
    var outcome = WeightAssembly.Outcome()
    if !plan.recipes.isEmpty {
      outcome = try assembly.run(items) { fileName -> any BlobSink in
        if let writer { return try writer.weightWriter(fileName: fileName) }
        return CountingBlobSink()
      }
    }
    if settings.isStrict || pass.refusalHint != nil,
      let (number, reason) = outcome.refused.min(by: { $0.key < $1.key })
    {
      throw PassError.refusedWeight(
        name: index.constants[number].name, reason: reason,
        hint: pass.refusalHint ?? "without --strict it is skipped")
    }
    ledger.rows = LedgerRows(index: index, plan: plan, outcome: outcome).rows(of: model)
    guard ledger.hasCompressed else {
      writer?.discard()
      return ledger
    }
    ledger.notes += try apply(outcome, index, to: &model)
    try verify(model, knownFindings)
    if let writer {
      let specification = try ModelEncoder.encode(model)
      try writer.carryOver(from: loaded.container, replacing: Set(loaded.weightFileNames))
      try writer.commit(specification: specification)
      ledger.synchronizeSeconds = writer.timings.synchronize
    }
    return ledger
  }

  /// Refuses model kinds that hold weights which this pass does not reach.
  private func check(_ model: Model) throws {
    if !Compressor.hasProgram(model), Compressor.hasNeuralNetwork(model) {
      throw PassError.unsupported(
        "a \(model.kind.typeName): only ML Programs are compressed so far, neural networks "
          + "come with the command compress",
        hint: "convert it to an ML Program, or wait for the release with mlt compress")
    }
    if let function = settings.function {
      let names = Compressor.functionNames(model)
      guard names.contains(function) else {
        throw PassError.usage(
          "there is no function \"\(function)\"",
          hint: "functions: \(names.joined(separator: ", "))")
      }
    }
  }

  private static func programs(_ model: Model) -> [(model: Model, program: Program)] {
    switch model.kind {
    case .program(let program): [(model, program)]
    case .pipeline(let pipeline): pipeline.models.flatMap(programs)
    case .neuralNetwork, .other, .absent: []
    }
  }

  private static func hasProgram(_ model: Model) -> Bool { !programs(model).isEmpty }

  private static func hasNeuralNetwork(_ model: Model) -> Bool {
    switch model.kind {
    case .neuralNetwork: true
    case .pipeline(let pipeline): pipeline.models.contains(where: hasNeuralNetwork)
    case .program, .other, .absent: false
    }
  }

  private static func functionNames(_ model: Model) -> [String] {
    programs(model).flatMap { $0.program.functions.keys }
  }

  /// All weights of the new model in file order, each place once.
  private func assemblyItems(
    of model: Model, _ index: ConstantIndex, _ plan: CompressionPlan
  ) -> [AssemblyItem] {
    var items: [AssemblyItem] = []
    var seenConstants: Set<Int> = []
    var seenPlaces: Set<WeightKey> = []
    let defaultFile = Compressor.firstWeightFile(of: model)
    func carry(_ weight: Weight) {
      guard seenPlaces.insert(weight.key).inserted else { return }
      items.append(
        AssemblyItem(
          source: weight.source, fileName: weight.reference.fileName, key: weight.key))
    }
    forEachOperation(of: model) { site, operation in
      if let number = index.bySite[site], let recipe = plan.recipes[number] {
        guard seenConstants.insert(number).inserted else { return }
        let constant = index.constants[number]
        let weight = constant.value.weight
        items.append(
          AssemblyItem(
            source: constant.source, fileName: weight?.reference.fileName ?? defaultFile,
            key: weight?.key, encoding: .init(constant: number, recipe: recipe)))
        return
      }
      operation.forEachValue { $0.forEachWeight(carry) }
    }
    model.forEachProgram { program, _ in program.forEachAttributeWeight(carry) }
    return items
  }

  private static func firstWeightFile(of model: Model) -> String {
    var name: String?
    model.forEachWeight { weight in name = name ?? weight.reference.fileName }
    return name ?? "@model_path/weights/weight.bin"
  }

  /// Moves carried weights to their new places and puts the encoded constants in.
  ///
  /// - Returns: Notes on what could not be kept.
  private func apply(
    _ outcome: WeightAssembly.Outcome, _ index: ConstantIndex, to model: inout Model
  ) throws -> [String] {
    var notes: [String] = []
    try model.updateEachProgram { model, place in
      guard var program = model.program else { return }
      program.updateEachWeight { weight in
        if let new = outcome.places[weight.key] { weight.reference = new }
      }
      var patches: [Patch] = []
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          var edits: [Patch.Edit] = []
          block.forEachOperation { operation, path in
            let site = ConstantSite(
              place: place, function: name, specialization: key,
              name: operation.outputs.first?.name ?? "", path: path)
            guard let number = index.bySite[site], let encoded = outcome.encoded[number] else {
              return
            }
            let (operations, dropped) = Compressor.replacement(of: operation, encoded)
            edits.append(.replace(path, with: operations))
            for attribute in dropped {
              notes.append(
                "\(name)/\(operation.name): the attribute \"\(attribute)\" is dropped, "
                  + "\(operations.last?.type ?? "") takes none")
            }
          }
          if edits.isEmpty { continue }
          patches.append(
            Patch(label: "compress", function: name, specialization: key, edits: edits))
        }
      }
      try program.apply(patches)
      model.program = program
    }
    return notes
  }

  /// The operations for an encoded constant; what the constant had beside its value is kept, but
  /// not its extra attributes where an operation reads attributes as parameters.
  private static func replacement(
    of constant: GraphOperation, _ encoded: EncodedConstant
  ) -> (operations: [GraphOperation], dropped: [String]) {
    guard let output = constant.outputs.first else { return ([constant], []) }
    var parts = encoded.parts
    if let document = constant.attributes["val"]?.docString, !document.isEmpty, !parts.isEmpty {
      parts[0].docString = document
    }
    var operations = encoded.prepared.operations(
      output: output.name, name: constant.name, parts: parts)
    guard var last = operations.popLast() else { return ([constant], []) }
    if last.outputs.first?.type?.tensor?.dataType == output.type?.tensor?.dataType {
      last.outputs[0] = output
    }
    var dropped: [String] = []
    for (name, value) in constant.attributes where name != "val" && name != "name" {
      if last.isConstexpr {
        dropped.append(name)
      } else if last.attributes[name] == nil {
        last.attributes[name] = value
      }
    }
    last.unknownFields = constant.unknownFields
    return (operations + [last], dropped)
  }

  private static func errors(in model: Model) -> Set<String> {
    var messages: Set<String> = []
    for (model, program) in programs(model) {
      for finding in Verifier.findings(
        program: program, specificationVersion: model.specificationVersion,
        description: model.description) where finding.severity == .error
      {
        messages.insert("\(finding.place): \(finding.message)")
      }
    }
    return messages
  }

  /// Throws when the model has errors that it did not have before.
  private func verify(_ model: Model, _ known: Set<String>) throws {
    if let first = Compressor.errors(in: model).subtracting(known).min() {
      throw PassError.invalidResult(first)
    }
  }

  private func forEachOperation(
    of model: Model, _ body: (ConstantSite, GraphOperation) -> Void
  ) {
    model.forEachProgram { program, place in
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          block.forEachOperation { operation, path in
            body(
              ConstantSite(
                place: place, function: name, specialization: key,
                name: operation.outputs.first?.name ?? "", path: path),
              operation)
          }
        }
      }
    }
  }
}
