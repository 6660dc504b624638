import ModelFiles
import ModelGraph
import ModelInspection
import ModelOperations
import ModelSpec

/// Makes compiled bundles (`.mlmodelc`) of ML Programs, of the kinds that compilation keeps whole, and
/// of pipelines of both.
///
/// The same model and name give the same bytes. What Apple has not published is written in the form
/// of docs/compiled-bundles.md, and ``Result/unproved`` lists what of it a bundle rests on.
public struct BundleCompiler: Sendable {
  /// What a bundle rests on and what it lacks.
  public struct Result: Sendable, Equatable {
    /// Parts that rest on reports or inference, sorted.
    public var unproved: [String] = []
    /// What the program holds and a bundle cannot, sorted.
    public var dropped: [String] = []

    /// An empty result.
    public init() {}
  }

  /// The number of the form that this library writes; bundles of different numbers differ.
  public static let formatVersion = 1

  /// The name of the model: that of the class that Xcode would generate.
  public var name: String
  /// The specification version of the system that shall load the bundle; nil for that of the model.
  public var targetVersion: Int?

  /// A compiler of the model `name`.
  public init(name: String, targetVersion: Int? = nil) {
    self.name = name
    self.targetVersion = targetVersion
  }

  /// Checks that the model can be compiled, without writing anything.
  ///
  /// - Throws: ``BundleError`` with the reason.
  public func check(_ model: Model) throws(BundleError) {
    if let targetVersion, targetVersion < model.specificationVersion {
      throw BundleError(
        .target,
        "\(MinimumOS.label(specificationVersion: targetVersion)) loads specification versions up to "
          + "\(targetVersion), the model has \(model.specificationVersion) "
          + "(\(MinimumOS.label(specificationVersion: model.specificationVersion)))")
    }
    try check(model, place: "", depth: 0)
  }

  private func check(_ model: Model, place: String, depth: Int) throws(BundleError) {
    let subject = place.isEmpty ? "the model" : "its model \(place)"
    switch model.kind {
    case .program(let program):
      let finding = Verifier.firstError(
        program: program, specificationVersion: model.specificationVersion,
        description: model.description)
      if let finding {
        throw BundleError(
          .unsupported, "\(subject) is not valid: \(finding.message) (\(finding.place))",
          hint: finding.hint ?? "mlt validate lists all that is wrong")
      }
      try checkWeightNames(program, subject)
    case .neuralNetwork(let network):
      throw BundleError(
        .unsupported,
        "\(subject) is a neural network (\(network.typeName)): the layer files of its compiled form "
          + "are not documented",
        hint: "convert it to an ML Program, or compile it with Xcode")
    case .pipeline(let pipeline):
      guard depth + 1 < CompiledModel.maximumDepth else {
        throw BundleError(.unsupported, "pipelines are nested too deeply")
      }
      for (index, child) in pipeline.models.enumerated() {
        let name = pipeline.name(of: index)
        try check(child, place: place.isEmpty ? name : "\(place)/\(name)", depth: depth + 1)
      }
    case .other: break
    case .absent: throw BundleError(.unsupported, "\(subject) has no content")
    }
  }

  /// Refuses weight files whose places in a bundle are those of its own files.
  private func checkWeightNames(
    _ program: Program, _ subject: String
  ) throws(BundleError) {
    var name: String?
    for (_, function) in program.functions where name == nil {
      function.activeBlock?.forEachWeight { weight in
        let first = weight.reference.relativePath.prefix { $0 != "/" }
        if BundleWriter.ownNames.contains(first.lowercased()) { name = weight.reference.fileName }
      }
    }
    if let name {
      throw BundleError(
        .unsupported, "\(subject) calls a weight file \(name), where a bundle has a file of its own"
      )
    }
  }

  /// Writes the bundle of a model into an empty folder.
  ///
  /// - Throws: ``BundleError`` as ``check(_:)`` does, `FileError`, `MILTextError`, `SpecError`.
  public func compile(_ loaded: LoadedModel, into folder: FolderWriter) throws -> Result {
    try check(loaded.model)
    var writer = BundleWriter(container: loaded.container)
    try writer.write(loaded.model, into: folder)
    try writer.writeSummaries(
      of: loaded.model, className: className, into: folder,
      specification: try specificationFacts(loaded))
    if className != name { writer.assumptions.insert(.className) }
    return writer.result
  }

  /// The name as an identifier: what is no ASCII letter, digit or underscore becomes an underscore.
  var className: String {
    let text = String(
      name.unicodeScalars.map { scalar in
        scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
          ? Character(scalar) : "_"
      })
    return text.first.map { $0.isNumber ? "_" + text : text } ?? "_"
  }

  private func specificationFacts(
    _ loaded: LoadedModel
  ) throws -> (digest: [UInt8], name: String) {
    var digest = ContentDigest()
    loaded.container.specification.withBytes { digest.update($0) }
    let path = loaded.container.specification.path
    var file = path.split(separator: "/").last.map(String.init) ?? path
    if file.hasSuffix(".mlmodel") { file.removeLast(8) }
    return (digest.bytes, file)
  }
}
