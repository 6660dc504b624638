/// Packing of elements narrower than a byte: element i takes bits [i·n, i·n + n) of the stream,
/// bit 0 the lowest bit of byte 0; elements of 3 and 6 bits straddle bytes.
public enum BitPacking {
  /// The element at `index` as an unsigned code.
  @inlinable
  public static func code(_ bytes: UnsafeRawBufferPointer, at index: Int, bits: Int) -> UInt8 {
    let position = index &* bits
    let byte = position >> 3
    let shift = position & 7
    var word = UInt16(bytes[byte])
    if shift &+ bits > 8 { word |= UInt16(bytes[byte &+ 1]) << 8 }
    return UInt8(truncatingIfNeeded: word >> UInt16(shift)) & UInt8((1 << bits) &- 1)
  }

  /// Unpacks `codes.count` elements that start at bit 0 of `bytes`; signed ones are extended.
  ///
  /// - Parameter bits: 1, 2, 3, 4, 6 or 8.
  public static func unpack(
    _ bytes: UnsafeRawBufferPointer, bits: Int, signed: Bool,
    into codes: UnsafeMutableBufferPointer<UInt8>
  ) {
    let mask = UInt32((1 << bits) &- 1)
    var accumulator: UInt32 = 0
    var filled = 0
    var next = 0
    let signBit = UInt8(truncatingIfNeeded: 1 << (bits &- 1))
    for index in codes.indices {
      if filled < bits {
        accumulator |= UInt32(bytes[next]) << UInt32(filled)
        next &+= 1
        filled &+= 8
      }
      var code = UInt8(truncatingIfNeeded: accumulator & mask)
      if signed { code = (code ^ signBit) &- signBit }
      codes[index] = code
      accumulator >>= UInt32(bits)
      filled &-= bits
    }
  }

  /// Packs the low `bits` bits of every code; the unused high bits of the last byte are zero.
  public static func pack(
    _ codes: UnsafeBufferPointer<UInt8>, bits: Int, into bytes: UnsafeMutableRawBufferPointer
  ) {
    let mask = UInt32((1 << bits) &- 1)
    var accumulator: UInt32 = 0
    var filled = 0
    var next = 0
    for code in codes {
      accumulator |= (UInt32(code) & mask) << UInt32(filled)
      filled &+= bits
      while filled >= 8 {
        bytes[next] = UInt8(truncatingIfNeeded: accumulator)
        next &+= 1
        accumulator >>= 8
        filled &-= 8
      }
    }
    if filled > 0 { bytes[next] = UInt8(truncatingIfNeeded: accumulator) }
  }
}
