import CKernels

/// Exactly optimal k-means of weighted numbers.
///
/// The least sum of weighted squared distances over all partitions into at most k clusters, which
/// are intervals of the sorted values. The Lagrangian of the number of clusters is a recursion
/// with the Monge property, solved in one pass (Wilber 1988); a path of exactly k segments is
/// found by a search over the multiplier, or spliced from two where the optimum is linear in k
/// (Aggarwal, Schieber, Tokuyama 1994). Sums are in double precision.
public enum ScalarKMeans {
  /// An optimal partition.
  public struct Solution: Sendable, Hashable {
    /// Cluster i holds the values `bounds[i]..<bounds[i + 1]`; none is empty.
    public let bounds: [Int]
    /// The means of the clusters in rising order.
    public let centroids: [Double]
    /// The sum of weighted squared distances to the means.
    public let error: Double
  }

  /// Partitions distinct values.
  ///
  /// - Parameters:
  ///   - values: Finite, in strictly rising order.
  ///   - counts: The weight of each value, at least 1.
  ///   - clusters: At least 1; with as many clusters as values each value is one.
  public static func solve(values: [Float], counts: [UInt32], clusters: Int) -> Solution {
    precondition(values.count == counts.count && clusters > 0)
    let space = ValueSpace()
    space.set(values: values, counts: counts)
    let used = space.cluster(clusters, shifted: true)
    let bounds = (0...used).map { Int(space.bounds[$0]) }
    var error = 0.0
    for cluster in 0..<used {
      for index in bounds[cluster]..<bounds[cluster + 1] {
        let distance = Double(values[index]) - space.centroids[cluster]
        error += Double(counts[index]) * distance * distance
      }
    }
    return Solution(
      bounds: bounds, centroids: Array(space.centroids.prefix(used)), error: error)
  }
}

/// The distinct values of a group and the memory to cluster them; used by one thread at a time.
final class ValueSpace: @unchecked Sendable {
  /// Distinct values in rising order and how often each occurs.
  private(set) var values: UnsafeMutablePointer<Float>
  private(set) var counts: UnsafeMutablePointer<UInt32>
  /// How many there are.
  var count = 0
  /// Counts by bit pattern, all zero between uses.
  let bins: UnsafeMutablePointer<UInt32>
  /// Segments of the last clustering.
  let bounds: UnsafeMutablePointer<UInt32>
  /// Means of the last clustering.
  private(set) var centroids: [Double] = []
  private(set) var s0: UnsafeMutablePointer<Double>
  private(set) var s1: UnsafeMutablePointer<Double>
  private var solver = mlt_kmeans_space()
  private var capacity: Int
  private var solverCapacity = 0
  /// Keys of single-precision values.
  private(set) var keys: UnsafeMutablePointer<UInt32>?
  private var keyCapacity = 0
  /// How many keys there are.
  var keyCount = 0

  /// The most clusters.
  static let clusterLimit = 65536

  init(level: KernelLevel = .current) {
    solver.level = level.rawValue
    capacity = 0
    values = .allocate(capacity: 1)
    counts = .allocate(capacity: 1)
    s0 = .allocate(capacity: 1)
    s1 = .allocate(capacity: 1)
    bins = .allocate(capacity: 65536)
    bins.initialize(repeating: 0, count: 65536)
    bounds = .allocate(capacity: ValueSpace.clusterLimit + 1)
  }

  deinit {
    values.deallocate()
    counts.deallocate()
    s0.deallocate()
    s1.deallocate()
    bins.deallocate()
    bounds.deallocate()
    keys?.deallocate()
    p0?.deallocate()
    p1?.deallocate()
    freeSolver()
  }

  private func freeSolver() {
    solver.best?.deallocate()
    solver.from?.deallocate()
    solver.candidates?.deallocate()
    solver.starts?.deallocate()
    solver.coarse?.deallocate()
  }

  /// Makes room for distinct values; what is there is lost.
  func reserve(_ count: Int) {
    if count <= capacity { return }
    values.deallocate()
    counts.deallocate()
    s0.deallocate()
    s1.deallocate()
    capacity = count
    values = .allocate(capacity: count)
    counts = .allocate(capacity: count)
    s0 = .allocate(capacity: count + 1)
    s1 = .allocate(capacity: count + 1)
  }

  private func reserveSolver() {
    if count <= solverCapacity { return }
    freeSolver()
    solverCapacity = count
    solver.best = .allocate(capacity: count + 1)
    solver.from = .allocate(capacity: count + 1)
    solver.candidates = .allocate(capacity: count + 1)
    solver.starts = .allocate(capacity: count + 1)
    solver.coarse = .allocate(capacity: mlt_kmeans_coarse_count(count))
  }

