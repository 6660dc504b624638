import ModelTensors
import Synchronization
import Testing

@testable import ModelCompression

/// Masks, kept values and error sums of whole weights against plain code.
@Suite struct PrunerTests {
  private static let turns = Atomic<Int>(0)

  struct Encoded: Equatable {
    var mask: [UInt8]
    var values: [UInt8]
    var dense: [UInt8]
    var zeros: Int
    var sums: ErrorSums
  }

  static func encode(
    _ tensor: any TensorSource, _ rule: PruneRule, threads: Int = 1, level: KernelLevel = .current
  ) throws -> Encoded? {
    let parallel = Parallel(threads: threads)
    let preparation = try Pruner.prepare(
      source: tensor, rule: rule, parallel: parallel, level: level)
    guard case .ready(let pruner) = preparation else { return nil }
    let mask = Collector(pruner.maskBytes)
    let values = Collector(pruner.valueBytes)
    let dense = Collector(pruner.denseBytes)
    let sums = try pruner.encode(
      parallel: parallel, mask: { mask.write($0, $1) }, values: { values.write($0, $1) })
    #expect(try pruner.encodeDense(parallel: parallel) { dense.write($0, $1) } == sums)
    #expect(mask.written.withLock { $0 } == pruner.maskBytes)
    #expect(values.written.withLock { $0 } == pruner.valueBytes)
    #expect(dense.written.withLock { $0 } == pruner.denseBytes)
    #expect(try pruner.mask(parallel: parallel).bytes() == mask.result)
    return Encoded(
      mask: mask.result, values: values.result, dense: dense.result, zeros: pruner.zeroCount,
      sums: sums)
  }

