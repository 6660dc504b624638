import ModelTensors
import Synchronization
import Testing

@testable import ModelCompression

/// Tables, indices and error sums of whole weights against plain code.
@Suite struct PalettizerTests {
  struct Encoded: Equatable {
    var bits: Int
    var indexShape: [Int]
    var indices: [UInt8]
    var tableShape: [Int]
    var tables: [UInt8]
    var quantized: QuantizedPaletteTable?
    var sums: ErrorSums
  }

  static func encode(
    _ tensor: any TensorSource, _ grouping: PaletteGrouping, _ settings: PaletteSettings,
    mask: (any TensorSource)? = nil, threads: Int = 1, level: KernelLevel = .current
  ) throws -> Encoded? {
    let parallel = Parallel(threads: threads)
    let preparation = try Palettizer.prepare(
      source: tensor, grouping: grouping, settings: settings, restrictedTo: mask,
      parallel: parallel, level: level)
    guard case .ready(let palettizer) = preparation else { return nil }
    let collector = Collector(palettizer.indexBytes)
    let sums = try palettizer.encode(parallel: parallel) { collector.write($0, $1) }
    #expect(collector.written.withLock { $0 } == palettizer.indexBytes)
    return Encoded(
      bits: palettizer.bits, indexShape: palettizer.indexShape, indices: collector.result,
      tableShape: palettizer.tableShape, tables: palettizer.tables,
      quantized: palettizer.quantizedTable, sums: sums)
  }

  static func values(_ tensor: any TensorSource) throws -> [Double] {
    try CodeReader.floats(tensor).map { Double($0) }
  }

  /// Decodes and compares with the sums; without vectors checks that every index is the nearest.
  ///
  /// Returns the values of each table's group.
  @discardableResult
  static func check(
    _ encoded: Encoded, _ tensor: any TensorSource, axis: Int = 0, kept: [Bool]? = nil
  ) throws -> [[Double]] {
    let type = try #require(ElementType.unsigned(bits: encoded.bits))
    let lut = try MemoryTensor(
      elementType: tensor.elementType, shape: encoded.tableShape, bytes: encoded.tables)
    let rank = tensor.shape.count
    let width = encoded.tableShape[rank + 1]
    let entries = encoded.tableShape[rank]
    let tables = try values(lut)
    let original = try values(tensor)
    let stored = try MemoryTensor(
      elementType: type, shape: encoded.indexShape, bytes: encoded.indices)
    let codes = try CodeReader.codes(stored, 0..<stored.elementCount)
    if let quantized = encoded.quantized {
      let scale = try values(
        MemoryTensor(elementType: tensor.elementType, shape: [1], bytes: quantized.scale))[0]
      for (index, code) in quantized.codes.enumerated() {
        let level = Double(Int8(bitPattern: code)) - Double(quantized.zeroPoint ?? 0)
        #expect(tables[index] == roundToType(level * scale, half: tensor.elementType == .float16))
      }
    }
    var sums = ErrorSums()
    let groupShape = Array(encoded.tableShape.prefix(rank))
    var groups = [[Double]](repeating: [], count: groupShape.reduce(1, *))
    if width > 1 {
      let decoded = try values(LookupTensor(indices: stored, lut: lut, vectorAxis: axis))
      for (value, other) in zip(original, decoded) { sums.add(value, decoded: other) }
    } else {
      var next = 0
      var wrong = 0
      for (index, value) in original.enumerated() {
        if let kept, !kept[index] { continue }
        let group = plainGroup(index, shape: tensor.shape, scaleShape: groupShape)
        groups[group].append(value)
        let table = tables[group * entries..<(group + 1) * entries]
        let decoded = tables[group * entries + Int(codes[next])]
        sums.add(value, decoded: decoded)
        let nearest = table.reduce(Double.infinity) { min($0, abs($1 - value)) }
        // Zeros at the end are no entries.
        let live = table.dropLast(table.reversed().prefix { $0 == 0 }.count)
        if abs(decoded - value) > nearest
          && live.contains(where: { abs($0 - value) < abs(decoded - value) })
        {
          wrong += 1
        }
        if let first = table.firstIndex(of: decoded), first - group * entries < Int(codes[next]) {
          wrong += 1
        }
        next += 1
      }
      #expect(wrong == 0)
      #expect(next == codes.count)
    }
    #expect(encoded.sums.count == sums.count)
    #expect(encoded.sums.peak == sums.peak)
    #expect(AffineQuantizerTests.close(encoded.sums.signal, sums.signal))
    #expect(AffineQuantizerTests.close(encoded.sums.error, sums.error))
    #expect(AffineQuantizerTests.close(encoded.sums.maxAbsError, sums.maxAbsError))
    return groups
  }

