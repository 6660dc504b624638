import ModelFiles
import ModelGraph
import ModelSpec

/// What the data files of a compiled bundle tell of its model.
///
/// Kinds that compilation leaves as they are come back whole; of programs and neural networks the
/// interface alone, of pipelines the children.
public struct CompiledModel: Sendable {
  /// The model; a program or neural network without content.
  public var model: Model
  /// Whether the model's content is there.
  public var isWhole: Bool

  /// Reads `coremldata.bin` of an open bundle and of the bundles in it.
  ///
  /// - Throws: ``SpecError`` when a data file is malformed, ``FileError`` when one is missing.
  public init(_ container: ModelContainer) throws {
    try self.init(file: container.specification, container, folder: "", depth: 0)
  }

  /// Pipelines in pipelines, at most.
  private static let maximumDepth = 8

  private init(
    file: MappedFile, _ container: ModelContainer, folder: String, depth: Int
  ) throws {
    guard depth < CompiledModel.maximumDepth else {
      throw SpecError("pipelines are nested too deeply", path: file.path)
    }
    var reader = Reader(file)
    let number = try reader.integer(UInt32.self)
    guard let typeName = ModelKinds.field(number: number).map({ String(cString: $0.pointee.name) })
    else { throw SpecError("unknown model type \(number)", path: file.path, offset: 0) }
    var engine = try reader.version()
    var specification = try reader.version()
    // The first bundles have the two the other way round.
    if engine.variant.isEmpty { swap(&engine, &specification) }
    if engine.variant == "spec" {
      model = try reader.rest {
        try ModelDecoder(weights: UnopenedWeights()).decode($0, path: file.path)
      }
      isWhole = true
      return
    }
    model = try CompiledModel.model(
      version: specification.major, description: try reader.bytes(), path: file.path)
    isWhole = false
    guard typeName.hasPrefix("pipeline") else {
      model.kind = .other(OpaqueModel(typeName: typeName, payload: []))
      return
    }
    let count = try reader.integer(UInt64.self)
    guard count <= 1000 else {
      throw SpecError("\(count) models in a pipeline", path: file.path)
    }
    var pipeline = Pipeline(typeName: typeName, models: [], names: [])
    isWhole = true
    for index in 0..<Int(count) {
      let inner = "\(folder)model\(index)/"
      let child = try CompiledModel(
        file: container.file(at: inner + "coremldata.bin"), container, folder: inner,
        depth: depth + 1)
      pipeline.models.append(child.model)
      isWhole = isWhole && child.isWhole
    }
    model.kind = .pipeline(pipeline)
  }

  /// A model of this description, decoded as part of a specification.
  private static func model(
    version: UInt64, description: UnsafeRawBufferPointer, path: String
  ) throws -> Model {
    func varint(_ value: UInt64) -> [UInt8] {
      var value = value
      var bytes: [UInt8] = []
      while value >= 0x80 {
        bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
        value >>= 7
      }
      return bytes + [UInt8(value)]
    }
    let bytes =
      [0x08] + varint(min(version, 1 << 20)) + [0x12] + varint(UInt64(description.count))
      + Array(description)
    return try bytes.withUnsafeBytes {
      try ModelDecoder(weights: UnopenedWeights()).decode($0, path: path)
    }
  }

  /// Reads little-endian numbers and byte strings with a length before them.
  private struct Reader {
    private let file: MappedFile
    private var position = 0

    init(_ file: MappedFile) { self.file = file }

    private mutating func take(_ count: Int) throws(SpecError) -> UnsafeRawBufferPointer {
      guard count >= 0, count <= file.count - position else {
        throw SpecError("the file ends too early", path: file.path, offset: position)
      }
      defer { position += count }
      return UnsafeRawBufferPointer(rebasing: file.bytes[position..<(position + count)])
    }

    mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws(SpecError) -> T {
      T(littleEndian: try take(MemoryLayout<T>.size).loadUnaligned(as: T.self))
    }

    mutating func bytes() throws(SpecError) -> UnsafeRawBufferPointer {
      try take(Int(clamping: try integer(UInt64.self)))
    }

    mutating func version() throws(SpecError) -> (major: UInt64, variant: String) {
      let major = try integer(UInt64.self)
      _ = try take(16)
      return (major, String(decoding: try bytes(), as: UTF8.self))
    }

    func rest<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
      try body(UnsafeRawBufferPointer(rebasing: file.bytes[position...]))
    }
  }
}

extension ModelReport {
  /// The facts of a compiled bundle, as far as its data files tell them.
  ///
  /// - Throws: as ``CompiledModel/init(_:)``.
  public init(compiled container: ModelContainer) throws {
    let compiled = try CompiledModel(container)
    try self.init(model: compiled.model, container: ContainerFacts(container))
    if compiled.isWhole { return }
    // What asks for a version is not at hand.
    versionReasons = []
    neededVersion = specificationVersion
    findings = ["compiled: the operations and weights are not shown"]
  }
}
