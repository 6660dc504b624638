/// How sure a number or a rule is, as the facts on devices mark it.
public enum Confidence: String, Sendable, Codable, Comparable, CaseIterable {
  /// Apple's documentation, specifications or repositories.
  case documented = "A"
  /// Measured and published by others.
  case measured = "M"
  /// Reported or reverse-engineered by single authors.
  case reported = "R"
  /// Derived: halved, interpolated, by analogy.
  case derived = "D"

  private var rank: Int { Confidence.allCases.firstIndex(of: self) ?? 0 }

  /// Whether `left` is the surer one.
  public static func < (left: Confidence, right: Confidence) -> Bool { left.rank < right.rank }
}

/// A number with what it rests on; `[17, "A", "apple"]` in a data file.
public struct Figure: Sendable, Equatable, Codable {
  /// The number.
  public var value: Double
  /// How sure it is.
  public var confidence: Confidence
  /// The key of its source.
  public var source: String

  /// A number of this ground.
  public init(_ value: Double, _ confidence: Confidence, _ source: String) {
    self.value = value
    self.confidence = confidence
    self.source = source
  }

  /// Reads the array of a data file.
  public init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    value = try list.decode(Double.self)
    confidence = try list.decode(Confidence.self)
    source = try list.decode(String.self)
    guard value.isFinite, value >= 0 else {
      throw DecodingError.dataCorruptedError(
        in: list, debugDescription: "\(value) is no figure: 0 or more")
    }
  }

  /// Writes the array of a data file.
  public func encode(to encoder: any Encoder) throws {
    var list = encoder.unkeyedContainer()
    try list.encode(value)
    try list.encode(confidence)
    try list.encode(source)
  }
}

/// The units of a chip that run operations.
public enum ComputeUnit: String, Sendable, Codable, CaseIterable {
  case cpu
  case gpu
  case ne

  /// The name for readers.
  public var title: String {
    switch self {
    case .cpu: "CPU"
    case .gpu: "GPU"
    case .ne: "Neural Engine"
    }
  }
}

/// A chip: its units and its memory.
public struct Chip: Sendable, Codable, Equatable {
  /// The Neural Engine.
  public struct NeuralEngine: Sendable, Codable, Equatable {
    /// Trillions of operations per second as marketed, of 8-bit numbers in later chips.
    public var marketedTops: Figure?
    /// The same of 16-bit floats.
    public var fp16Tops: Figure
    /// Milliseconds to start a piece of work; nil for that of the calibration.
    public var dispatchMs: Figure?
    /// Megabytes of memory beside the unit.
    public var onChipMb: Figure
    /// Gigabytes per second at which weights come; nil for the calibrated share of the memory's rate.
    public var bandwidth: Figure?

    enum CodingKeys: String, CodingKey {
      case bandwidth = "bandwidth_gb_per_s"
      case marketedTops = "marketed_tops"
      case fp16Tops = "fp16_tops"
      case dispatchMs = "dispatch_ms"
      case onChipMb = "on_chip_mb"
    }
  }

  /// The CPU or the GPU.
  public struct Processor: Sendable, Codable, Equatable {
    /// Trillions of operations of 16-bit floats per second; half of it of 32-bit floats.
    public var fp16Tflops: Figure
    /// Gigabytes per second between the unit and memory.
    public var bandwidth: Figure
    /// Milliseconds to start a piece of work.
    public var dispatchMs: Figure
    /// Milliseconds that each operation takes beside its work.
    public var operationMs: Figure

    enum CodingKeys: String, CodingKey {
      case fp16Tflops = "fp16_tflops"
      case bandwidth = "bandwidth_gb_per_s"
      case dispatchMs = "dispatch_ms"
      case operationMs = "operation_ms"
    }
  }

  /// The name on the command line, `a16`, `m1-max`.
  public var name: String
  /// The name for readers.
  public var title: String
  /// The generation of its Neural Engine by the number of its A chip: 14 for A14 and M1.
  public var generation: Int
  /// Whether it is the chip of a phone.
  public var isPhone: Bool
  /// Gigabytes per second of memory.
  public var dram: Figure
  /// The Neural Engine; nil for a chip without one.
  public var ne: NeuralEngine?
  /// The GPU.
  public var gpu: Processor
  /// The CPU.
  public var cpu: Processor

  enum CodingKeys: String, CodingKey {
    case name, title, generation, ne, gpu, cpu
    case isPhone = "is_phone"
    case dram = "dram_gb_per_s"
  }

  /// The generation by which the rules of placement and of encodings go: reports name M2 beside A14, M3
  /// beside A15, M4 beside A16.
  var ruleGeneration: Int { isPhone ? generation : generation - 1 }

  static let onChipName = "NE on-chip MB"

  /// The figures by name, for listings.
  public var figures: [(name: String, figure: Figure)] {
    var list: [(String, Figure)] = [("memory GB/s", dram)]
    if let ne {
      if let marketed = ne.marketedTops { list.append(("NE marketed TOPS", marketed)) }
      list += [("NE fp16 TOPS", ne.fp16Tops), (Chip.onChipName, ne.onChipMb)]
      if let bandwidth = ne.bandwidth { list.append(("NE GB/s", bandwidth)) }
      if let dispatch = ne.dispatchMs { list.append(("NE dispatch ms", dispatch)) }
    }
    for (title, processor) in [("GPU", gpu), ("CPU", cpu)] {
      list += [
        ("\(title) fp16 TFLOPS", processor.fp16Tflops), ("\(title) GB/s", processor.bandwidth),
        ("\(title) dispatch ms", processor.dispatchMs),
        ("\(title) ms per operation", processor.operationMs),
      ]
    }
    return list
  }
}

/// A product with its chip.
public struct Device: Sendable, Codable, Equatable {
  /// The name on the command line, `iphone-14-pro`.
  public var name: String
  /// The name for readers.
  public var title: String
  /// The name of its chip.
  public var chip: String
  /// The newest system that it runs, `iOS 26`.
  public var os: String
}
