/// Counts of distinct bit patterns of 32 and 64 bits.
enum Distinct {
  /// Elements held at once, 2 bytes each.
  private static let held = 1 << 26
  /// Elements read at once.
  private static let piece = 1 << 18

  /// How many distinct values there are; for floats −0 equals 0.
  static func count<Bits: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ source: any TensorSource, as type: Bits.Type, isFloat: Bool
  ) throws -> Int {
    let negativeZero: Bits? = isFloat ? 1 << (Bits.bitWidth - 1) : nil
    if Bits.bitWidth == 32 {
      return try count32(source, negativeZero: negativeZero.map { UInt32($0) })
    }
    var patterns: [Bits] = []
    patterns.reserveCapacity(source.elementCount)
    try forEachPiece(source, as: type) { elements in
      for bits in elements { patterns.append(bits == negativeZero ? 0 : bits) }
    }
    patterns.sort()
    var distinct = patterns.isEmpty ? 0 : 1
    for index in patterns.indices.dropFirst() where patterns[index] != patterns[index - 1] {
      distinct += 1
    }
    return distinct
  }

  private static func forEachPiece<Bits: BitwiseCopyable>(
    _ source: any TensorSource, as type: Bits.Type, _ body: (UnsafeBufferPointer<Bits>) -> Void
  ) throws {
    let count = source.elementCount
    for start in stride(from: 0, to: count, by: piece) {
      try source.withElements(start..<Swift.min(start + piece, count)) { bytes in
        body(bytes.bindMemory(to: Bits.self))
      }
    }
  }

  /// Buckets by the upper half of the pattern; the lower halves of a bucket fit a small bitmap.
  ///
  /// Neighbouring buckets are taken together while they hold no more elements than memory allows;
  /// each such stretch is one pass over the source. A larger bucket is never held.
  private static func count32(_ source: any TensorSource, negativeZero: UInt32?) throws -> Int {
    let zero = negativeZero ?? 0
    var sizes = [Int](repeating: 0, count: 1 << 16)
    try sizes.withUnsafeMutableBufferPointer { sizes in
      try forEachPiece(source, as: UInt32.self) { elements in
        for bits in elements { sizes[Int((bits == zero ? 0 : bits) >> 16)] &+= 1 }
      }
    }
    var distinct = 0
    var bitmap = Bitmap()
    var first = 0
    while first < sizes.count {
      if sizes[first] == 0 {
        first += 1
        continue
      }
      var last = first
      var total = 0
      while last < sizes.count && (total + sizes[last] <= held || last == first) {
        total += sizes[last]
        last += 1
      }
      if last == first + 1 {
        let bucket = UInt32(first)
        try forEachPiece(source, as: UInt32.self) { elements in
          for bits in elements {
            let bits = bits == zero ? 0 : bits
            if bits >> 16 == bucket { bitmap.insert(UInt16(truncatingIfNeeded: bits)) }
          }
        }
        distinct += bitmap.takeCount()
      } else {
        distinct += try count(source, zero, first..<last, sizes, total, &bitmap)
      }
      first = last
    }
    return distinct
  }

  private static func count(
    _ source: any TensorSource, _ zero: UInt32, _ buckets: Range<Int>, _ sizes: [Int], _ total: Int,
    _ bitmap: inout Bitmap
  ) throws -> Int {
    var starts = [Int](repeating: 0, count: buckets.count)
    var next = 0
    for bucket in buckets {
      starts[bucket - buckets.lowerBound] = next
      next += sizes[bucket]
    }
    let lower = UnsafeMutableBufferPointer<UInt16>.allocate(capacity: total)
    defer { lower.deallocate() }
    let first = UInt32(buckets.lowerBound)
    let width = UInt32(buckets.count)
    try starts.withUnsafeMutableBufferPointer { heads in
      try forEachPiece(source, as: UInt32.self) { elements in
        for bits in elements {
          let bits = bits == zero ? 0 : bits
          let bucket = (bits >> 16) &- first
          if bucket < width {
            let place = heads[Int(bucket)]
            // A source that yields other data on a second reading stays inside the memory.
            if place < total { lower[place] = UInt16(truncatingIfNeeded: bits) }
            heads[Int(bucket)] = place &+ 1
          }
        }
      }
    }
    var distinct = 0
    next = 0
    for bucket in buckets where sizes[bucket] > 0 {
      for index in next..<next + sizes[bucket] { bitmap.insert(lower[index]) }
      distinct += bitmap.takeCount()
      next += sizes[bucket]
    }
    return distinct
  }

  /// A set of 16-bit numbers.
  private struct Bitmap {
    private var words = [UInt64](repeating: 0, count: 1024)

    @inline(__always)
    mutating func insert(_ number: UInt16) {
      words[Int(number >> 6)] |= 1 << UInt64(number & 63)
    }

    /// How many numbers there are; none afterwards.
    mutating func takeCount() -> Int {
      var count = 0
      for index in words.indices where words[index] != 0 {
        count += words[index].nonzeroBitCount
        words[index] = 0
      }
      return count
    }
  }
}
