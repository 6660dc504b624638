import CKernels
import ModelTensors
import Synchronization

/// Optimal k-means of many single-precision values without sorting them.
///
/// Values are counted in bins whose count times width is even; only in the bins where a boundary of
/// the optimum can lie are they told apart. Three passes over the values, memory for the bins.
struct BinnedSingles: Sendable {
  let reader: GroupReader
  let level: KernelLevel
  let parallel: Parallel

  /// Groups of fewer values are sorted.
  static let leastElements = 1 << 19
  /// The most values that are told apart.
  private static let openLimit = 1 << 24

  /// The values of an upper half of the keys: `start` + lower half · `step`.
  private struct Bucket {
    let start: Double
    let step: Double

    init(_ upper: Int) {
      start = BinnedSingles.value(UInt32(upper) << 16)
      step = (BinnedSingles.value(UInt32(upper) << 16 | 0xFFFF) - start) / 65535
    }
  }

  private static func value(_ key: UInt32) -> Double {
    Double(Float(bitPattern: key & 0x8000_0000 != 0 ? key ^ 0x8000_0000 : ~key))
  }

  enum Outcome {
    case special
    /// Too few distinct values, or too many that would have to be told apart.
    case unsuitable
    case centroids([Double])
  }

  /// The least and greatest value of a group; nil when some value is not finite.
  func range(_ group: Int) throws -> (low: Float, high: Float)? {
    let found = try upperCounts(group)
    if found.special { return nil }
    return (
      Float(BinnedSingles.value(found.least)) + 0, Float(BinnedSingles.value(found.most)) + 0
    )
  }

  /// The means of the clusters of an optimal partition.
  func cluster(_ group: Int, clusters: Int, space: ValueSpace) throws -> Outcome {
    let found = try upperCounts(group)
    if found.special { return .special }
    let plan = BinPlan(found.counts, clusters: clusters)
    let bins = try fill(group, plan)
    // Edges and sums of the bins in use.
    var used: [Int] = []
    for bin in 0..<plan.count where bins.counts[bin] > 0 { used.append(bin) }
    if used.count < 16 * clusters || used.count >= reader.layout.rows { return .unsuitable }
    let shift = BinnedSingles.value(UInt32(plan.upper[used[used.count / 2]]) << 16)
    var s0 = [0.0]
    var s1 = [0.0]
    var squares = 0.0
    var limit = 0.0
    for bin in used {
      let bucket = Bucket(Int(plan.upper[bin]))
      let count = Double(bins.counts[bin])
      let sum = count * (bucket.start - shift) + bucket.step * Double(bins.sums[bin])
      s0.append((s0.last ?? 0) + count)
      s1.append((s1.last ?? 0) + sum)
      squares += sum / count * sum
      let keys = 1 << Int(plan.shift[Int(plan.upper[bin])])
      limit = max(limit, count * bucket.step * Double(keys - 1))
    }
    let span = BinnedSingles.value(found.most) - BinnedSingles.value(found.least)
    let total = s0[used.count]
    let width = Double(clusters) + 0.95
    var lambda = max(
      5.44 * max(squares - s1[used.count] * s1[used.count] / total, 0) / (width * width * width),
      0x1p-1000)
    var flags = [UInt8](repeating: 0, count: used.count)
    guard
      mlt_kmeans_open(
        s0, s1, used.count, clusters, limit * span / 2, level.rawValue, &lambda, &flags) != 0
    else { return .unsuitable }
    var open = [UInt8](repeating: 0, count: plan.count)
    var inside = 0
    for (index, bin) in used.enumerated() where flags[index] != 0 {
      open[bin] = 1
      inside += Int(bins.counts[bin])
    }
    if inside > BinnedSingles.openLimit { return .unsuitable }
    try takeOpen(group, plan, open, inside, space)
    // Whole bins and single values in order.
    space.reservePoints(used.count + space.count)
    var next = 0
    for (index, bin) in used.enumerated() {
      if flags[index] == 0 {
        space.addPoint(s0[index + 1] - s0[index], s1[index + 1] - s1[index])
        continue
      }
      var rest = Int(bins.counts[bin])
      while rest > 0 && next < space.distinct {
        let count = Int(space.counts[next])
        space.addPoint(Double(count), Double(count) * (Double(space.values[next]) - shift))
        rest -= count
        next += 1
      }
    }
    if space.points <= clusters { return .unsuitable }
    return .centroids(space.clusterPoints(clusters, guess: lambda).map { $0 + shift })
  }

