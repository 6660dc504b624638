import ModelTensors

/// Ranks of the set bits of a uint1 mask, counted once at first use.
final class MaskIndex: Sendable {
  let mask: any TensorSource
  private let table: Lazily<[Int]>

  /// Elements between two entries of the table.
  private static let stride = 4096
  /// Elements read at once while it is built.
  private static let piece = 1 << 23

  init(_ mask: any TensorSource) {
    self.mask = mask
    table = Lazily {
      var table = [0]
      var total = 0
      let count = mask.elementCount
      table.reserveCapacity(count / MaskIndex.stride + 2)
      var start = 0
      while start < count {
        let range = start..<min(start + MaskIndex.piece, count)
        try mask.withElements(range) { bytes in
          var block = 0
          while block < range.count {
            let size = min(MaskIndex.stride, range.count - block)
            total += MaskIndex.population(bytes, from: block, count: size)
            table.append(total)
            block += size
          }
        }
        start = range.upperBound
      }
      return table
    }
  }

  /// All set bits.
  func total() throws -> Int { try table.value().last ?? 0 }

  /// Set bits before `element`.
  func rank(of element: Int) throws -> Int {
    let block = element / MaskIndex.stride
    let start = block * MaskIndex.stride
    let before = try table.value()[block]
    if start == element { return before }
    return before
      + (try mask.withElements(start..<element) {
        MaskIndex.population($0, from: 0, count: element - start)
      })
  }

  /// The element of the set bit with `rank` set bits before it; the count when there is none.
  func select(_ rank: Int) throws -> Int {
    let table = try table.value()
    guard rank < table[table.count - 1] else { return mask.elementCount }
    var low = 0
    var high = table.count - 1
    while high - low > 1 {
      let middle = (low + high) / 2
      if table[middle] <= rank { low = middle } else { high = middle }
    }
    let start = low * MaskIndex.stride
    let end = min(start + MaskIndex.stride, mask.elementCount)
    return try mask.withElements(start..<end) { bytes in
      var left = rank - table[low]
      for index in 0..<end - start where bytes[index >> 3] >> UInt8(index & 7) & 1 == 1 {
        if left == 0 { return start + index }
        left -= 1
      }
      return end
    }
  }

  /// Set bits among `count` that start at bit `start`, a multiple of 8.
  static func population(_ bytes: UnsafeRawBufferPointer, from start: Int, count: Int) -> Int {
    var total = 0
    var byte = start / 8
    var left = count
    while left >= 64 {
      let word = bytes.loadUnaligned(fromByteOffset: byte, as: UInt64.self)
      total += word.nonzeroBitCount
      byte += 8
      left -= 64
    }
    while left > 0 {
      let valid = left >= 8 ? 0xFF : UInt8(1 << left) - 1
      total += (bytes[byte] & valid).nonzeroBitCount
      byte += 1
      left -= 8
    }
    return total
  }

  /// Calls `body` with the set bits of `range` in rising order, counted from its lower bound.
  @inline(__always)
  func forEachSet(_ range: Range<Int>, _ body: (Int) -> Void) throws {
    let start = range.lowerBound & ~7
    try mask.withElements(start..<range.upperBound) { bytes in
      for index in bytes.indices {
        var byte = bytes[index]
        let first = start + index * 8
        if first < range.lowerBound { byte &= 0xFF << UInt8(range.lowerBound - first) }
        if first + 8 > range.upperBound {
          byte &= UInt8(truncatingIfNeeded: (1 << (range.upperBound - first)) - 1)
        }
        while byte != 0 {
          body(first + byte.trailingZeroBitCount - range.lowerBound)
          byte &= byte - 1
        }
      }
    }
  }
}
