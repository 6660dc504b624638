import ModelTensors
import Testing

@testable import ModelCompression

/// Codes, scales and error sums of whole weights against plain code.
@Suite struct AffineQuantizerTests {
  static let schemes: [AffineScheme] = [8, 4].flatMap { bits in
    [true, false].flatMap { signed in
      [AffineScheme.Mode.symmetric, .affine].flatMap { mode in
        [AffineScheme.Search.none, .mse].map {
          AffineScheme(bits: bits, signed: signed, mode: mode, search: $0)
        }
      }
    }
  }

  struct Encoded: Equatable {
    var codes: [UInt8]
    var scales: [UInt8]
    var zeroPoints: [Int32]?
    var offsets: [UInt8]?
    var sums: ErrorSums
  }

  static func encode(
    _ tensor: any TensorSource, _ layout: GroupLayout, _ scheme: AffineScheme, threads: Int = 1,
    level: KernelLevel = .current
  ) throws -> Encoded? {
    let parallel = Parallel(threads: threads)
    let preparation = try AffineQuantizer.prepare(
      source: tensor, layout: layout, scheme: scheme, parallel: parallel, level: level)
    guard case .ready(let quantizer) = preparation else { return nil }
    let collector = Collector(quantizer.codeBytes)
    let result = try quantizer.encode(parallel: parallel) { collector.write($0, $1) }
    #expect(collector.written.withLock { $0 } == quantizer.codeBytes)
    #expect(result.scales.count == quantizer.scaleBytes)
    #expect((result.offsets?.count ?? 0) == quantizer.offsetBytes)
    return Encoded(
      codes: collector.result, scales: result.scales, zeroPoints: result.zeroPoints,
      offsets: result.offsets, sums: result.sums)
  }

  /// Checks every code and sum of a result; returns the squared error of each group.
  @discardableResult
  static func check(
    _ encoded: Encoded, _ sample: Sample, _ layout: GroupLayout, _ scheme: AffineScheme
  ) throws -> [Double] {
    let half = sample.tensor.elementType == .float16
    let scales: [Double] = encoded.scales.withUnsafeBytes { bytes in
      half
        ? bytes.bindMemory(to: UInt16.self).map { Double(HalfFloat.float($0)) }
        : bytes.bindMemory(to: Float.self).map { Double($0) }
    }
    #expect(scales.count == layout.groupCount)
    #expect(scales.allSatisfy { $0 > 0 && $0.isFinite })
    let packed = try MemoryTensor(
      elementType: scheme.codeType, shape: layout.shape, bytes: encoded.codes)
    let codes = try CodeReader.integers(packed, 0..<layout.elementCount)
    if let zeros = encoded.zeroPoints, let offsets = encoded.offsets {
      let tensor = try MemoryTensor(
        elementType: scheme.codeType, shape: layout.scaleShape, bytes: offsets)
      #expect(try CodeReader.integers(tensor, 0..<layout.groupCount) == zeros)
    } else {
      #expect(!scheme.hasOffset)
    }
    var sums = ErrorSums()
    var errors = [Double](repeating: 0, count: layout.groupCount)
    let overflow = half ? 65520.0 : 0x1.FFFFFFp127
    var wrong = 0
    for (index, value) in sample.values.enumerated() {
      let group = layout.group(of: index)
      let scale = scales[group]
      let zero = Double(encoded.zeroPoints?[group] ?? 0)
      let quotient = half ? value / scale : Double(Float(value) / Float(scale))
      var code = quotient.rounded(.toNearestOrEven)
      code = min(
        max(code, Double(scheme.codes.lowerBound) - zero), Double(scheme.codes.upperBound) - zero)
      while abs(code * scale) >= overflow { code -= code > 0 ? 1 : -1 }
      if Double(codes[index]) != code + zero { wrong += 1 }
      let decoded = roundToType(code * scale, half: half)
      #expect(decoded.isFinite)
      sums.add(value, decoded: decoded)
      errors[group] += (value - decoded) * (value - decoded)
    }
    #expect(wrong == 0)
    #expect(encoded.sums.count == sums.count)
    #expect(encoded.sums.peak == sums.peak)
    #expect(close(encoded.sums.signal, sums.signal))
    #expect(close(encoded.sums.error, sums.error))
    #expect(close(encoded.sums.maxAbsError, sums.maxAbsError))
    return errors
  }

