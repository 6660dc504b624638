import ModelSpec

/// What the `coremldata.bin` of a bundle, or of a model in a bundle, holds.
///
/// The layout is Apple's and not published; docs/compiled-bundles.md gives it with what each part
/// rests on. ``init(_:path:)`` and ``bytes`` are inverse on every file that the reader takes.
public struct BundleData: Sendable, Equatable {
  /// A version and the variant of the code that it belongs to.
  public struct Version: Sendable, Equatable {
    /// The first number.
    public var major: UInt64
    /// The second number.
    public var minor: UInt64
    /// The third number.
    public var patch: UInt64
    /// `generic`, `spec`, for pipelines with the versions of the children; empty for the version of
    /// the specification.
    public var variant: String

    /// A version of these parts.
    public init(_ major: UInt64, _ minor: UInt64 = 0, _ patch: UInt64 = 0, variant: String = "") {
      self.major = major
      self.minor = minor
      self.patch = patch
      self.variant = variant
    }

    /// The three numbers with points between them.
    public var numbers: String { "\(major).\(minor).\(patch)" }
  }

  /// What follows the versions.
  public enum Content: Sendable, Equatable {
    /// The serialized interface, and what the kind adds.
    case compiled(description: [UInt8], trailer: Trailer)
    /// The whole serialized model, of a kind that compilation leaves as it is.
    case specification([UInt8])
  }

  /// What a compiled kind adds to the interface.
  public enum Trailer: Sendable, Equatable {
    /// One record per function, one where the interface lists no functions.
    case program(records: Int)
    /// The names of the network's outputs.
    case neuralNetwork(outputs: [String])
    /// String labels, the output of their probabilities, the names of the network's outputs.
    case classifier(labels: [String], probabilities: String, outputs: [String])
    /// The number of models.
    case pipeline(models: UInt64)
    /// A form that is not known.
    case unknown([UInt8])
  }

  /// The number of the kind's field in `Model`.
  public var typeNumber: UInt32
  /// The two versions in the order of the file.
  var versions: [Version]
  /// What follows them.
  public var content: Content

  /// The content of a new file.
  public init(typeNumber: UInt32, engine: Version, specification: UInt64, content: Content) {
    self.typeNumber = typeNumber
    versions = [engine, Version(specification)]
    self.content = content
  }

  /// Whether the versions stand the other way round, as in the first bundles of 2017.
  private var isSwapped: Bool { versions[0].variant.isEmpty && !versions[1].variant.isEmpty }

  /// The version of the code that reads the file.
  public var engine: Version { versions[isSwapped ? 1 : 0] }
  /// The specification version of the source.
  public var specification: Version { versions[isSwapped ? 0 : 1] }

  /// Reads a file.
  ///
  /// - Throws: ``SpecError`` with the byte offset when the file is malformed or of an unknown kind.
  public init(_ bytes: UnsafeRawBufferPointer, path: String) throws(SpecError) {
    var reader = LittleEndianReader(bytes, path: path)
    typeNumber = try reader.integer(UInt32.self)
    guard let typeName = ModelKinds.name(of: typeNumber) else {
      throw SpecError("unknown model type \(typeNumber)", path: path, offset: 0)
    }
    versions = [try reader.version(), try reader.version()]
    content = .specification([])
    if engine.variant == "spec" {
      content = .specification(reader.rest())
      return
    }
    content = .compiled(
      description: try reader.content(),
      trailer: Trailer(reader.rest(), typeNumber: typeNumber, typeName: typeName))
  }

  /// The bytes of the file.
  public var bytes: [UInt8] {
    var writer = LittleEndianWriter()
    writer.add(typeNumber)
    for version in versions {
      writer.add(version.major)
      writer.add(version.minor)
      writer.add(version.patch)
      writer.add(version.variant)
    }
    switch content {
    case .specification(let model): writer.add(raw: model)
    case .compiled(let description, let trailer):
      writer.add(description)
      trailer.write(to: &writer, typeNumber: typeNumber)
    }
    return writer.bytes
  }
}

extension LittleEndianReader {
  fileprivate mutating func version() throws(SpecError) -> BundleData.Version {
    BundleData.Version(
      try integer(UInt64.self), try integer(UInt64.self), try integer(UInt64.self),
      variant: try text())
  }
}

extension BundleData.Trailer {
  /// The number that stands for string labels: that of their field in the classifier's message.
  private static let stringLabels: UInt64 = 100

  init(_ bytes: [UInt8], typeNumber: UInt32, typeName: String) {
    let known = bytes.withUnsafeBytes { bytes in
      var reader = LittleEndianReader(bytes, path: "")
      let trailer = try? Self.read(&reader, typeNumber: UInt64(typeNumber), typeName)
      return reader.isAtEnd ? trailer : nil
    }
    self = known ?? .unknown(bytes)
  }

  /// The trailer of a known form, or nil.
  private static func read(
    _ reader: inout LittleEndianReader, typeNumber: UInt64, _ typeName: String
  ) throws(SpecError) -> Self? {
    switch typeName {
    case "mlProgram":
      var records = 0
      while !reader.isAtEnd {
        guard try reader.integer(UInt64.self) == typeNumber,
          try reader.integer(UInt64.self) == 0
        else { return nil }
        records += 1
      }
      return .program(records: records)
    case "neuralNetwork":
      guard try reader.integer(UInt64.self) == typeNumber else { return nil }
      return .neuralNetwork(outputs: try reader.texts())
    case "neuralNetworkClassifier":
      guard try reader.integer(UInt64.self) == typeNumber,
        try reader.integer(UInt64.self) == stringLabels
      else { return nil }
      return .classifier(
        labels: try reader.texts(), probabilities: try reader.text(),
        outputs: try reader.texts())
    case "pipeline", "pipelineClassifier", "pipelineRegressor":
      let models = try reader.integer(UInt64.self)
      guard try reader.integer(UInt64.self) == typeNumber else { return nil }
      return .pipeline(models: models)
    default: return nil
    }
  }

  fileprivate func write(to writer: inout LittleEndianWriter, typeNumber: UInt32) {
    let number = UInt64(typeNumber)
    switch self {
    case .program(let records):
      for _ in 0..<records {
        writer.add(number)
        writer.add(UInt64(0))
      }
    case .neuralNetwork(let outputs):
      writer.add(number)
      writer.add(outputs)
    case .classifier(let labels, let probabilities, let outputs):
      writer.add(number)
      writer.add(Self.stringLabels)
      writer.add(labels)
      writer.add(probabilities)
      writer.add(outputs)
    case .pipeline(let models):
      writer.add(models)
      writer.add(number)
    case .unknown(let bytes): writer.add(raw: bytes)
    }
  }
}
