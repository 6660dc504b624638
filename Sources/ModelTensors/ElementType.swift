/// The type of a tensor's elements, as MIL's `DataType` names them.
///
/// The raw value is the name used in text and JSON output.
public enum ElementType: String, Sendable, Hashable, CaseIterable {
  case bool
  case string
  case float8E4M3FN = "fp8e4m3fn"
  case float8E5M2 = "fp8e5m2"
  case float16 = "fp16"
  case float32 = "fp32"
  case float64 = "fp64"
  case bfloat16 = "bf16"
  case int4
  case int8
  case int16
  case int32
  case int64
  case uint1
  case uint2
  case uint3
  case uint4
  case uint6
  case uint8
  case uint16
  case uint32
  case uint64

  /// Bits of one element as stored; 0 for `string`, whose elements have no fixed size.
  public var bitWidth: Int {
    switch self {
    case .string: 0
    case .uint1: 1
    case .uint2: 2
    case .uint3: 3
    case .int4, .uint4: 4
    case .uint6: 6
    case .bool, .int8, .uint8, .float8E4M3FN, .float8E5M2: 8
    case .float16, .bfloat16, .int16, .uint16: 16
    case .float32, .int32, .uint32: 32
    case .float64, .int64, .uint64: 64
    }
  }

  /// Whether several elements share a byte.
  public var isSubByte: Bool { bitWidth > 0 && bitWidth < 8 }

  /// Whether the type is a floating-point one.
  public var isFloat: Bool {
    switch self {
    case .float8E4M3FN, .float8E5M2, .float16, .float32, .float64, .bfloat16: true
    default: false
    }
  }

  /// Whether the type is an integer one; `bool` is not.
  public var isInteger: Bool { !isFloat && self != .bool && self != .string }

  /// Whether the type is a signed integer.
  public var isSignedInteger: Bool {
    switch self {
    case .int4, .int8, .int16, .int32, .int64: true
    default: false
    }
  }

  /// Bytes that `count` elements take when packed, or nil when that overflows.
  public func byteCount(of count: Int) -> Int? {
    let (bits, overflow) = count.multipliedReportingOverflow(by: bitWidth)
    if overflow || count < 0 { return nil }
    return bits / 8 + (bits % 8 == 0 ? 0 : 1)
  }

  /// The unsigned integer type of `bits` bits, where MIL has one.
  public static func unsigned(bits: Int) -> ElementType? {
    switch bits {
    case 1: .uint1
    case 2: .uint2
    case 3: .uint3
    case 4: .uint4
    case 6: .uint6
    case 8: .uint8
    case 16: .uint16
    case 32: .uint32
    case 64: .uint64
    default: nil
    }
  }
}
