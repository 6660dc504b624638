import ModelFiles
import ModelGraph
import ModelInspection
import ModelSpec

/// The model of a compiled bundle, as far as its files tell it.
///
/// Programs come back from their text, kinds that compilation leaves as they are from their
/// specification, of neural networks the interface and the layers' names, of pipelines the children.
public struct CompiledModel: Sendable {
  /// The model; of a neural network without weights.
  public var model: Model
  /// Whether the model's content is there.
  public var isWhole: Bool
  /// The content of `coremldata.bin`.
  public var data: BundleData
  /// The version in the first line of `model.mil`; nil for kinds that have no text.
  public var textVersion: MILVersion?
  /// The models of a pipeline, in order.
  public var children: [CompiledModel] = []

  /// Reads an open bundle and the bundles in it.
  ///
  /// - Parameter resolvingWeights: Whether the weight files are opened; without it weights have
  ///   types but no values.
  /// - Throws: `SpecError` when a file is malformed, `FileError` when one is missing.
  public init(_ container: ModelContainer, resolvingWeights: Bool = true) throws {
    try self.init(
      file: container.specification, container, folder: "", depth: 0,
      resolvingWeights: resolvingWeights && container.weightsAvailable)
  }

  /// Pipelines in pipelines, at most.
  static let maximumDepth = 8
  /// Models in a pipeline, at most.
  private static let maximumCount: UInt64 = 1000

  private init(
    file: MappedFile, _ container: ModelContainer, folder: String, depth: Int,
    resolvingWeights: Bool
  ) throws {
    guard depth < CompiledModel.maximumDepth else {
      throw SpecError("pipelines are nested too deeply", path: file.path)
    }
    data = try file.withBytes { bytes throws(SpecError) in
      try BundleData(bytes, path: file.path)
    }
    let typeName = ModelKinds.name(of: data.typeNumber) ?? ""
    let weights: any WeightResolver =
      resolvingWeights
      ? ContainerWeights(container, folder: folder) : UnopenedWeights()
    let decoder = ModelDecoder(weights: weights)
    guard case .compiled(let description, let trailer) = data.content else {
      guard case .specification(let bytes) = data.content else { throw SpecError("no content") }
      model = try bytes.withUnsafeBytes { try decoder.decode($0, path: file.path) }
      isWhole = true
      return
    }
    model = Model(
      specificationVersion: Int(min(data.specification.major, 1 << 20)),
      description: try decoder.decode(description: description, path: file.path), kind: .absent)
    isWhole = true
    switch trailer {
    case _ where typeName == "mlProgram":
      let document = try CompiledModel.text(container, folder, weights)
      textVersion = document.version
      model.kind = .program(document.program)
    case .pipeline(let count):
      guard count <= CompiledModel.maximumCount else {
        throw SpecError("\(count) models in a pipeline", path: file.path)
      }
      var pipeline = Pipeline(
        typeName: typeName, models: [],
        names: try CompiledModel.names(container, folder, count: Int(count)))
      for index in 0..<Int(count) {
        let inner = "\(folder)model\(index)/"
        let child = try CompiledModel(
          file: container.file(
            at: inner + "coremldata.bin", maximum: ModelContainer.maximumBundleFile),
          container, folder: inner,
          depth: depth + 1, resolvingWeights: resolvingWeights)
        pipeline.models.append(child.model)
        children.append(child)
        isWhole = isWhole && child.isWhole
      }
      model.kind = .pipeline(pipeline)
    default:
      isWhole = false
      if typeName.hasPrefix("neuralNetwork") {
        let layers = try CompiledNetwork.layers(container, folder: folder)
        model.kind = .neuralNetwork(
          NeuralNetwork(typeName: typeName, payload: [], layers: layers))
      } else {
        model.kind = .other(OpaqueModel(typeName: typeName, payload: []))
      }
    }
  }

  /// Reads the program of a bundle.
  private static func text(
    _ container: ModelContainer, _ folder: String, _ weights: any WeightResolver
  ) throws -> MILDocument {
    let file = try container.file(
      at: folder + "model.mil", maximum: ModelContainer.maximumBundleFile)
    let parser = MILParser { reference, type, shape in
      try weights.source(for: reference, elementType: type, shape: shape)
    }
    do {
      return try file.withBytes { try parser.parse(Array($0)) }
    } catch let error as MILTextError {
      throw SpecError(
        error.position.map { "line \($0.line), column \($0.column): \(error.message)" }
          ?? error.message, path: file.path)
    }
  }

  /// The names of a pipeline's models, where the bundle has them.
  private static func names(
    _ container: ModelContainer, _ folder: String, count: Int
  ) throws -> [String] {
    let name = folder + "modelNames/coremldata.bin"
    guard container.files.contains(where: { $0.path == name }) else { return [] }
    let file = try container.file(at: name, maximum: ModelContainer.maximumBundleFile)
    return try file.withBytes { bytes in
      var reader = LittleEndianReader(bytes, path: file.path)
      let names = try reader.texts()
      guard names.count == count else {
        throw SpecError("\(names.count) names for \(count) models", path: file.path)
      }
      return names
    }
  }
}

extension LoadedModel {
  /// Opens a model of any form, compiled bundles included; what a bundle lacks is absent in the model.
  ///
  /// - Parameter readingWeights: Whether weights will be read; without it an archive is opened for
  ///   its specification and text only and its weights are absent.
  /// - Returns: The model, and the bundle where it is one.
  /// - Throws: `FileError`, `SpecError`.
  public static func open(
    path: String, readingWeights: Bool = true
  ) throws -> (loaded: LoadedModel, compiled: CompiledModel?) {
    let container = try ModelContainer.open(path: path, readingWeights: readingWeights)
    guard container.contents == .compiled else {
      return (try LoadedModel(container), nil)
    }
    let compiled = try CompiledModel(container)
    return (LoadedModel(container: container, model: compiled.model), compiled)
  }
}

extension ModelReport {
  /// Takes back what is only known of a whole model, for a bundle that holds less.
  public mutating func limit(to compiled: CompiledModel) {
    if compiled.isWhole { return }
    versionReasons = []
    neededVersion = specificationVersion
    findings = ["compiled: the weights are not shown"]
  }
}
