import ModelFiles
import ModelGraph
import ModelTensors

/// A model together with the container that it came from; its weights lie in mapped files.
public struct LoadedModel: Sendable {
  /// The container that the model came from.
  public let container: ModelContainer
  /// The model.
  public var model: Model

  /// A model of this container.
  public init(container: ModelContainer, model: Model) {
    self.container = container
    self.model = model
  }

  /// Opens a package folder, an archive or a specification file.
  ///
  /// - Parameter readingWeights: Whether weights will be read; without it an archive is opened for
  ///   its specification only and its weights are absent.
  /// - Throws: ``FileError``, ``SpecError``.
  public init(path: String, readingWeights: Bool = true) throws {
    try self.init(try ModelContainer.open(path: path, readingWeights: readingWeights))
  }

  /// Reads the model of an open container.
  ///
  /// - Throws: ``SpecError``, also for a compiled bundle.
  public init(_ container: ModelContainer) throws {
    if container.contents == .compiled {
      throw SpecError(
        "a compiled bundle: its source model is needed here", kind: .unsupported,
        path: container.path)
    }
    let weights: any WeightResolver =
      container.weightsAvailable ? ContainerWeights(container) : UnopenedWeights()
    let decoder = ModelDecoder(weights: weights)
    self.container = container
    model = try decoder.decode(
      container.specification.bytes, path: container.specification.path)
    // The model holds all that it needs of the specification.
    container.specification.release(0..<container.specification.count)
  }

  /// Writes the model; weights that still lie where the container has them are copied as files.
  ///
  /// - Throws: ``FileError``, ``SpecError``.
  public func save(to output: String, force: Bool = false) throws {
    try write(to: try PackageWriter(output: output, force: force))
  }

  /// Writes the model as ``save(to:force:)`` does.
  public func write(to writer: PackageWriter) throws {
    let specification = try ModelEncoder.encode(model)
    for name in weightFileNames {
      try writer.copyWeightFile(from: container, name: name)
    }
    try writer.carryOver(from: container)
    try writer.commit(specification: specification)
  }

  /// Bytes of the container's files beside the specification and these weight files.
  public func bytesBeside(weightFiles names: Set<String>) -> Int {
    let last = { (name: String) in name.split(separator: "/").last.map(String.init) ?? name }
    let dropped = Set(names.map(last))
    let weights = container.weightFiles.filter { dropped.contains(last($0.name)) }
    return container.totalBytes - container.specificationBytes
      - weights.reduce(0) { $0 + $1.byteCount }
  }

  /// Bytes of the files beside the specification and weight files when the model is written in a
  /// form.
  ///
  /// - Parameter names: The weight files that the new model does without.
  public func bytesBeside(weightFiles names: Set<String>, in form: OutputForm) -> Int {
    switch (form, container.contents) {
    case (.specification, _): 0
    case (_, .specification): PackageWriter.plainManifestBytes
    default: bytesBeside(weightFiles: names)
    }
  }

  /// The weight files that the model refers to, in the order of their first use.
  public var weightFileNames: [String] {
    var names: [String] = []
    model.forEachWeight { weight in
      if !names.contains(weight.reference.fileName) { names.append(weight.reference.fileName) }
    }
    return names
  }

  /// The same files relative to the model's folder.
  public var weightFilePaths: [String] {
    weightFileNames.map { BlobReference(fileName: $0, offset: 0).relativePath }
  }
}

/// Finds blobs in the weight files of a container.
package struct ContainerWeights: WeightResolver {
  private let container: ModelContainer
  private let folder: String

  /// - Parameter folder: For a bundle in a bundle its path with a slash, which stands for
  ///   `@model_path/`.
  package init(_ container: ModelContainer, folder: String = "") {
    self.container = container
    self.folder = folder
  }

  package func source(
    for reference: BlobReference, elementType: ElementType, shape: [Int]
  ) throws -> any TensorSource {
    let file =
      folder.isEmpty
      ? try container.blobFile(named: reference.fileName)
      : try container.blobFile(at: folder + reference.relativePath)
    let record = try file.record(at: reference.offset)
    // A blob of bools is one of bytes.
    let stored: ElementType = elementType == .bool ? .uint8 : elementType
    guard record.elementType == stored else {
      throw SpecError(
        "the blob holds \(record.elementType.rawValue), the program says \(elementType.rawValue)",
        path: file.file.path, offset: Int(clamping: reference.offset))
    }
    guard record.elementCount == Shape.elementCount(shape) else {
      throw SpecError(
        "the blob holds \(record.elementCount) elements, the program's shape \(shape) says "
          + "\(Shape.elementCount(shape) ?? 0)",
        path: file.file.path, offset: Int(clamping: reference.offset))
    }
    return try file.tensor(record, shape: shape)
  }
}
