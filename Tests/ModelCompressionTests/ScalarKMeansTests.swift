import ModelTensors
import Testing

@testable import ModelCompression

/// Scalar k-means against plain optimization.
@Suite struct ScalarKMeansTests {
  /// The least error of at most k clusters, row by row over all last boundaries.
  static func plain(_ values: [Double], _ counts: [UInt32], _ k: Int) -> Double {
    let n = values.count
    let origin = values.isEmpty ? 0 : values[n / 2]
    var s0 = [0.0]
    var s1 = [0.0]
    var s2 = [0.0]
    for (value, count) in zip(values, counts) {
      let moved = value - origin
      s0.append((s0.last ?? 0) + Double(count))
      s1.append((s1.last ?? 0) + Double(count) * moved)
      s2.append((s2.last ?? 0) + Double(count) * moved * moved)
    }
    func cost(_ i: Int, _ j: Int) -> Double {
      let d1 = s1[j] - s1[i]
      return max(s2[j] - s2[i] - d1 * d1 / (s0[j] - s0[i]), 0)
    }
    var best = [0.0] + (0..<n).map { cost(0, $0 + 1) }
    for _ in 1..<max(k, 1) {
      var next = best
      for j in 1..<(n + 1) {
        for i in 1..<max(j, 1) { next[j] = min(next[j], best[i] + cost(i, j)) }
      }
      best = next
    }
    return best[n]
  }

  /// The least error over all partitions into intervals.
  static func exhaustive(_ values: [Double], _ counts: [UInt32], _ k: Int) -> Double {
    let n = values.count
    var best = Double.infinity
    for cuts in 0..<(1 << (n - 1)) where cuts.nonzeroBitCount < k {
      var error = 0.0
      var start = 0
      for end in 1...n where end == n || cuts >> (end - 1) & 1 == 1 {
        let weight = (start..<end).reduce(0.0) { $0 + Double(counts[$1]) }
        let mean = (start..<end).reduce(0.0) { $0 + Double(counts[$1]) * values[$1] } / weight
        error += (start..<end).reduce(0.0) {
          $0 + Double(counts[$1]) * (values[$1] - mean) * (values[$1] - mean)
        }
        start = end
      }
      best = min(best, error)
    }
    return best
  }

