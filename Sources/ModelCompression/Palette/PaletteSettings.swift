import ModelTensors

/// Which elements of a weight share a table.
public enum PaletteGrouping: Sendable, Hashable {
  /// One table.
  case tensor
  /// One table per `size` consecutive indices of an axis.
  case channels(axis: Int, size: Int)
}

/// How a weight is turned into tables and indices.
public struct PaletteSettings: Sendable, Hashable {
  /// How the entries of a table are chosen.
  public enum Mode: Sendable, Hashable {
    /// The optimal ones for scalars; k-means++ and Lloyd's iteration for vectors.
    case kmeans
    /// 2ⁿ evenly spaced levels from the least to the greatest value, both included.
    case uniform
    /// The distinct values; the narrowest indices that do for all groups, whatever `bits` says.
    case unique
  }

  /// How a table is stored in 8 bits.
  public enum TableQuantization: Sendable, Hashable {
    /// entry = scale · code, codes −127 … 127.
    case symmetric
    /// entry = scale · (code − zero point), codes −128 … 127.
    case affine
  }

  /// Bits of an index: 1, 2, 3, 4, 6 or 8.
  public var bits: Int
  /// How the entries of a table are chosen.
  public var mode: Mode
  /// Consecutive entries along `vectorAxis` that share an index.
  public var clusterDimension: Int
  /// The axis along which vectors lie; counted from the end when negative.
  public var vectorAxis: Int
  /// nil for tables in the weight's type.
  public var tableQuantization: TableQuantization?
  /// How often k-means of vectors starts anew.
  public var restarts: Int
  /// Where the random numbers of k-means of vectors begin.
  public var seed: UInt64

  /// 4-bit k-means of scalars unless said otherwise.
  public init(
    bits: Int = 4, mode: Mode = .kmeans, clusterDimension: Int = 1, vectorAxis: Int = 0,
    tableQuantization: TableQuantization? = nil, restarts: Int = 8, seed: UInt64 = 0
  ) {
    self.bits = bits
    self.mode = mode
    self.clusterDimension = clusterDimension
    self.vectorAxis = vectorAxis
    self.tableQuantization = tableQuantization
    self.restarts = restarts
    self.seed = seed
  }

  /// The widths that indices may have.
  public static let allowedBits = [1, 2, 3, 4, 6, 8]
}

/// The number format of table entries.
enum PaletteFormat: Sendable {
  case half, single, int8, uint8

  init?(_ type: ElementType) {
    switch type {
    case .float16: self = .half
    case .float32: self = .single
    case .int8: self = .int8
    case .uint8: self = .uint8
    default: return nil
    }
  }

  /// Bytes of a value.
  var width: Int {
    switch self {
    case .half: 2
    case .single: 4
    case .int8, .uint8: 1
    }
  }

  var isFloat: Bool { self == .half || self == .single }

  /// The nearest value of the type, ties to even; finite for values inside the range.
  func round(_ value: Double) -> Float {
    switch self {
    case .half: HalfFloat.float(HalfFloat.bits(value))
    case .single: Float(value)
    case .int8, .uint8: Float(value.rounded(.toNearestOrEven))
    }
  }

  /// Appends a value of the type.
  func append(_ value: Float, to bytes: inout [UInt8]) {
    switch self {
    case .half: withUnsafeBytes(of: HalfFloat.bits(value)) { bytes.append(contentsOf: $0) }
    case .single: withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
    case .int8: bytes.append(UInt8(bitPattern: Int8(value)))
    case .uint8: bytes.append(UInt8(value))
    }
  }

  /// A key that no value exceeds.
  var keyLimit: Int32 { self == .single ? Int32.max : Int32(Int16.max) }

  /// The order key of the greatest value of the type not above `value`; that of +0 for −0.
  func cut(_ value: Double) -> Int32 {
    switch self {
    case .half:
      var bits = HalfFloat.bits(value)
      var key = Int32(Int16(bitPattern: bits))
      if Double(HalfFloat.float(bits)) > value {
        // One step down.
        if bits & 0x7FFF == 0 {
          bits = 0x8001
        } else {
          bits = bits & 0x8000 == 0 ? bits - 1 : bits + 1
        }
        key = Int32(Int16(bitPattern: bits))
      }
      key ^= (key >> 31) & 0x7FFF
      return key == -1 ? 0 : key
    case .single:
      var single = Float(value)
      if Double(single) > value { single = single.nextDown }
      var key = Int32(bitPattern: single.bitPattern)
      key ^= (key >> 31) & 0x7FFF_FFFF
      return key == -1 ? 0 : key
    case .int8, .uint8:
      return Int32(value.rounded(.down))
    }
  }
}