  /// The least squared error of any table of real numbers.
  static func optimum(_ values: [Double], _ k: Int) -> Double {
    var counts: [Double: UInt32] = [:]
    for value in values { counts[value + 0, default: 0] += 1 }
    let keys = counts.keys.sorted()
    if keys.count <= k { return 0 }
    return ScalarKMeansTests.plain(keys, keys.map { counts[$0] ?? 0 }, k)
  }

  static func same(
    _ tensor: any TensorSource, _ grouping: PaletteGrouping, _ settings: PaletteSettings,
    mask: (any TensorSource)? = nil
  ) throws -> Encoded {
    let one = try #require(try encode(tensor, grouping, settings, mask: mask))
    // The levels and numbers of threads take turns.
    let turn = turns.wrappingAdd(1, ordering: .relaxed).oldValue
    let levels = KernelLevel.available
    let level = levels[turn % levels.count]
    #expect(
      try encode(
        tensor, grouping, settings, mask: mask, threads: [1, 2, 7][turn / 3 % 3], level: level)
        == one)
    return one
  }

  private static let turns = Atomic<Int>(0)

  static let shapes: [([Int], [PaletteGrouping])] = [
    ([37], [.tensor]),
    ([6, 7], [.tensor, .channels(axis: 0, size: 2), .channels(axis: 1, size: 7)]),
    ([4, 6], [.channels(axis: 1, size: 3), .channels(axis: -1, size: 1)]),
    ([3, 4, 5], [.channels(axis: 1, size: 2)]),
    ([4, 3, 2, 3], [.channels(axis: 0, size: 1), .channels(axis: 2, size: 1)]),
    ([2, 1, 3, 2, 5], [.tensor, .channels(axis: 3, size: 1)]),
  ]

  @Test(arguments: [true, false]) func smallWeights(half: Bool) throws {
    var random = Random(41)
    for (shape, groupings) in PalettizerTests.shapes {
      let count = shape.reduce(1, *)
      for grouping in groupings {
        for bits in PaletteSettings.allowedBits {
          let magnitude = [1e-6, 0.02, 9000][random.below(3)]
          let values = (0..<count).map { _ in random.normal() * magnitude }
          let sample = try Sample(values, shape: shape, half: half)
          let encoded = try PalettizerTests.same(
            sample.tensor, grouping, PaletteSettings(bits: bits))
          let groups = try PalettizerTests.check(encoded, sample.tensor)
          #expect(encoded.bits == bits)
          let least = groups.reduce(0.0) { $0 + PalettizerTests.optimum($1, 1 << bits) }
          // Rounding of the entries costs a little.
          let rounding =
            half ? Double(count) * magnitude * magnitude * 1e-6 + 1e-13 : 1e-12 * magnitude
          #expect(encoded.sums.error >= least * (1 - 1e-9) - 1e-30)
          #expect(encoded.sums.error <= least * (1 + 1e-6) + rounding)
          let uniform = try PalettizerTests.same(
            sample.tensor, grouping, PaletteSettings(bits: bits, mode: .uniform))
          try PalettizerTests.check(uniform, sample.tensor)
          let quantized = try PalettizerTests.same(
            sample.tensor, grouping,
            PaletteSettings(
              bits: bits, tableQuantization: random.below(2) == 0 ? .symmetric : .affine))
          try PalettizerTests.check(quantized, sample.tensor)
        }
      }
    }
  }

  @Test(arguments: [true, false]) func extremeValues(half: Bool) throws {
    let rows: [[Double]] = [
      [0, 0, 0, 0, 0, 0], [-0.0, 0, -0.0, 0, 0, -0.0], [3, 3, 3, 3, 3, 3],
      [65504, -65504, 1, 2, 3, 65504], [0x1p-24, 0, 0, 0, 0, -0x1p-24],
      [0x1p-24, -0x1p-24, 0x1p-23, 3 * 0x1p-24, -0.0, 0], [1, 2, 3, 4, 5, 6],
      [-1, -2, -3, -3, -3, -0.0],
    ]
    for row in rows {
      let sample = try Sample(row, shape: [2, 3], half: half)
      let distinct = Set(row.map { $0 + 0 }).count
      for bits in PaletteSettings.allowedBits {
        for grouping in [PaletteGrouping.tensor, .channels(axis: 1, size: 1)] {
          let encoded = try PalettizerTests.same(
            sample.tensor, grouping, PaletteSettings(bits: bits))
          try PalettizerTests.check(encoded, sample.tensor)
          if distinct <= 1 << bits { #expect(encoded.sums.error == 0) }
          try PalettizerTests.check(
            PalettizerTests.same(
              sample.tensor, grouping, PaletteSettings(bits: bits, mode: .uniform)), sample.tensor)
          try PalettizerTests.check(
            PalettizerTests.same(
              sample.tensor, grouping, PaletteSettings(bits: bits, tableQuantization: .affine)),
            sample.tensor)
        }
      }
      let unique = try PalettizerTests.same(
        sample.tensor, .tensor, PaletteSettings(bits: 0, mode: .unique))
      #expect(unique.sums.error == 0)
      #expect(1 << unique.bits >= distinct && unique.bits <= 3)
    }
  }

  @Test func integers() throws {
    var random = Random(42)
    for type in [ElementType.int8, .uint8] {
      let bytes = (0..<240).map { _ in UInt8(truncatingIfNeeded: random.below(256)) }
      let tensor = try MemoryTensor(elementType: type, shape: [8, 30], bytes: bytes)
      for bits in PaletteSettings.allowedBits {
        for grouping in [PaletteGrouping.tensor, .channels(axis: 1, size: 10)] {
          let encoded = try PalettizerTests.same(tensor, grouping, PaletteSettings(bits: bits))
          try PalettizerTests.check(encoded, tensor)
        }
      }
      let unique = try PalettizerTests.same(
        tensor, .tensor, PaletteSettings(mode: .unique))
      #expect(unique.sums.error == 0 && unique.bits == 8)
    }
  }

  @Test(arguments: [true, false]) func vectors(half: Bool) throws {
    var random = Random(43)
    for (shape, axis, width, grouping) in [
      ([8, 12], 0, 2, PaletteGrouping.tensor), ([8, 12], 1, 4, .tensor),
      ([8, 12], 0, 2, .channels(axis: 0, size: 4)), ([8, 12], 1, 3, .channels(axis: 1, size: 6)),
      ([4, 6, 3, 3], 1, 2, .tensor), ([4, 300, 2], 0, 4, .tensor), ([6, 2, 300], 1, 2, .tensor),
      ([8, 12], 1, 2, .channels(axis: 0, size: 2)),
    ] {
      let count = shape.reduce(1, *)
      let values = (0..<count).map { _ in random.normal() * (half ? 1 : 1e20) }
      let sample = try Sample(values, shape: shape, half: half)
      for bits in [1, 4, 8] {
        let settings = PaletteSettings(bits: bits, clusterDimension: width, vectorAxis: axis)
        let encoded = try PalettizerTests.same(sample.tensor, grouping, settings)
        try PalettizerTests.check(encoded, sample.tensor, axis: axis)
        #expect(encoded.indexShape[axis] * width == shape[axis])
        if bits == 8 && count / width <= 256 && !half { #expect(encoded.sums.error == 0) }
        if bits == 4 { #expect(encoded.sums.error < encoded.sums.signal) }
      }
    }
  }

  @Test(arguments: [true, false]) func masks(half: Bool) throws {
    var random = Random(45)
    for (shape, grouping) in [
      ([40000], PaletteGrouping.tensor), ([6, 37], .channels(axis: 0, size: 2)),
      ([6, 35], .channels(axis: 1, size: 7)), ([3, 5, 7], .channels(axis: 1, size: 1)),
    ] {
      let count = shape.reduce(1, *)
      let sample = try Sample((0..<count).map { _ in random.normal() }, shape: shape, half: half)
      for share in [0, 3, 10] {
        let kept = (0..<count).map { _ in random.below(10) < share }
        var bits = [UInt8](repeating: 0, count: (count + 7) / 8)
        for index in kept.indices where kept[index] { bits[index / 8] |= 1 << UInt8(index % 8) }
        let mask = try MemoryTensor(elementType: .uint1, shape: shape, bytes: bits)
        for width in [3, 4] {
          let encoded = try PalettizerTests.same(
            sample.tensor, grouping, PaletteSettings(bits: width), mask: mask)
          #expect(encoded.indexShape == [kept.count { $0 }])
          try PalettizerTests.check(encoded, sample.tensor, kept: kept)
        }
      }
    }
  }

  @Test func largeWeights() throws {
    var random = Random(46)
    let shape = [65, 2111]
    let values = (0..<shape.reduce(1, *)).map { _ in random.normal() * 0.02 }
    for half in [true, false] {
      let sample = try Sample(values, shape: shape, half: half)
      for (grouping, bits) in [
        (PaletteGrouping.tensor, 4), (.tensor, 8), (.channels(axis: 0, size: 13), 6),
      ] {
        let settings = PaletteSettings(bits: bits)
        let one = try #require(try PalettizerTests.encode(sample.tensor, grouping, settings))
        #expect(try PalettizerTests.encode(sample.tensor, grouping, settings, threads: 7) == one)
        #expect(
          try PalettizerTests.encode(sample.tensor, grouping, settings, level: .baseline) == one)
        if bits == 8 && half { try PalettizerTests.check(one, sample.tensor) }
      }
    }
  }

  /// Groups of so many singles that they are not sorted.
  @Test func manySingles() throws {
    var random = Random(47)
    let count = BinnedSingles.leastElements + 1003
    var values = (0..<count).map { _ in
      let part = Float(random.uniform()) - 0.5
      return part * part * part
    }
    let tensor = try MemoryTensor(elementType: .float32, shape: [count], values: values)
    for settings in [
      PaletteSettings(bits: 2), PaletteSettings(bits: 2, tableQuantization: .symmetric),
      PaletteSettings(bits: 3, mode: .uniform),
    ] {
      let one = try #require(try PalettizerTests.encode(tensor, .tensor, settings))
      #expect(
        try PalettizerTests.encode(tensor, .tensor, settings, threads: 3, level: .baseline) == one)
      let type = try #require(ElementType.unsigned(bits: one.bits))
      let stored = try MemoryTensor(elementType: type, shape: [count], bytes: one.indices)
      let codes = try CodeReader.codes(stored, 0..<count)
      let table = try PalettizerTests.values(
        MemoryTensor(elementType: .float32, shape: [1 << one.bits], bytes: one.tables))
      var error = 0.0
      for index in 0..<count {
        let distance = Double(values[index]) - table[Int(codes[index])]
        error += distance * distance
      }
      #expect(abs(one.sums.error - error) <= 1e-9 * error)
      #expect(one.sums.count == count)
    }
    values[count / 2] = .nan
    let broken = try MemoryTensor(elementType: .float32, shape: [count], values: values)
    #expect(try PalettizerTests.encode(broken, .tensor, PaletteSettings()) == nil)
    let few = try MemoryTensor(
      elementType: .float32, shape: [count], values: (0..<count).map { Float($0 % 7) })
    let lossless = try PalettizerTests.encode(few, .tensor, PaletteSettings(bits: 3))
    #expect(lossless?.sums.error == 0)
  }

  @Test(arguments: [true, false]) func refusals(half: Bool) throws {
    for (values, reason) in [
      ([1, .infinity, 2, -.infinity], "holds 2 infinite values"),
      ([1, .nan, 2, 3], "holds 1 NaN value"),
    ] as [([Double], String)] {
      let sample = try Sample(values, shape: [2, 2], half: half)
      for settings in [
        PaletteSettings(), PaletteSettings(mode: .uniform), PaletteSettings(mode: .unique),
        PaletteSettings(clusterDimension: 2),
      ] {
        for grouping in [PaletteGrouping.tensor, .channels(axis: 1, size: 2)] {
          if case .refused(let text) = try Palettizer.prepare(
            source: sample.tensor, grouping: grouping, settings: settings,
            parallel: Parallel(threads: 2))
          {
            #expect(text == reason)
          } else {
            Issue.record("not refused")
          }
        }
      }
    }
    let many = try Sample((0..<300).map { Double($0) }, shape: [300], half: half)
    if case .refused(let text) = try Palettizer.prepare(
      source: many.tensor, grouping: .tensor, settings: PaletteSettings(mode: .unique),
      parallel: Parallel(threads: 1))
    {
      #expect(text == "has 300 distinct values, more than 256")
    } else {
      Issue.record("not refused")
    }
    #expect(
      try PalettizerTests.encode(many.tensor, .channels(axis: 0, size: 7), PaletteSettings()) == nil
    )
    #expect(throws: TensorError.self) {
      try PalettizerTests.encode(many.tensor, .tensor, PaletteSettings(bits: 5))
    }
    let empty = try MemoryTensor(elementType: .float16, shape: [0, 3], bytes: [])
    for settings in [
      PaletteSettings(), PaletteSettings(clusterDimension: 3, vectorAxis: 1),
      PaletteSettings(mode: .unique),
    ] {
      #expect(try PalettizerTests.encode(empty, .tensor, settings)?.indices == [])
    }
  }
}
