import CKernels
import ModelTensors
import Synchronization

/// Optimal k-means of many single-precision values without sorting them.
///
/// Values are counted in bins whose count times width is even; only in the bins where a boundary of
/// the optimum can lie are they told apart. Bins are planned by a sample, which two passes over all
/// values follow; memory for the bins.
struct BinnedSingles: Sendable {
  let reader: GroupReader
  let level: KernelLevel
  let parallel: Parallel

  /// Groups of fewer values are sorted.
  static let leastElements = 1 << 19
  /// The most values that are told apart.
  private static let openLimit = 1 << 24
  /// Of so many values in a row one stretch of the second size is sampled.
  private static let sampleStep = 1 << 14
  private static let sampleSize = 1 << 10

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

  /// Whether an upper half of a key is that of an infinity or NaN.
  private static func isSpecial(_ upper: UInt16) -> Bool { upper < 0x80 || upper >= 0xFF80 }

  enum Outcome {
    case special
    /// Too few distinct values, or too many that would have to be told apart.
    case unsuitable
    case centroids([Double])
  }

  /// The least and greatest value of a group; nil when some value is not finite.
  func range(_ group: Int) throws -> (low: Float, high: Float)? {
    let states = try forEachPiece(group, { Counts(65536, sums: 0) }) { state, data, count in
      mlt_histogram_keys32(data, count, &state.counts, &state.least, &state.most)
    }
    let all = Counts(0, sums: 0)
    for state in states { all.merge(state) }
    if BinnedSingles.isSpecial(UInt16(all.least >> 16))
      || BinnedSingles.isSpecial(UInt16(all.most >> 16))
    {
      return nil
    }
    return (Float(BinnedSingles.value(all.least)) + 0, Float(BinnedSingles.value(all.most)) + 0)
  }

  /// The means of the clusters of an optimal partition.
  func cluster(_ group: Int, clusters: Int, space: ValueSpace) throws -> Outcome {
    let plan = BinPlan(try sample(group), clusters: clusters)
    let bins = try fill(group, plan)
    // Edges and sums of the bins in use.
    var used: [Int] = []
    for bin in 0..<plan.count where bins.counts[bin] > 0 { used.append(bin) }
    guard let first = used.first, let last = used.last else { return .unsuitable }
    if BinnedSingles.isSpecial(plan.upper[first]) || BinnedSingles.isSpecial(plan.upper[last]) {
      return .special
    }
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
      let keys = 1 << Int(plan.parts[Int(plan.upper[bin])] & 31)
      limit = max(limit, count * bucket.step * Double(keys - 1))
    }
    let top = Bucket(Int(plan.upper[last]))
    let span =
      top.start + top.step * 65535 - BinnedSingles.value(UInt32(plan.upper[first]) << 16)
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
    /// Counts and sums of the values since the last flush.
    var bins: [UInt64]
    var pending = 0
    var least = UInt32.max
    var most: UInt32 = 0
    var keys: [UInt32] = []

    init(_ count: Int, sums: Int) {
      counts = [UInt32](repeating: 0, count: count)
      self.sums = [UInt64](repeating: 0, count: sums)
      bins = [UInt64](repeating: 0, count: sums)
    }

    /// Makes room in the bins for `more` values, of which there are less than 2²⁴.
    func reserve(_ more: Int) {
      pending += more
      if pending < 1 << 24 { return }
      flush()
      pending = more
    }

    func flush() {
      mlt_flush_bins32(&bins, bins.count, &counts, &sums)
      pending = 0
    }

    /// Adds as many counts and sums as there are here.
    func merge(_ other: Counts) {
      mlt_add_bins32(other.counts, counts.count, &counts)
      mlt_add_bins64(other.sums, sums.count, &sums)
      least = min(least, other.least)
      most = max(most, other.most)
    }
  }

  /// How many of some values have each upper half of the keys.
  private func sample(_ group: Int) throws -> [UInt32] {
    let rows = reader.layout.rows
    let sample = Counts(65536, sums: 0)
    for start in stride(from: 0, to: rows, by: BinnedSingles.sampleStep) {
      let end = min(start + BinnedSingles.sampleSize, rows)
      try reader.feedRange(group * rows + start..<group * rows + end) { base, count in
        mlt_histogram_keys32(
          base.assumingMemoryBound(to: UInt32.self), count, &sample.counts, &sample.least,
          &sample.most)
      }
    }
    return sample.counts
  }

  private func fill(_ group: Int, _ plan: BinPlan) throws -> Counts {
    let states = try forEachPiece(group, { Counts(plan.count, sums: plan.count) }) {
      state, data, count in
      state.reserve(count)
      mlt_fill_bins32(data, count, plan.parts, &state.bins)
    }
    for state in states { state.flush() }
    let total = states.first ?? Counts(plan.count, sums: plan.count)
    for state in states.dropFirst() { total.merge(state) }
    return total
  }

  /// Makes distinct values of those in open bins.
  private func takeOpen(
    _ group: Int, _ plan: BinPlan, _ open: [UInt8], _ inside: Int, _ space: ValueSpace
  ) throws {
    let states = try forEachPiece(group, { Counts(0, sums: 0) }) { state, data, count in
      withScratch(UInt32.self, count + 1) { keys in
        guard let base = keys.baseAddress else { return }
        let found = mlt_open_keys32(data, count, plan.parts, open, base)
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
    /// For each upper half its first bin, and in 5 bits the keys of a bin as a power of two.
    var parts = [UInt32](repeating: 0, count: 65536)
    /// The upper half of each bin.
    var upper: [UInt16] = []

    var count: Int { upper.count }

    /// Every upper half has a bin at least; those beside sampled ones count as if hit once.
    init(_ sample: [UInt32], clusters: Int) {
      let wanted = Double(max(1 << 15, 2048 * clusters))
      let ratio = Double(BinnedSingles.sampleStep / BinnedSingles.sampleSize)
      let least = (sample.firstIndex { $0 > 0 } ?? 65536) - BinPlan.margin
      let most = (sample.lastIndex { $0 > 0 } ?? -1) + BinPlan.margin
      let areas = sample.enumerated().map { index, count in
        guard index >= least, index <= most else { return 0.0 }
        let area = max(Double(count), 1) * ratio * Bucket(index).step * 65536
        return area.isFinite ? area : 0
      }
      let roots = areas.reduce(0) { $0 + $1.squareRoot() }
      let limit = roots / wanted * (roots / wanted)
      upper.reserveCapacity(65536 + Int(2 * wanted))
      for (index, area) in areas.enumerated() {
        let first = UInt32(upper.count)
        var bits = 0
        while bits < 16 && area > limit * Double(1 << (2 * bits)) { bits += 1 }
        parts[index] = first << 5 | UInt32(16 - bits)
        upper.append(contentsOf: repeatElement(UInt16(index), count: 1 << bits))
      }
    }

    /// Upper halves beyond the sampled ones: half a power of two.
    private static let margin = 64
  }
}
