import Synchronization

/// Facts about the values of a tensor.
public struct TensorStatistics: Sendable, Hashable {
  /// How many elements there are.
  public let count: Int
  /// The least finite value; nil when there is none.
  public let min: Double?
  /// The greatest finite value; nil when there is none.
  public let max: Double?
  /// The mean of the finite values; nil when there is none.
  public let mean: Double?
  /// The standard deviation of the finite values as a population; nil when there is none.
  public let std: Double?
  /// The share of elements that are zero; 0 for an empty tensor.
  public let sparsity: Double
  /// How many distinct values there are; −0 equals 0, each NaN pattern counts once.
  public let uniqueValues: Int
  /// How many elements are NaN.
  public let nanCount: Int
  /// How many elements are infinite.
  public let infiniteCount: Int

  /// Whether every element is finite.
  public var finite: Bool { nanCount == 0 && infiniteCount == 0 }

  /// Measures a tensor; the result does not depend on the number of threads.
  ///
  /// Types of at most 16 bits are counted in a histogram. Distinct 32-bit values are counted in
  /// as many passes as bounded memory (about 130 MB) needs.
  /// - Throws: ``TensorError/malformed(_:)`` for strings, and what the source throws.
  public static func measure(
    _ source: any TensorSource, parallel: Parallel = Parallel()
  ) throws -> TensorStatistics {
    switch source.elementType {
    case .string: throw TensorError.malformed("strings have no statistics")
    case .float32:
      return try wide(source, parallel, as: UInt32.self, isFloat: true) {
        Double(Float(bitPattern: $0))
      }
    case .int32:
      return try wide(source, parallel, as: UInt32.self, isFloat: false) {
        Double(Int32(bitPattern: $0))
      }
    case .uint32:
      return try wide(source, parallel, as: UInt32.self, isFloat: false) { Double($0) }
    case .float64:
      return try wide(source, parallel, as: UInt64.self, isFloat: true) {
        Double(bitPattern: $0)
      }
    case .int64:
      return try wide(source, parallel, as: UInt64.self, isFloat: false) {
        Double(Int64(bitPattern: $0))
      }
    case .uint64:
      return try wide(source, parallel, as: UInt64.self, isFloat: false) { Double($0) }
    default:
      let bins = try Histogram.bins(of: source, parallel: parallel)
      return fromBins(bins, source.elementType, count: source.elementCount)
    }
  }

  private static func fromBins(
    _ bins: [Int], _ type: ElementType, count: Int
  ) -> TensorStatistics {
    var finite = 0
    var sum = 0.0
    var least = Double.infinity
    var most = -Double.infinity
    var zeros = 0
    var zeroPatterns = 0
    var distinct = 0
    var nans = 0
    var infinities = 0
    let values = bins.indices.map { bins[$0] == 0 ? 0 : Histogram.value(UInt16($0), type) }
    for (pattern, bin) in bins.enumerated() where bin > 0 {
      let value = values[pattern]
      distinct += 1
      if value.isNaN {
        nans += bin
      } else if value.isInfinite {
        infinities += bin
      } else {
        finite += bin
        sum += Double(bin) * value
        least = Swift.min(least, value)
        most = Swift.max(most, value)
        if value == 0 {
          zeros += bin
          zeroPatterns += 1
        }
      }
    }
    if zeroPatterns > 1 { distinct -= zeroPatterns - 1 }
    let mean = finite > 0 ? sum / Double(finite) : 0
    var squares = 0.0
    for (pattern, bin) in bins.enumerated() where bin > 0 && values[pattern].isFinite {
      let difference = values[pattern] - mean
      squares += Double(bin) * difference * difference
    }
    return TensorStatistics(
      count: count, min: finite > 0 ? least + 0 : nil, max: finite > 0 ? most + 0 : nil,
      mean: finite > 0 ? mean : nil,
      std: finite > 0 ? (squares / Double(finite)).squareRoot() : nil,
      sparsity: count > 0 ? Double(zeros) / Double(count) : 0, uniqueValues: distinct,
      nanCount: nans, infiniteCount: infinities)
  }

  /// Sums of a piece; those of two pieces combine by the method of Chan, Golub and LeVeque.
  private struct Moments: Sendable {
    var finite = 0
    var mean = 0.0
    var squares = 0.0
    var least = Double.infinity
    var most = -Double.infinity
    var zeros = 0
    var nans = 0
    var infinities = 0

    mutating func merge(_ other: Moments) {
      let total = finite + other.finite
      if other.finite > 0 {
        let difference = other.mean - mean
        let share = Double(other.finite) / Double(total)
        mean += difference * share
        squares += other.squares + difference * difference * share * Double(finite)
      }
      finite = total
      least = Swift.min(least, other.least)
      most = Swift.max(most, other.most)
      zeros += other.zeros
      nans += other.nans
      infinities += other.infinities
    }
  }