  /// Makes room for keys behind those that are there.
  func reserveKeys(_ more: Int) -> UnsafeMutablePointer<UInt32> {
    if let keys, keyCount + more <= keyCapacity { return keys + keyCount }
    keyCapacity = max(keyCount + more, keyCapacity * 2)
    let wider = UnsafeMutablePointer<UInt32>.allocate(capacity: keyCapacity)
    if let keys {
      wider.update(from: keys, count: keyCount)
      keys.deallocate()
    }
    keys = wider
    return wider + keyCount
  }

  /// Sorts the keys into distinct values.
  func takeKeys() {
    count = 0
    if keyCount == 0 { return }
    let other = reserveKeys(keyCount)
    guard let keys else { return }
    mlt_sort32(keys, other, keyCount)
    reserve(keyCount)
    count = mlt_sorted32(keys, keyCount, values, counts)
    keyCount = 0
  }

  /// How many points were added, after the sums of which nothing else is kept.
  private(set) var points = 0
  /// Distinct values at hand while points are added.
  private(set) var distinct = 0
  private var pointCapacity = 0
  private var p0: UnsafeMutablePointer<Double>?
  private var p1: UnsafeMutablePointer<Double>?

  /// Makes room for points; there are none then.
  func reservePoints(_ more: Int) {
    distinct = count
    points = 0
    if more + 1 > pointCapacity {
      p0?.deallocate()
      p1?.deallocate()
      pointCapacity = more + 1
      p0 = .allocate(capacity: pointCapacity)
      p1 = .allocate(capacity: pointCapacity)
    }
    p0?[0] = 0
    p1?[0] = 0
  }

  /// Adds the weight and the weighted sum of values above those before.
  func addPoint(_ weight: Double, _ sum: Double) {
    guard let p0, let p1, points + 1 < pointCapacity else { return }
    p0[points + 1] = p0[points] + weight
    p1[points + 1] = p1[points] + sum
    points += 1
  }

  /// The means of an optimal partition of the points, of which there are more than clusters.
  func clusterPoints(_ clusters: Int, guess: Double) -> [Double] {
    guard let p0, let p1 else { return [] }
    count = points
    reserveSolver()
    mlt_kmeans_solve(p0, p1, points, clusters, guess, &solver, bounds)
    return (0..<clusters).map { cluster in
      let (first, last) = (Int(bounds[cluster]), Int(bounds[cluster + 1]))
      return (p1[last] - p1[first]) / (p0[last] - p0[first])
    }
  }

  func set(values: [Float], counts: [UInt32]) {
    reserve(values.count)
    count = values.count
    for index in values.indices {
      self.values[index] = values[index]
      self.counts[index] = counts[index]
    }
  }

  /// Partitions the values into at most `clusters`; `bounds` and `centroids` hold the result.
  ///
  /// - Parameter shifted: Whether sums are taken relative to the middle value, as values whose
  ///   spread is small against their magnitude need.
  /// - Returns: How many clusters there are.
  func cluster(_ clusters: Int, shifted: Bool) -> Int {
    let used = min(clusters, count, ValueSpace.clusterLimit)
    centroids.removeAll(keepingCapacity: true)
    if count <= clusters {
      for index in 0..<count {
        bounds[index] = UInt32(index)
        centroids.append(Double(values[index]))
      }
      bounds[count] = UInt32(count)
      return count
    }
    let shift = shifted ? Double(values[count / 2]) : 0
    let sums = prefixSums(shift: shift)
    solve(used, squares: sums.squares, values: values)
    for cluster in 0..<used {
      let (first, last) = (Int(bounds[cluster]), Int(bounds[cluster + 1]))
      centroids.append(shift + (s1[last] - s1[first]) / (s0[last] - s0[first]))
    }
    return used
  }

  /// Prefix sums of the values less `shift`.
  @discardableResult
  func prefixSums(shift: Double) -> mlt_prefix {
    mlt_prefix_sums(values, counts, count, shift, s0, s1)
  }

  /// Partitions by the prefix sums at hand into fewer clusters than there are values.
  func solve(_ clusters: Int, squares: Double, values: UnsafePointer<Float>? = nil) {
    let spread = max(squares - s1[count] * s1[count] / s0[count], 0)
    let width = Double(clusters) + 0.95
    let guess = max(5.44 * spread / (width * width * width), 0x1p-1000)
    if let values,
      mlt_kmeans_windows(values, s0, s1, count, clusters, guess, solver.level, bounds) != 0
    {
      return
    }
    reserveSolver()
    mlt_kmeans_solve(s0, s1, count, clusters, guess, &solver, bounds)
  }
}
