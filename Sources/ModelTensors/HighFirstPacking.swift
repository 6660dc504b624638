/// Packing of codes in neural network weights: the highest bit of each code first, bytes filled
/// from bit 7 downwards, the last byte padded with zeros.
public enum HighFirstPacking {
  /// Bytes of `count` codes of `bits` bits; nil beyond the range of integers.
  public static func byteCount(of count: Int, bits: Int) -> Int? {
    let (total, overflow) = count.multipliedReportingOverflow(by: bits)
    return overflow || total > Int.max - 7 ? nil : (total + 7) / 8
  }

  /// Packs the low `bits` bits of every code, 1…8.
  ///
  /// - Parameter bytes: At least as many as the codes take.
  public static func pack(
    _ codes: UnsafeBufferPointer<UInt8>, bits: Int, into bytes: UnsafeMutableRawBufferPointer
  ) {
    if bits == 8 {
      bytes.copyMemory(from: UnsafeRawBufferPointer(codes))
      return
    }
    let mask = UInt32((1 << bits) &- 1)
    var accumulator: UInt32 = 0
    var filled = 0
    var next = 0
    for code in codes {
      accumulator = accumulator << UInt32(bits) | (UInt32(code) & mask)
      filled &+= bits
      if filled >= 8 {
        filled &-= 8
        bytes[next] = UInt8(truncatingIfNeeded: accumulator >> UInt32(filled))
        next &+= 1
      }
    }
    if filled > 0 { bytes[next] = UInt8(truncatingIfNeeded: accumulator << UInt32(8 &- filled)) }
  }

  /// Unpacks `codes.count` codes of 1…8 bits from the first bit on.
  ///
  /// - Parameter bytes: At least as many as the codes take.
  public static func unpack(
    _ bytes: UnsafeRawBufferPointer, bits: Int, into codes: UnsafeMutableBufferPointer<UInt8>
  ) {
    let mask = UInt32((1 << bits) &- 1)
    var accumulator: UInt32 = 0
    var filled = 0
    var next = 0
    for index in codes.indices {
      if filled < bits {
        accumulator = accumulator << 8 | UInt32(bytes[next])
        next &+= 1
        filled &+= 8
      }
      filled &-= bits
      codes[index] = UInt8(truncatingIfNeeded: (accumulator >> UInt32(filled)) & mask)
    }
  }
}