  static func close(_ value: Double, _ expected: Double) -> Bool {
    value == expected || abs(value - expected) <= 1e-5 * abs(expected)
  }

  /// The squared error of coremltools' scale and zero point with nearest codes, group by group;
  /// nil where its arithmetic overflows.
  static func naive(_ sample: Sample, _ layout: GroupLayout, _ scheme: AffineScheme) -> [Double?] {
    let half = sample.tensor.elementType == .float16
    let type = { roundToType($0, half: half) }
    var groups = [[Double]](repeating: [], count: layout.groupCount)
    for (index, value) in sample.values.enumerated() {
      groups[layout.group(of: index)].append(value)
    }
    return groups.map { values in
      var low = values.min() ?? 0
      var high = values.max() ?? 0
      let range = scheme.range
      if scheme.mode == .symmetric {
        high = max(-low, high)
        low = -high
      } else {
        low = min(low, 0)
        high = max(high, 0)
      }
      let span = type(high - low)
      let scale = type(span / Double(range.count - 1))
      var zero = Double(scheme.symmetricZero)
      if scheme.mode == .affine {
        let top = type(type(Double(range.lowerBound) * high) - type(Double(range.upperBound) * low))
        zero = type(top / span).rounded(.toNearestOrEven)
      }
      guard scale > 0, scale.isFinite, zero.isFinite else { return nil }
      zero = min(max(zero, Double(range.lowerBound)), Double(range.upperBound))
      return values.reduce(0) { sum, value in
        let code = min(
          max((value / scale).rounded(.toNearestOrEven), Double(range.lowerBound) - zero),
          Double(range.upperBound) - zero)
        let decoded = type(code * scale)
        return sum + (value - decoded) * (value - decoded)
      }
    }
  }

