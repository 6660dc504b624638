import ModelTensors
import TestSupport
import Testing

/// Packing from the highest bit downwards.
@Suite struct HighFirstPackingTests {
  @Test func threeBitsAcrossBytes() {
    let codes: [UInt8] = [0, 1, 2, 3, 4, 5]
    #expect(packed(codes, 3) == [0b000_001_01, 0b0_011_100_1, 0b01_000000])
    #expect(packed([0xFF, 0, 0xFF], 4) == [0xF0, 0xF0])
    #expect(packed([1, 0, 0, 0, 0, 0, 0, 0, 1], 1) == [0x80, 0x80])
    #expect(packed([7, 200], 8) == [7, 200])
    #expect(packed([], 5).isEmpty)
  }

  @Test(arguments: 1...8)
  func everyWidthAndLengthReturns(_ bits: Int) {
    for count in 0...33 {
      let codes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 73 + 5) & mask(bits) }
      let bytes = packed(codes, bits)
      #expect(bytes.count == (count * bits + 7) / 8)
      var result = [UInt8](repeating: 0xAA, count: count)
      bytes.withUnsafeBytes { bytes in
        result.withUnsafeMutableBufferPointer {
          HighFirstPacking.unpack(bytes, bits: bits, into: $0)
        }
      }
      #expect(result == codes)
      // The padding is zero.
      let padding = bytes.count * 8 - count * bits
      #expect(bytes.last.map { $0 & UInt8((1 << padding) - 1) } ?? 0 == 0)
    }
  }

  @Test func sizesBeyondIntegersAreNone() {
    #expect(HighFirstPacking.byteCount(of: .max, bits: 2) == nil)
    #expect(HighFirstPacking.byteCount(of: .max, bits: 1) == nil)
    #expect(HighFirstPacking.byteCount(of: 9, bits: 1) == 2)
  }

  private func mask(_ bits: Int) -> UInt8 { UInt8(truncatingIfNeeded: (1 << bits) - 1) }

  private func packed(_ codes: [UInt8], _ bits: Int) -> [UInt8] {
    var bytes = [UInt8](
      repeating: 0xFF, count: HighFirstPacking.byteCount(of: codes.count, bits: bits) ?? 0)
    codes.withUnsafeBufferPointer { codes in
      bytes.withUnsafeMutableBytes { HighFirstPacking.pack(codes, bits: bits, into: $0) }
    }
    return bytes
  }
}
