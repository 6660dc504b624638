import CKernels
import ModelTensors

/// k-means of vectors: k-means++ (Arthur and Vassilvitskii 2007) with several candidates per step
/// and restarts on a sample, then Lloyd's iteration on all vectors.
struct VectorKMeans: Sendable {
  /// Component c of vector i is at `c * count + i`.
  let memory: SharedPointer<Float>
  let count: Int
  let width: Int
  let clusters: Int
  let level: KernelLevel
  let parallel: Parallel

  private var planes: UnsafeMutablePointer<Float> { memory.pointer }

  private static let sampleCount = 1 << 14
  private static let sampleRounds = 25
  private static let rounds = 40
  private static let tolerance = 1e-5

  /// The centroids one after the other, at most `clusters`, in lexical order.
  func solve(restarts: Int, seed: UInt64) throws -> [Float] {
    if count == 0 { return [] }
    let sampled = min(count, VectorKMeans.sampleCount)
    var best: (error: Double, centroids: [Float])?
    try withScratch(Float.self, sampled * width) { memory in
      guard let base = memory.baseAddress else { return }
      for component in 0..<width {
        for index in 0..<sampled {
          let place = sampled == count ? index : index * count / sampled
          base[component * sampled + index] = planes[component * count + place]
        }
      }
      let sample = VectorKMeans(
        memory: SharedPointer(base), count: sampled, width: width, clusters: clusters,
        level: level, parallel: Parallel(threads: 1))
      for restart in 0..<max(restarts, 1) {
        var random = SplitMix(seed &+ UInt64(restart) &* 0x9E37_79B9)
        var centroids = sample.seeds(&random)
        let error = try sample.lloyd(&centroids, rounds: VectorKMeans.sampleRounds)
        if best.map({ error < $0.error }) ?? true { best = (error, centroids) }
      }
    }
    var centroids = best?.centroids ?? []
    _ = try lloyd(&centroids, rounds: VectorKMeans.rounds)
    let order = (0..<centroids.count / width).sorted { first, second in
      centroids[first * width..<(first + 1) * width]
        .lexicographicallyPrecedes(centroids[second * width..<(second + 1) * width])
    }
    return order.flatMap { centroids[$0 * width..<($0 + 1) * width] }
  }

  private func vector(_ index: Int) -> [Float] {
    (0..<width).map { planes[$0 * count + index] }
  }

  /// Seeds drawn with probability proportional to the squared distance from those there are; of
  /// several draws the one that lowers the error most.
  private func seeds(_ random: inout SplitMix) -> [Float] {
    var centroids = vector(random.below(count))
    var distances = [Float](repeating: .infinity, count: count)
    var codes = [UInt8](repeating: 0, count: count)
    var trial = [Float](repeating: 0, count: count)
    mlt_nearest_vectors(
      level.rawValue, planes, count, count, width, centroids, 1, &codes, &distances)
    let draws = clusters >= 16 ? 4 : 2
    while centroids.count < clusters * width {
      let total = distances.reduce(0.0) { $0 + Double($1) }
      if !(total > 0) { break }
      var best: (error: Double, seed: [Float], distances: [Float])?
      for _ in 0..<draws {
        var rest = random.uniform() * total
        var pick = count - 1
        for index in 0..<count {
          rest -= Double(distances[index])
          if rest < 0 {
            pick = index
            break
          }
        }
        while pick > 0 && distances[pick] == 0 { pick -= 1 }
        if distances[pick] == 0 { continue }
        let seed = vector(pick)
        mlt_nearest_vectors(
          level.rawValue, planes, count, count, width, seed, 1, &codes, &trial)
        var error = 0.0
        for index in 0..<count {
          trial[index] = min(trial[index], distances[index])
          error += Double(trial[index])
        }
        if best.map({ error < $0.error }) ?? true { best = (error, seed, trial) }
      }
      guard let best else { break }
      centroids += best.seed
      distances = best.distances
    }
    return centroids
  }

  private struct Part: Sendable {
    var sums: [Double] = []
    var counts: [Int] = []
    var error = 0.0
    var farthest: (distance: Float, index: Int) = (0, 0)
  }

  /// Moves the centroids to the means of their vectors until they settle; an empty or missing
  /// cluster takes the vector that is farthest from its own.
  ///
  /// - Returns: The squared error before the last move.
  private func lloyd(_ centroids: inout [Float], rounds: Int) throws -> Double {
    var last = Double.infinity
    for _ in 0..<rounds {
      let part = try assign(centroids)
      var changed = false
      let used = centroids.count / width
      var spare = part.farthest
      for cluster in 0..<used {
        for component in 0..<width {
          let place = cluster * width + component
          var value = centroids[place]
          if part.counts[cluster] > 0 {
            value = Float(part.sums[place] / Double(part.counts[cluster]))
          } else if spare.distance > 0 {
            value = planes[component * count + spare.index]
          }
          if value != centroids[place] {
            centroids[place] = value
            changed = true
          }
        }
        if part.counts[cluster] == 0 { spare.distance = 0 }
      }
      if used < clusters && spare.distance > 0 {
        centroids += vector(spare.index)
        changed = true
        last = .infinity
        continue
      }
      if !changed || (last - part.error <= VectorKMeans.tolerance * last && last.isFinite) {
        return part.error
      }
      last = part.error
    }
    return last
  }

  private func assign(_ centroids: [Float]) throws -> Part {
    let pieces = ElementPieces(count, elements: 1 << 15)
    let used = centroids.count / width
    let parts = try filledArray(repeating: Part(), count: pieces.count) { parts in
      try parallel.forEach(pieces.count) { index in
        let range = pieces[index]
        let data = memory.pointer + range.lowerBound
        var part = Part()
        part.sums = [Double](repeating: 0, count: used * width)
        part.counts = [Int](repeating: 0, count: used)
        withScratch(UInt8.self, range.count) { codes in
          withScratch(Float.self, range.count) { distances in
            guard let code = codes.baseAddress, let distance = distances.baseAddress else { return }
            mlt_nearest_vectors(
              level.rawValue, data, count, range.count, width, centroids, used, code, distance)
            for place in 0..<range.count {
              part.error += Double(distance[place])
              part.counts[Int(code[place])] += 1
              if distance[place] > part.farthest.distance {
                part.farthest = (distance[place], range.lowerBound + place)
              }
            }
            part.sums.withUnsafeMutableBufferPointer { sums in
              for component in 0..<width {
                let plane = data + component * count
                for place in 0..<range.count {
                  sums[Int(code[place]) * width + component] += Double(plane[place])
                }
              }
            }
          }
        }
        parts.pointer[index] = part
      }
    }
    var total = Part()
    total.sums = [Double](repeating: 0, count: used * width)
    total.counts = [Int](repeating: 0, count: used)
    for part in parts {
      for index in total.sums.indices { total.sums[index] += part.sums[index] }
      for index in total.counts.indices { total.counts[index] += part.counts[index] }
      total.error += part.error
      if part.farthest.distance > total.farthest.distance { total.farthest = part.farthest }
    }
    return total
  }
}

/// A small deterministic generator (splitmix64).
struct SplitMix {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }

  mutating func uniform() -> Double { Double(next() >> 11) * 0x1p-53 }
}
