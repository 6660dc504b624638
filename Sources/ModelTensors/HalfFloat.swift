/// IEEE 754 binary16 as bit patterns, converted by integer arithmetic.
///
/// `Float16` is a library call per conversion on the default x86-64 target, so loops use these.
public enum HalfFloat {
  /// The largest finite value, 65504.
  public static let greatestFinite: Double = 65504
  /// The bit pattern of +infinity.
  public static let infinityBits: UInt16 = 0x7C00

  /// The value of a bit pattern; exact, NaN payloads kept.
  @inlinable
  public static func float(_ bits: UInt16) -> Float {
    let sign = UInt32(bits & 0x8000) << 16
    let magnitude = UInt32(bits & 0x7FFF) << 13
    if magnitude >= 0x7C00 << 13 {
      return Float(bitPattern: sign | 0x7F80_0000 | (magnitude & 0x007F_FFFF))
    }
    let value = Float(bitPattern: magnitude) * Float(bitPattern: 0x7780_0000)  // 2^112
    return Float(bitPattern: value.bitPattern | sign)
  }

  /// The nearest half, ties to even; beyond the range an infinity; NaN stays NaN.
  @inlinable
  public static func bits(_ value: Double) -> UInt16 {
    let pattern = value.bitPattern
    let sign = UInt16(truncatingIfNeeded: pattern >> 48) & 0x8000
    if value.isNaN {
      let payload = UInt16(truncatingIfNeeded: pattern >> 42) & 0x01FF
      return sign | 0x7E00 | payload
    }
    let magnitude = abs(value)
    if magnitude >= 65520 { return sign | infinityBits }
    if magnitude < 0x1p-14 {
      // Adding 2^28 leaves a multiple of 2^-24 in the low bits, rounded half to even.
      return sign | UInt16(truncatingIfNeeded: (magnitude + 0x1p28).bitPattern)
    }
    // The mantissa loses 42 bits; carry may run into the exponent, as it should.
    let bits = magnitude.bitPattern
    let rounded = bits &+ 0x1FF_FFFF_FFFF &+ ((bits >> 42) & 1)
    return sign | UInt16(truncatingIfNeeded: (rounded >> 42) &- (1008 << 10))
  }

  /// The nearest half of a single, ties to even.
  @inlinable
  public static func bits(_ value: Float) -> UInt16 { bits(Double(value)) }
}