  private static func wide<Bits: FixedWidthInteger & UnsignedInteger & BitwiseCopyable & Sendable>(
    _ source: any TensorSource, _ parallel: Parallel, as type: Bits.Type, isFloat: Bool,
    _ value: @Sendable (Bits) -> Double
  ) throws -> TensorStatistics {
    let count = source.elementCount
    let piece = 1 << 16
    let pieces = (count + piece - 1) / piece
    let parts = Mutex([Moments](repeating: Moments(), count: pieces))
    try parallel.forEach(pieces) { index in
      let range = index * piece..<Swift.min((index + 1) * piece, count)
      let part = try source.withElements(range) { bytes in
        let elements = bytes.bindMemory(to: Bits.self)
        return finiteMoments(of: elements, value) ?? moments(of: elements, value)
      }
      parts.withLock { $0[index] = part }
    }
    let total = parts.withLock { parts in
      parts.reduce(into: Moments()) { $0.merge($1) }
    }
    let distinct = try Distinct.count(source, as: type, isFloat: isFloat)
    source.release(0..<count)
    let any = total.finite > 0
    return TensorStatistics(
      count: count, min: any ? total.least + 0 : nil, max: any ? total.most + 0 : nil,
      mean: any ? total.mean : nil,
      std: any ? (total.squares / Double(total.finite)).squareRoot() : nil,
      sparsity: count > 0 ? Double(total.zeros) / Double(count) : 0, uniqueValues: distinct,
      nanCount: total.nans, infiniteCount: total.infinities)
  }

  /// The moments of values that are all finite, in four interleaved sums; nil when some are not.
  private static func finiteMoments<Bits>(
    of elements: UnsafeBufferPointer<Bits>, _ value: (Bits) -> Double
  ) -> Moments? {
    if elements.isEmpty { return Moments() }
    let whole = elements.count & ~3
    var sum = SIMD4<Double>()
    var least = SIMD4<Double>(repeating: .infinity)
    var most = SIMD4<Double>(repeating: -.infinity)
    var zeros = 0
    @inline(__always)
    func four(_ index: Int) -> SIMD4<Double> {
      SIMD4(
        value(elements[index]), value(elements[index &+ 1]), value(elements[index &+ 2]),
        value(elements[index &+ 3]))
    }
    for index in stride(from: 0, to: whole, by: 4) {
      let values = four(index)
      sum += values
      for lane in 0..<4 {
        least[lane] = values[lane] < least[lane] ? values[lane] : least[lane]
        most[lane] = values[lane] > most[lane] ? values[lane] : most[lane]
        zeros &+= values[lane] == 0 ? 1 : 0
      }
    }
    for index in whole..<elements.count {
      let value = value(elements[index])
      sum[0] += value
      least[0] = value < least[0] ? value : least[0]
      most[0] = value > most[0] ? value : most[0]
      zeros &+= value == 0 ? 1 : 0
    }
    let total = sum.sum()
    if !total.isFinite { return nil }
    let mean = total / Double(elements.count)
    var squares = SIMD4<Double>()
    for index in stride(from: 0, to: whole, by: 4) {
      let difference = four(index) - mean
      squares += difference * difference
    }
    for index in whole..<elements.count {
      let difference = value(elements[index]) - mean
      squares[0] += difference * difference
    }
    return Moments(
      finite: elements.count, mean: mean, squares: squares.sum(), least: least.min(),
      most: most.max(), zeros: zeros)
  }

  private static func moments<Bits>(
    of elements: UnsafeBufferPointer<Bits>, _ value: (Bits) -> Double
  ) -> Moments {
    var part = Moments()
    var sum = 0.0
    for bits in elements {
      let value = value(bits)
      if value.isFinite {
        sum += value
        part.least = Swift.min(part.least, value)
        part.most = Swift.max(part.most, value)
        if value == 0 { part.zeros += 1 }
      } else if value.isNaN {
        part.nans += 1
      } else {
        part.infinities += 1
      }
    }
    part.finite = elements.count - part.nans - part.infinities
    if part.finite == 0 { return part }
    part.mean = sum / Double(part.finite)
    for bits in elements {
      let difference = value(bits) - part.mean
      if difference.isFinite { part.squares += difference * difference }
    }
    return part
  }
}

/// Counts of bit patterns of at most 16 bits.
enum Histogram {
  /// Elements that a worker counts before its bins are merged.
  private static let mergeElements = 1 << 30
  /// Bytes of a piece.
  private static let pieceBytes = 1 << 21