  static func check(_ values: [Float], _ counts: [UInt32], _ k: Int, _ expected: Double) {
    let solution = ScalarKMeans.solve(values: values, counts: counts, clusters: k)
    #expect(solution.bounds.first == 0 && solution.bounds.last == values.count)
    #expect(solution.centroids.count == min(k, values.count))
    #expect(zip(solution.bounds, solution.bounds.dropFirst()).allSatisfy { $0 < $1 })
    #expect(zip(solution.centroids, solution.centroids.dropFirst()).allSatisfy { $0 < $1 })
    let scale = values.reduce(0.0) { max($0, Double(abs($1))) }
    let slack = 1e-12 * scale * scale * counts.reduce(0.0) { $0 + Double($1) }
    #expect(
      solution.error <= expected * (1 + 1e-9) + slack * 1e-3
        && solution.error >= expected * (1 - 1e-9) - slack,
      "n \(values.count) k \(k): \(solution.error) instead of \(expected)")
  }

  static func distinct(_ random: inout Random, _ n: Int, _ kind: Int) -> [Float] {
    var set = Set<Float>()
    while set.count < n {
      switch kind {
      case 0: set.insert(Float(random.normal()))
      case 1: set.insert(Float(random.below(n + n / 3 + 1)))
      case 2: set.insert(Float(set.count))
      case 3: set.insert(Float(random.below(4) * 1000 + random.below(n)))
      default: set.insert(Float(random.normal() * random.normal() * random.normal()))
      }
    }
    return set.sorted()
  }

  @Test func allPartitions() {
    var random = Random(31)
    for n in 1...9 {
      for kind in 0..<5 {
        for equal in [true, false] {
          let values = ScalarKMeansTests.distinct(&random, n, kind)
          let counts = values.map { _ in equal ? 1 : UInt32(1 + random.below(9)) }
          for k in 1...(n + 1) {
            let expected = ScalarKMeansTests.exhaustive(values.map { Double($0) }, counts, k)
            ScalarKMeansTests.check(values, counts, k, expected)
          }
        }
      }
    }
  }

  @Test func rowByRow() {
    var random = Random(32)
    for n in [13, 40, 77] {
      for kind in 0..<5 {
        let values = ScalarKMeansTests.distinct(&random, n, kind)
        let counts = values.map { _ in kind == 2 ? 1 : UInt32(1 + random.below(50)) }
        for k in [2, 3, 4, 8, 16, 31] where k < n {
          let expected = ScalarKMeansTests.plain(values.map { Double($0) }, counts, k)
          ScalarKMeansTests.check(values, counts, k, expected)
        }
      }
    }
    // Enough values for the coarse search to come first.
    let values = ScalarKMeansTests.distinct(&random, 700, 0)
    let counts = values.map { _ in UInt32(1 + random.below(5)) }
    ScalarKMeansTests.check(
      values, counts, 2, ScalarKMeansTests.plain(values.map { Double($0) }, counts, 2))
  }

  @Test func far() {
    // A spread that is small against the magnitude, and extreme magnitudes.
    var random = Random(33)
    let near = Set((0..<60).map { _ in 1 + Float(random.below(1000)) * 0x1p-23 }).sorted()
    let ones = near.map { _ in UInt32(1) }
    let expected = ScalarKMeansTests.plain(near.map { Double($0) }, ones, 5)
    let solution = ScalarKMeans.solve(values: near, counts: ones, clusters: 5)
    #expect(abs(solution.error - expected) <= 1e-9 * expected)
    for scale: Float in [0x1p-140, 1e-30, 1e30, 1e38] {
      let values = [-3, -2.5, -1, 0, 0.5, 1, 2.75, 3].map { $0 * scale }
      let counts = values.map { _ in UInt32(2) }
      for k in 1...8 {
        let expected = ScalarKMeansTests.exhaustive(values.map { Double($0) }, counts, k)
        let solution = ScalarKMeans.solve(values: values, counts: counts, clusters: k)
        #expect(abs(solution.error - expected) <= 1e-9 * expected + 1e-100)
      }
    }
  }

  /// Bins and windows against the search over all values.
  @Test func manyValues() throws {
    var random = Random(34)
    let count = 150_000
    for kind in 0..<4 {
      let values = (0..<count).map { index in
        let part = Float(random.uniform()) - 0.5
        switch kind {
        case 0: return part
        case 1: return part * part * part
        // Far from the values that a sample holds.
        case 3: return index % 30_000 == 7000 ? part * 40 : index % 7 == 0 ? part * 1e-20 : part
        default: return Float(random.below(3)) * 10 + (part * 4096).rounded() / 65536
        }
      }
      let tensor = try MemoryTensor(elementType: .float32, shape: [count], values: values)
      let layout = try #require(GroupLayout(shape: [count], scaleShape: [1]))
      let space = ValueSpace()
      let keys = space.reserveKeys(count)
      for (index, value) in values.enumerated() {
        keys[index] = value.bitPattern ^ (value < 0 ? UInt32.max : 0x8000_0000)
      }
      space.keyCount = count
      space.takeKeys()
      let sorted = (0..<space.count).map { space.values[$0] }
      let counts = (0..<space.count).map { space.counts[$0] }
      for clusters in [2, 16] {
        let expected = ScalarKMeans.solve(values: sorted, counts: counts, clusters: clusters)
        var results: [[Double]] = []
        for level in [KernelLevel.baseline, .current] {
          let binned = BinnedSingles(
            reader: GroupReader(source: tensor, layout: layout, mask: nil), level: level,
            parallel: Parallel(threads: level == .baseline ? 1 : 3))
          switch try binned.cluster(0, clusters: clusters, space: ValueSpace(level: level)) {
          case .centroids(let centroids): results.append(centroids)
          case .unsuitable: #expect(kind == 2)
          case .special: Issue.record("finite values")
          }
        }
        #expect(results.count == (kind == 2 ? 0 : 2) || results.count == 2)
        if results.count == 2 { #expect(results[0] == results[1]) }
        for result in results {
          for (centroid, other) in zip(result, expected.centroids) {
            #expect(abs(centroid - other) <= 1e-9)
          }
        }
      }
    }
  }
}