  static func check(_ sample: Sample, _ rule: PruneRule, _ kept: [Bool]) throws {
    let encoded = try #require(try encode(sample.tensor, rule))
    // The levels and numbers of threads take turns.
    let turn = turns.wrappingAdd(1, ordering: .relaxed).oldValue
    let levels = KernelLevel.available
    #expect(
      try encode(
        sample.tensor, rule, threads: [1, 2, 7][turn / 3 % 3], level: levels[turn % levels.count])
        == encoded)
    let width = sample.tensor.elementType.bitWidth / 8
    let bytes = try sample.tensor.bytes()
    var mask = [UInt8](repeating: 0, count: (kept.count + 7) / 8)
    var values: [UInt8] = []
    var dense: [UInt8] = []
    var sums = ErrorSums()
    for (index, keep) in kept.enumerated() {
      let element = bytes[index * width..<(index + 1) * width]
      if keep {
        mask[index / 8] |= 1 << UInt8(index % 8)
        values += element
        dense += element
      } else {
        dense += [UInt8](repeating: 0, count: width)
      }
      sums.add(sample.values[index], decoded: keep ? sample.values[index] : 0)
    }
    #expect(encoded.mask == mask)
    #expect(encoded.values == values)
    #expect(encoded.dense == dense)
    #expect(encoded.zeros == kept.count { !$0 })
    #expect(encoded.sums.count == sums.count && encoded.sums.peak == sums.peak)
    #expect(encoded.sums.maxAbsError == sums.maxAbsError)
    #expect(AffineQuantizerTests.close(encoded.sums.signal, sums.signal))
    #expect(AffineQuantizerTests.close(encoded.sums.error, sums.error))
  }

  /// Which of some scores stay when `zeros` go, later ones first; scores of zero always go.
  static func kept(_ scores: [Double], zeros: Int) -> [Bool] {
    let order = scores.indices.sorted { first, second in
      scores[first] != scores[second] ? scores[first] < scores[second] : first > second
    }
    var kept = scores.map { $0 != 0 }
    for index in order.prefix(zeros) { kept[index] = false }
    return kept
  }

  static func samples(_ shape: [Int], half: Bool, seed: UInt64) throws -> [Sample] {
    var random = Random(seed)
    let count = shape.reduce(1, *)
    return try [
      (0..<count).map { _ in random.normal() },
      (0..<count).map { _ in Double(random.below(7) - 3) },
      (0..<count).map { _ in random.below(3) == 0 ? random.normal() * 1e-7 : -0.0 },
      (0..<count).map { _ in [65504, -65504, 0x1p-24, 0, 5][random.below(5)] },
      [Double](repeating: 0, count: count), [Double](repeating: -2, count: count),
    ].map { try Sample($0, shape: shape, half: half) }
  }

  @Test(arguments: [true, false]) func sparsity(half: Bool) throws {
    for shape in [[1], [9], [7, 13], [3, 4, 5, 2]] {
      for sample in try PrunerTests.samples(shape, half: half, seed: 51) {
        for share in [0, 0.1, 0.25, 0.5, 0.75, 0.99, 1] {
          let zeros = Int((share * Double(sample.values.count) + 1e-9).rounded(.down))
          try PrunerTests.check(
            sample, .sparsity(share), PrunerTests.kept(sample.values.map { abs($0) }, zeros: zeros))
        }
        for limit in [-1, 0, 1e-7, 0.5, 1, 2, 65504, 1e39] {
          try PrunerTests.check(
            sample, .threshold(limit), sample.values.map { abs($0) > limit && $0 != 0 })
        }
      }
    }
    #expect(PruneRule.count(0.29, of: 100) == 29)
    #expect(PruneRule.count(0.295, of: 100) == 29)
  }

  @Test func manyPieces() throws {
    var random = Random(52)
    let count = Pruner.pieceElements * 2 + 77
    for half in [true, false] {
      let sample = try Sample(
        (0..<count).map { _ in Double(random.below(9) - 4) }, shape: [count], half: half)
      let one = try #require(try PrunerTests.encode(sample.tensor, .sparsity(0.6)))
      #expect(one.zeros == Int(0.6 * Double(count)))
      #expect(try PrunerTests.encode(sample.tensor, .sparsity(0.6), threads: 7) == one)
      // All that remain of the least magnitude kept come first.
      let tensor = try MemoryTensor(elementType: .uint1, shape: [count], bytes: one.mask)
      let bits = try CodeReader.codes(tensor, 0..<count)
      let least = sample.values.indices.filter { bits[$0] != 0 }.map { abs(sample.values[$0]) }
        .min()
      let ties = sample.values.indices.filter { abs(sample.values[$0]) == least }
      let stay = ties.prefix { bits[$0] != 0 }.count
      #expect(ties.dropFirst(stay).allSatisfy { bits[$0] == 0 })
    }
  }

  /// The elements of every stretch of `size` along an axis, block after block.
  static func blocks(_ shape: [Int], axis: Int, size: Int) -> [[Int]] {
    let inner = shape[(axis + 1)...].reduce(1, *)
    let length = shape[axis]
    var blocks: [[Int]] = []
    for outer in 0..<shape[..<axis].reduce(1, *) {
      for start in stride(from: 0, to: length, by: size) {
        for position in 0..<inner {
          blocks.append(
            (start..<min(start + size, length)).map { (outer * length + $0) * inner + position })
        }
      }
    }
    return blocks
  }

  @Test(arguments: [true, false]) func patterns(half: Bool) throws {
    for (shape, axis) in [
      ([9], 0), ([7, 13], 0), ([7, 13], 1), ([3, 40, 5, 2], 1), ([2, 3, 4, 1, 5], 2),
    ] {
      for sample in try PrunerTests.samples(shape, half: half, seed: 53) {
        for (zeros, count) in [(2, 4), (1, 3), (0, 2), (3, 3), (11, 19)] {
          var kept = [Bool](repeating: false, count: sample.values.count)
          for block in PrunerTests.blocks(shape, axis: axis, size: count) {
            let stay = PrunerTests.kept(
              block.map { abs(sample.values[$0]) }, zeros: max(0, zeros - (count - block.count)))
            for (index, keep) in zip(block, stay) { kept[index] = keep }
          }
          try PrunerTests.check(sample, .nOfM(zeros: zeros, count: count, axis: axis), kept)
        }
        for size in [1, 2, 3] {
          let blocks = PrunerTests.blocks(shape, axis: axis, size: size)
          let norms = blocks.map { $0.reduce(0.0) { $0 + sample.values[$1] * sample.values[$1] } }
          for share in [0, 0.3, 0.5, 1] {
            let stay = PrunerTests.kept(
              norms, zeros: PruneRule.count(share, of: blocks.count))
            var kept = [Bool](repeating: false, count: sample.values.count)
            for (block, keep) in zip(blocks, stay) where keep {
              for index in block { kept[index] = sample.values[index] != 0 }
            }
            try PrunerTests.check(sample, .blocks(share, size: size, axis: axis), kept)
          }
        }
      }
    }
  }

  @Test(arguments: [true, false]) func refusals(half: Bool) throws {
    let sample = try Sample([1, .nan, 2, .infinity], shape: [2, 2], half: half)
    for rule in [
      PruneRule.sparsity(0.5), .threshold(1), .nOfM(zeros: 1, count: 2, axis: 1),
      .blocks(0.5, size: 2, axis: 0),
    ] {
      guard
        case .refused("holds 1 NaN value and 1 infinite value") = try Pruner.prepare(
          source: sample.tensor, rule: rule, parallel: Parallel(threads: 1))
      else {
        Issue.record("not refused")
        continue
      }
    }
    #expect(throws: TensorError.self) { try PrunerTests.encode(sample.tensor, .sparsity(1.5)) }
    let finite = try Sample([1, 2, 3, 4], shape: [2, 2], half: half)
    #expect(throws: TensorError.self) {
      try PrunerTests.encode(finite.tensor, .nOfM(zeros: 1, count: 2, axis: 2))
    }
    let empty = try MemoryTensor(elementType: .float32, shape: [0, 3], bytes: [])
    for rule in [PruneRule.sparsity(0.5), .blocks(0.5, size: 2, axis: 1)] {
      #expect(try PrunerTests.encode(empty, rule)?.values == [])
    }
  }
}
