import ModelTensors
import Testing

@testable import ModelCompression

/// Statistics of every element type against plain sums, and conversion to fp16.
@Suite struct StatisticsTests {
  static func check(_ tensor: any TensorSource, _ values: [Double]) throws {
    for threads in [1, 3] {
      let found = try TensorStatistics.measure(tensor, parallel: Parallel(threads: threads))
      let finite = values.filter { $0.isFinite }
      #expect(found.count == values.count)
      #expect(found.nanCount == values.filter { $0.isNaN }.count)
      #expect(found.infiniteCount == values.filter { $0.isInfinite }.count)
      #expect(found.finite == (finite.count == values.count))
      #expect(found.min == finite.min())
      #expect(found.max == finite.max())
      let zeros = values.filter { $0 == 0 }.count
      #expect(found.sparsity == (values.isEmpty ? 0 : Double(zeros) / Double(values.count)))
      let distinct = Set(values.filter { !$0.isNaN }.map { $0 + 0 }).count
      let nans = Set(values.filter { $0.isNaN }.map(\.bitPattern)).count
      #expect(found.uniqueValues == distinct + nans)
      if finite.isEmpty {
        #expect(found.mean == nil && found.std == nil)
        continue
      }
      let mean = finite.reduce(0, +) / Double(finite.count)
      let square = finite.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(finite.count)
      #expect(abs((found.mean ?? .nan) - mean) <= 1e-9 * (abs(mean) + square.squareRoot()) + 1e-300)
      #expect(
        abs((found.std ?? .nan) - square.squareRoot()) <= 1e-9 * square.squareRoot() + 1e-12
          * abs(mean))
    }
  }

  @Test func halves() throws {
    var random = Random(31)
    for count in [0, 1, 3, 4, 5, 1000, 70000] {
      var bits = (0..<count).map { _ in HalfFloat.bits(random.normal() * 0.1) }
      if count > 900 {
        bits[5] = 0x8000
        bits[6] = 0
        bits[7] = 0x7C00
        bits[8] = 0x7E01
        bits[9] = 0xFE01
      }
      let tensor = try MemoryTensor(elementType: .float16, shape: [count], values: bits)
      try StatisticsTests.check(tensor, bits.map { Double(HalfFloat.float($0)) })
    }
  }

  @Test func integers() throws {
    var random = Random(32)
    for type in [ElementType.int8, .uint8, .int4, .uint4, .uint1, .uint2, .uint3, .uint6] {
      for count in [0, 1, 2, 3, 5, 8, 9, 15, 17, 1001] {
        let codes = try DecoderTests.codes(type, [count], &random)
        try StatisticsTests.check(codes.tensor, codes.values.map { Double($0) })
      }
    }
    let int32 = (0..<5000).map { _ in Int32(truncatingIfNeeded: random.next()) >> 20 }
    try StatisticsTests.check(
      MemoryTensor(elementType: .int32, shape: [5000], values: int32), int32.map { Double($0) })
    let int64 = (0..<500).map { _ in Int64(random.below(300)) - 100 }
    try StatisticsTests.check(
      MemoryTensor(elementType: .int64, shape: [500], values: int64), int64.map { Double($0) })
    let int16 = (0..<500).map { _ in Int16(random.below(300)) - 100 }
    try StatisticsTests.check(
      MemoryTensor(elementType: .int16, shape: [500], values: int16), int16.map { Double($0) })
  }

  @Test func singlesAndDoubles() throws {
    var random = Random(33)
    for count in [0, 1, 2, 70000, 150000] {
      var singles = (0..<count).map { _ in Float(random.normal() * 3 + 100) }
      if count > 100 {
        singles[3] = -0.0
        singles[4] = 0
        singles[5] = .infinity
        singles[6] = .nan
        singles[7] = .greatestFiniteMagnitude
        singles[8] = 0x1p-149
        singles[9] = singles[10]
      }
      let finite = count > 100 ? singles.map { $0 == .greatestFiniteMagnitude ? 5 : $0 } : singles
      try StatisticsTests.check(
        MemoryTensor(elementType: .float32, shape: [count], values: finite),
        finite.map { Double($0) })
    }
    let doubles = (0..<3000).map { _ in Double(random.below(1000)) / 7 }
    try StatisticsTests.check(
      MemoryTensor(elementType: .float64, shape: [3000], values: doubles), doubles)
  }

  @Test func otherFloats() throws {
    let bfloats: [UInt16] = [0x3F80, 0xBF80, 0, 0x8000, 0x4000, 0x7F80, 0x7FC0]
    try StatisticsTests.check(
      MemoryTensor(elementType: .bfloat16, shape: [7], values: bfloats),
      [1, -1, 0, -0.0, 2, .infinity, .nan])
    let e4m3: [UInt8] = [0x38, 0x7E, 0x01, 0xB8, 0x7F, 0x08]
    try StatisticsTests.check(
      MemoryTensor(elementType: .float8E4M3FN, shape: [6], bytes: e4m3),
      [1, 448, 0x1p-9, -1, .nan, 0x1p-6])
    let e5m2: [UInt8] = [0x3C, 0x7B, 0x01, 0x7C]
    try StatisticsTests.check(
      MemoryTensor(elementType: .float8E5M2, shape: [4], bytes: e5m2),
      [1, 57344, 0x1p-16, .infinity])
    #expect(throws: TensorError.self) {
      try TensorStatistics.measure(MemoryTensor(elementType: .string, shape: [0], bytes: []))
    }
  }

  @Test func narrowing() throws {
    var random = Random(34)
    for count in [0, 1, 15, 17, 1000, 200000] {
      for clamp in [false, true] {
        var singles = (0..<count).map { _ in Float(random.normal() * 1e-6) }
        if clamp && count > 9 {
          singles[1] = 1e30
          singles[2] = -70000
          singles[3] = .infinity
          singles[4] = .nan
        }
        let tensor = try MemoryTensor(elementType: .float32, shape: [count], values: singles)
        var first: ([UInt8], ErrorSums)?
        for level in KernelLevel.available {
          let preparation = try HalfConversion.prepare(
            source: tensor, clamp: clamp, parallel: Parallel(threads: 2), level: level)
          guard case .ready(let conversion) = preparation else {
            Issue.record("refused")
            return
          }
          let collector = Collector(conversion.byteCount)
          let sums = try conversion.encode(parallel: Parallel(threads: 2)) {
            collector.write($0, $1)
          }
          var expected = ErrorSums()
          var vanishing = 0
          let halves = singles.map { single -> UInt16 in
            let bits = HalfFloat.bits(
              clamp && single.isFinite ? min(max(single, -65504), 65504) : single)
            if single.isFinite {
              let decoded = HalfFloat.float(bits)
              expected.add(Double(single), decoded: Double(single) - Double(single - decoded))
              if single != 0 && decoded == 0 { vanishing += 1 }
            }
            return bits
          }
          #expect(collector.result == halves.withUnsafeBytes { Array($0) })
          #expect(conversion.vanishingCount == vanishing)
          #expect(conversion.beyondCount == (clamp && count > 9 ? 2 : 0))
          #expect(conversion.nanCount == (clamp && count > 9 ? 1 : 0))
          #expect(conversion.infiniteCount == (clamp && count > 9 ? 1 : 0))
          #expect(sums.count == expected.count && sums.peak == expected.peak)
          #expect(AffineQuantizerTests.close(sums.signal, expected.signal))
          #expect(AffineQuantizerTests.close(sums.error, expected.error))
          #expect(AffineQuantizerTests.close(sums.maxAbsError, expected.maxAbsError))
          if let first { #expect(first == (collector.result, sums)) }
          first = (collector.result, sums)
        }
      }
    }
    let wide = try MemoryTensor(
      elementType: .float32, shape: [3], values: [Float(65519), 65520, -1e9])
    guard
      case .refused(let reason) = try HalfConversion.prepare(
        source: wide, clamp: false, parallel: Parallel(threads: 1))
    else {
      Issue.record("not refused")
      return
    }
    #expect(reason == "holds 2 values beyond ±65504")
  }
}