  @Test(arguments: schemes) func smallWeights(scheme: AffineScheme) throws {
    var random = Random(11)
    let shapes = [
      [7], [5, 6], [4, 33], [3, 4, 6], [6, 4, 2, 2], [2, 3, 1, 5], [1, 130], [65, 2],
    ]
    for shape in shapes {
      let count = shape.reduce(1, *)
      for scales in scaleShapes(shape) where random.below(3) == 0 || scales.allSatisfy({ $0 == 1 })
      {
        let layout = try #require(GroupLayout(shape: shape, scaleShape: scales))
        let magnitude = [1e-6, 0.02, 3.0, 9000][random.below(4)]
        let shift = [0, 0.5, -2][random.below(3)]
        let values = (0..<count).map { _ in (random.normal() + shift) * magnitude }
        for half in [true, false] {
          let sample = try Sample(values, shape: shape, half: half)
          let encoded = try #require(
            try AffineQuantizerTests.encode(sample.tensor, layout, scheme))
          let errors = try AffineQuantizerTests.check(encoded, sample, layout, scheme)
          for (error, naive) in zip(errors, AffineQuantizerTests.naive(sample, layout, scheme)) {
            if let naive { #expect(error <= naive * (1 + 4e-6)) }
          }
          for level in KernelLevel.available {
            #expect(
              try AffineQuantizerTests.encode(sample.tensor, layout, scheme, level: level)
                == encoded)
          }
        }
      }
    }
  }

  @Test(arguments: schemes) func extremeGroups(scheme: AffineScheme) throws {
    let rows: [[Double]] = [
      [0, 0, 0, 0, 0], [-0.0, 0, -0.0, 0, 0], [3, 3, 3, 3, 3], [-3, -3, -3, -3, -3],
      [65504, -65504, 1, 2, 3], [65504, 65000, 64000, 60000, 5], [-65504, -3, -1, -7, 0],
      [0x1p-24, 0, 0, 0, 0], [0x1p-24, -0x1p-24, 0x1p-23, 0, 0],
      [127 * 0x1p-24, -100 * 0x1p-24, 3 * 0x1p-24, 0, 0x1p-24], [1e-5, 2e-5, -3e-5, 1e-7, 0],
      [1, 0x1p-24, 0, 0, 0], [127, -126, 5, 0.5, 1.5],
    ]
    let layout = try #require(GroupLayout(shape: [rows.count, 5], channelAxis: 0))
    for half in [true, false] {
      let sample = try Sample(rows.flatMap { $0 }, shape: [rows.count, 5], half: half)
      let encoded = try #require(try AffineQuantizerTests.encode(sample.tensor, layout, scheme))
      let errors = try AffineQuantizerTests.check(encoded, sample, layout, scheme)
      #expect(errors[0] == 0 && errors[1] == 0)
      if scheme.bits == 8 && scheme.mode == .symmetric { #expect(errors[9] == 0) }
      #expect(errors[7] == 0)
    }
    let huge: [[Double]] = [
      [3e38, -3.4e38, 1, 0, 5], [1e-45, 3e-45, 0, 0, 0], [1e-40, -2e-40, 3e-41, 0, 0],
      [3.4e38, 3.4e38, 3.4e38, 1e38, 1e30],
    ]
    let large = try #require(GroupLayout(shape: [4, 5], channelAxis: 0))
    let sample = try Sample(huge.flatMap { $0 }, shape: [4, 5], half: false)
    let encoded = try #require(try AffineQuantizerTests.encode(sample.tensor, large, scheme))
    try AffineQuantizerTests.check(encoded, sample, large, scheme)
  }

  @Test func largeWeightsDoNotDependOnThreads() throws {
    var random = Random(12)
    let shape = [3, 401, 257]
    let count = shape.reduce(1, *)
    let values = (0..<count).map { _ in random.normal() * 0.02 + 0.001 }
    let sample = try Sample(values, shape: shape, half: true)
    for scales in [[1, 1, 1], [3, 1, 1], [1, 1, 257], [1, 401, 1]] {
      let layout = try #require(GroupLayout(shape: shape, scaleShape: scales))
      for scheme in [AffineScheme(), AffineScheme(bits: 4, mode: .affine)] {
        let one = try #require(try AffineQuantizerTests.encode(sample.tensor, layout, scheme))
        let many = try AffineQuantizerTests.encode(sample.tensor, layout, scheme, threads: 3)
        #expect(one == many)
        if scheme.bits == 8 { try AffineQuantizerTests.check(one, sample, layout, scheme) }
      }
    }
  }

  @Test func searchHelps() throws {
    var random = Random(13)
    let values = (0..<4096).map { _ in random.normal() * random.normal() * random.normal() }
    let sample = try Sample(values, shape: [4, 1024], half: true)
    let layout = try #require(GroupLayout(shape: [4, 1024], channelAxis: 0))
    for mode in [AffineScheme.Mode.symmetric, .affine] {
      for bits in [4, 8] {
        let plain = try #require(
          try AffineQuantizerTests.encode(
            sample.tensor, layout, AffineScheme(bits: bits, mode: mode)))
        let searched = try #require(
          try AffineQuantizerTests.encode(
            sample.tensor, layout, AffineScheme(bits: bits, mode: mode, search: .mse)))
        #expect(searched.sums.error < plain.sums.error * (bits == 4 ? 0.9 : 1.0001))
      }
    }
  }

  @Test(arguments: [true, false]) func refusesSpecialValues(half: Bool) throws {
    for (values, reason) in [
      ([1, .infinity, 2, -.infinity], "holds 2 infinite values"),
      ([1, .nan, 2, 3], "holds 1 NaN value"),
      ([.nan, .nan, 2, .infinity], "holds 2 NaN values and 1 infinite value"),
    ] as [([Double], String)] {
      let sample = try Sample(values, shape: [2, 2], half: half)
      for scales in [[1, 1], [2, 1], [1, 2]] {
        let layout = try #require(GroupLayout(shape: [2, 2], scaleShape: scales))
        let preparation = try AffineQuantizer.prepare(
          source: sample.tensor, layout: layout, scheme: AffineScheme(),
          parallel: Parallel(threads: 1))
        guard case .refused(let text) = preparation else {
          Issue.record("not refused")
          continue
        }
        #expect(text == reason)
      }
    }
  }

  @Test func emptyAndMismatched() throws {
    let empty = try MemoryTensor(elementType: .float16, shape: [0, 3], bytes: [])
    let layout = try #require(GroupLayout(shape: [0, 3], scaleShape: [1, 3]))
    let encoded = try AffineQuantizerTests.encode(empty, layout, AffineScheme())
    #expect(encoded?.codes == [])
    let other = try #require(GroupLayout(shape: [3], scaleShape: [1]))
    #expect(throws: TensorError.self) {
      try AffineQuantizerTests.encode(empty, other, AffineScheme())
    }
    let integers = try MemoryTensor(elementType: .int8, shape: [3], bytes: [1, 2, 3])
    #expect(throws: TensorError.self) {
      try AffineQuantizerTests.encode(integers, other, AffineScheme())
    }
  }
}