  /// Calls `body` with the pieces of a group, from several threads, each with memory of its own.
  private func forEachPiece<State: Sendable>(
    _ group: Int, _ make: @escaping @Sendable () -> State,
    _ body: @Sendable (State, UnsafePointer<UInt32>, Int) throws -> Void
  ) throws -> [State] {
    let rows = reader.layout.rows
    let pieces = ElementPieces(rows, elements: GroupReader.pieceElements)
    let next = Atomic<Int>(0)
    let states = Mutex<[State]>([])
    try parallel.forEach(max(1, min(parallel.threads, pieces.count))) { _ in
      let state = make()
      states.withLock { $0.append(state) }
      while true {
        let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
        if index >= pieces.count { break }
        let piece = pieces[index]
        let range = group * rows + piece.lowerBound..<group * rows + piece.upperBound
        try reader.feedRange(range) { base, count in
          try body(state, base.assumingMemoryBound(to: UInt32.self), count)
        }
        if reader.source.byteCount > AffineQuantizer.releaseBytes { reader.source.release(range) }
      }
    }
    return states.withLock { $0 }
  }

  private final class Counts: @unchecked Sendable {
    var counts: [UInt32]
    var sums: [UInt64]
    var least = UInt32.max
    var most: UInt32 = 0
    var keys: [UInt32] = []

    init(_ count: Int, sums: Int) {
      counts = [UInt32](repeating: 0, count: count)
      self.sums = [UInt64](repeating: 0, count: sums)
    }
  }

  private func upperCounts(
    _ group: Int
  ) throws -> (counts: [UInt32], least: UInt32, most: UInt32, special: Bool) {
    let states = try forEachPiece(group, { Counts(65536, sums: 0) }) { state, data, count in
      mlt_histogram_keys32(data, count, &state.counts, &state.least, &state.most)
    }
    var counts = [UInt32](repeating: 0, count: 65536)
    var least = UInt32.max
    var most: UInt32 = 0
    for state in states {
      for bin in 0..<65536 { counts[bin] += state.counts[bin] }
      least = min(least, state.least)
      most = max(most, state.most)
    }
    // Keys of −∞ and +∞; NaNs lie beyond.
    return (counts, least, most, least <= 0x007F_FFFF || most >= 0xFF80_0000)
  }

  private func fill(_ group: Int, _ plan: BinPlan) throws -> Counts {
    let states = try forEachPiece(group, { Counts(plan.count, sums: plan.count) }) {
      state, data, count in
      mlt_fill_bins32(data, count, plan.first, plan.shift, &state.counts, &state.sums)
    }
    let total = states.first ?? Counts(plan.count, sums: plan.count)
    for state in states.dropFirst() {
      for bin in 0..<plan.count {
        total.counts[bin] += state.counts[bin]
        total.sums[bin] += state.sums[bin]
      }
    }
    return total
  }

  /// Makes distinct values of those in open bins.
  private func takeOpen(
    _ group: Int, _ plan: BinPlan, _ open: [UInt8], _ inside: Int, _ space: ValueSpace
  ) throws {
    let states = try forEachPiece(group, { Counts(0, sums: 0) }) { state, data, count in
      withScratch(UInt32.self, count + 1) { keys in
        guard let base = keys.baseAddress else { return }
        let found = mlt_open_keys32(data, count, plan.first, plan.shift, open, base)
        state.keys.append(contentsOf: UnsafeBufferPointer(start: base, count: found))
      }
    }
    space.keyCount = 0
    for state in states {
      let room = space.reserveKeys(state.keys.count)
      for (index, key) in state.keys.enumerated() { room[index] = key }
      space.keyCount += state.keys.count
    }
    space.takeKeys()
  }

  /// How the keys of each upper half are divided.
  private struct BinPlan: Sendable {
    /// For each upper half its first bin and the keys of a bin as a power of two.
    var first = [UInt32](repeating: 0, count: 65536)
    var shift = [UInt8](repeating: 16, count: 65536)
    /// The upper half of each bin.
    var upper: [UInt16] = []

    var count: Int { upper.count }

    init(_ counts: [UInt32], clusters: Int) {
      let wanted = Double(max(1 << 15, 1024 * clusters))
      var roots = 0.0
      for (index, count) in counts.enumerated() where count > 0 {
        roots += (Double(count) * Bucket(index).step * 65536).squareRoot()
      }
      let limit = roots / wanted * (roots / wanted)
      for (index, count) in counts.enumerated() {
        first[index] = UInt32(upper.count)
        if count == 0 { continue }
        let area = Double(count) * Bucket(index).step * 65536
        var bits = 0
        while bits < 16 && area > limit * Double(1 << (2 * bits)) { bits += 1 }
        shift[index] = UInt8(16 - bits)
        upper.append(contentsOf: repeatElement(UInt16(index), count: 1 << bits))
      }
      if upper.isEmpty { upper = [0] }
    }
  }
}