  /// 2^16 bins for 16-bit types, else 2^bits.
  static func bins(of source: any TensorSource, parallel: Parallel) throws -> [Int] {
    let bits = source.elementType.bitWidth
    let count = source.elementCount
    let piece = pieceBytes / bits * 8
    let pieces = (count + piece - 1) / piece
    let workers = Swift.max(1, Swift.min(parallel.threads, pieces))
    let total = Mutex([Int](repeating: 0, count: 1 << 16))
    let stray = Mutex([Int](repeating: 0, count: 1 << 16))
    try parallel.forEach(workers) { worker in
      var bins = [UInt32](repeating: 0, count: 1 << 16)
      var counted = 0
      func merge() {
        total.withLock { total in
          for index in 0..<bins.count { total[index] += Int(bins[index]) }
        }
        bins = [UInt32](repeating: 0, count: 1 << 16)
        counted = 0
      }
      for index in stride(from: worker, to: pieces, by: workers) {
        let range = index * piece..<Swift.min((index + 1) * piece, count)
        try source.withElements(range) { bytes in
          bins.withUnsafeMutableBufferPointer { bins in
            guard let base = bins.baseAddress else { return }
            if 16 % bits == 0 {
              add(bytes, to: base)
              // The elements of a last odd byte, and the padding taken for elements.
              let whole = bytes.count / 2 * 16 / bits
              if whole > range.count || bytes.count % 2 == 1 {
                stray.withLock { stray in
                  for index in whole..<Swift.max(range.count, whole) {
                    stray[code(bytes, index, bits)] += 1
                  }
                  for index in range.count..<Swift.max(range.count, whole) {
                    stray[code(bytes, index, bits)] -= 1
                  }
                }
              }
            } else {
              for index in 0..<range.count {
                base[Int(BitPacking.code(bytes, at: index, bits: bits))] += 1
              }
            }
          }
        }
        source.release(range)
        counted += range.count
        if counted > mergeElements { merge() }
      }
      merge()
    }
    let bins = total.withLock { $0 }
    if bits == 16 { return bins }
    if 16 % bits != 0 { return Array(bins.prefix(1 << bits)) }
    var folded = Array(stray.withLock { $0 }.prefix(1 << bits))
    for (pattern, bin) in bins.enumerated() where bin > 0 {
      for shift in stride(from: 0, to: 16, by: bits) {
        folded[pattern >> shift & ((1 << bits) - 1)] += bin
      }
    }
    return folded
  }

  private static func code(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ bits: Int) -> Int {
    bits == 16
      ? Int(bytes[index * 2]) | Int(bytes[index * 2 + 1]) << 8
      : Int(BitPacking.code(bytes, at: index, bits: bits))
  }

  /// Counts the 16-bit words of `bytes`, four per load.
  private static func add(_ bytes: UnsafeRawBufferPointer, to bins: UnsafeMutablePointer<UInt32>) {
    guard let base = bytes.baseAddress else { return }
    let words = bytes.count / 8
    for index in 0..<words {
      let word = base.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
      bins[Int(truncatingIfNeeded: word & 0xFFFF)] &+= 1
      bins[Int(truncatingIfNeeded: word >> 16 & 0xFFFF)] &+= 1
      bins[Int(truncatingIfNeeded: word >> 32 & 0xFFFF)] &+= 1
      bins[Int(truncatingIfNeeded: word >> 48)] &+= 1
    }
    for index in words * 4..<bytes.count / 2 {
      bins[Int(base.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self))] &+= 1
    }
  }

  /// The value of a bit pattern.
  static func value(_ pattern: UInt16, _ type: ElementType) -> Double {
    let byte = UInt8(truncatingIfNeeded: pattern)
    switch type {
    case .float16: return Double(HalfFloat.float(pattern))
    case .bfloat16: return Double(Float(bitPattern: UInt32(pattern) << 16))
    case .float8E5M2: return Double(HalfFloat.float(UInt16(byte) << 8))
    case .float8E4M3FN:
      let sign: Double = byte & 0x80 == 0 ? 1 : -1
      let exponent = Int(byte >> 3 & 15)
      let mantissa = Double(byte & 7)
      if byte & 0x7F == 0x7F { return .nan }
      let magnitude =
        exponent == 0
        ? Double(sign: .plus, exponent: -9, significand: mantissa)
        : Double(sign: .plus, exponent: exponent - 10, significand: 8 + mantissa)
      return sign * magnitude
    case .int16: return Double(Int16(bitPattern: pattern))
    case .int8: return Double(Int8(bitPattern: byte))
    case .int4: return Double(Int8(bitPattern: (byte & 15 ^ 8) &- 8))
    default: return Double(pattern)
    }
  }
}
