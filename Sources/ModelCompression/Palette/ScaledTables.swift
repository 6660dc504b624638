import CKernels
import ModelTensors
import Synchronization

extension PaletteJob {
  /// How often scales and tables are improved in turn.
  private static let rounds = 6
  /// Bins of the values relative to their scales, on each side of zero.
  private static let side = 32768

  /// Tables with a scale per output channel.
  ///
  /// Scales and common tables are chosen in turn: the table is the optimal one of all values
  /// relative to their scales, each weighted with the square of its scale; the scale is the least
  /// squares one for the entries its values take. The turn of least error is kept.
  func scaled(_ grouping: PaletteGrouping, axis given: Int) throws -> PalettePreparation {
    guard let axis = Shape.normalized(axis: given, rank: source.shape.count) else {
      throw TensorError.malformed("axis \(given) is outside the rank \(source.shape.count)")
    }
    try require(format.isFloat, "integer weights have no scale per channel")
    try require(settings.mode != .unique, "distinct values have no scale per channel")
    var size = source.shape[axis]
    if case .channels(let groupAxis, let channels) = grouping {
      try require(
        Shape.normalized(axis: groupAxis, rank: source.shape.count) == axis,
        "scales along axis \(axis) for groups along axis \(groupAxis)")
      let (_, refusal) = try groupShape(grouping)
      if let refusal { return .refused(reason: refusal) }
      size = channels
    }
    guard let layout = GroupLayout(shape: source.shape, channelAxis: axis) else {
      return .refused(reason: "its shape \(source.shape) has no channels on axis \(axis)")
    }
    if mask != nil {
      guard try isFinite() else { return try specialValues() }
    }
    let collector = ValueCollector(
      reader: GroupReader(source: source, layout: layout, mask: mask), format: format,
      level: level)
    let channels = layout.groupCount
    let groups = size > 0 ? channels / size : 0
    var scales = try initialScales(collector)
    guard !scales.contains(where: { !$0.scale.isFinite }) else { return try specialValues() }
    var best: (error: Double, scales: [Channel], tables: [Double])?
    for round in 0..<(settings.mode == .kmeans ? PaletteJob.rounds : 1) {
      let tables = try commonTables(collector, scales, size: size, groups: groups)
      let next = try fit(collector, scales, tables, size: size, wide: round == 0)
      let error = next.reduce(0) { $0 + $1.error }
      if best.map({ error < $0.error }) ?? true { best = (error, next, tables) }
      scales = next
    }
    var tables = PaletteTables(format: format, bits: settings.bits, vectorSize: 1, groups: channels)
    let count = 1 << settings.bits
    let common = best?.tables ?? []
    let chosen = best?.scales ?? []
    for channel in 0..<channels {
      tables.used[channel] = count
      for entry in 0..<count {
        let value = common[channel / size * count + entry] * chosen[channel].scale
        tables.entries[channel * count + entry] = bounded(value)
      }
    }
    let quantized = quantize(&tables)
    let sums = try errors(tables, collector)
    var shape = [Int](repeating: 1, count: source.shape.count)
    shape[axis] = max(channels, 1)
    return try .ready(
      palettizer(
        tables, layout: layout, shape: shape, sums: sums, quantized: quantized,
        scales: chosen.map { Float($0.scale) }, commonTables: common.map { Float($0) }))
  }

  private func bounded(_ value: Double) -> Float {
    let limit = format == .half ? 65504 : Double(Float.greatestFiniteMagnitude)
    return format.round(min(max(value, -limit), limit)) + 0
  }

  /// A channel's scale, its greatest magnitude and the error with the last table.
  struct Channel: Sendable {
    var scale = 0.0
    var peak = 0.0
    var error = 0.0
  }

  /// Root mean squares, or peaks for even levels; infinite where a value is not finite.
  private func initialScales(_ collector: ValueCollector) throws -> [Channel] {
    var finite = true
    let scales = try filledArray(
      repeating: Channel(), count: collector.reader.layout.groupCount
    ) { scales in
      finite = try collector.forEachGroup(parallel: parallel, spaces: spaces) { channel, space in
        if space.count == 0 { return }
        let sums = space.prefixSums(shift: 0)
        let peak = max(abs(Double(space.values[0])), abs(Double(space.values[space.count - 1])))
        scales.pointer[channel] = Channel(
          scale: settings.mode == .uniform ? peak : (sums.signal / sums.count).squareRoot(),
          peak: peak)
      }
    }
    return finite ? scales : [Channel(scale: .infinity)]
  }

  /// One table per group of channels for values relative to their scales.
  private func commonTables(
    _ collector: ValueCollector, _ scales: [Channel], size: Int, groups: Int
  ) throws -> [Double] {
    let count = 1 << settings.bits
    var tables: [Double] = []
    for group in 0..<groups {
      let channels = group * size..<(group + 1) * size
      var reach = 0.0
      var largest = 0.0
      for channel in scales[channels] where channel.scale > 0 {
        reach = max(reach, channel.peak / channel.scale)
        largest = max(largest, channel.scale)
      }
      if settings.mode == .uniform || reach == 0 {
        let span = reach == 0 ? 0 : 1.0
        for entry in 0..<count {
          tables.append(span * (2 * Double(entry) / Double(count - 1) - 1))
        }
        continue
      }
      let bins = try weighted(
        collector, channels: channels, scales, reach: reach, largest: largest)
      tables += spaces.with { space in
        space.cluster(weights: bins, low: -reach, high: reach, clusters: count)
      }
    }
    return tables
  }

  /// The weights of evenly spaced bins; whole numbers, so that their sum has no order.
  private func weighted(
    _ collector: ValueCollector, channels: Range<Int>, _ scales: [Channel], reach: Double,
    largest: Double
  ) throws -> [UInt64] {
    let size = PaletteJob.side * 2
    let total = Mutex([UInt64](repeating: 0, count: size))
    let pool = ObjectPool { WeightBins(size) }
    let used = Mutex<[WeightBins]>([])
    let step = Double(PaletteJob.side) / reach
    let bits = Double(1 << 22)
    _ = try collector.forEachGroup(
      in: channels, parallel: parallel, spaces: spaces
    ) { channel, space in
      let scale = scales[channel].scale
      if scale == 0 { return }
      let ratio = scale / largest
      let weight = max(1, (bits * ratio * ratio).rounded())
      let factor = step / scale
      pool.with { bins in
        if !bins.used {
          bins.used = true
          used.withLock { $0.append(bins) }
        }
        for index in 0..<space.count {
          let place = Int(Double(space.values[index]) * factor + Double(PaletteJob.side))
          bins.weights[min(max(place, 0), size - 1)] &+=
            UInt64(weight) &* UInt64(space.counts[index])
        }
      }
    }
    for bins in used.withLock({ $0 }) {
      total.withLock { total in
        for index in 0..<size { total[index] &+= bins.weights[index] }
      }
    }
    return total.withLock { $0 }
  }

  /// The scale of least error of each channel for its group's table.
  private func fit(
    _ collector: ValueCollector, _ scales: [Channel], _ tables: [Double], size: Int,
    wide: Bool
  ) throws -> [Channel] {
    let count = 1 << settings.bits
    return try filledArray(repeating: Channel(), count: scales.count) { fitted in
      _ = try collector.forEachGroup(parallel: parallel, spaces: spaces) { channel, space in
        var result = scales[channel]
        if result.scale > 0 && space.count > 0 {
          let first = channel / size * count
          let sums = space.prefixSums(shift: 0)
          (result.scale, result.error) = tables.withUnsafeBufferPointer { tables in
            ScaleFit(
              space: space, signal: sums.signal,
              table: UnsafeBufferPointer(rebasing: tables[first..<first + count]),
              fixed: settings.mode == .uniform
            ).best(from: result.scale, wide: wide)
          }
        }
        fitted.pointer[channel] = result
      }
    }
  }
}

/// Weights that one thread adds to at a time.
private final class WeightBins: @unchecked Sendable {
  var weights: [UInt64]
  var used = false

  init(_ count: Int) { weights = [UInt64](repeating: 0, count: count) }
}

/// Least-squares scales of sorted values for one table.
private struct ScaleFit {
  let space: ValueSpace
  let signal: Double
  let table: UnsafeBufferPointer<Double>
  let fixed: Bool

  /// The scale of least error near a first one, and its error.
  func best(from start: Double, wide: Bool) -> (scale: Double, error: Double) {
    if fixed { return (start, moments(start).error) }
    var best = settle(start)
    if !wide { return best }
    for step in [-0.24, -0.16, -0.08, 0.08, 0.16, 0.24] {
      let result = settle(start * (1 + step))
      if result.error < best.error { best = result }
    }
    return best
  }

  private func settle(_ start: Double) -> (scale: Double, error: Double) {
    var scale = start
    var error = Double.infinity
    for _ in 0..<6 {
      let sums = moments(scale)
      if !(sums.error < error * (1 - 1e-7)) { break }
      error = sums.error
      guard sums.square > 0, sums.product > 0 else { break }
      let next = sums.product / sums.square
      let improved = signal - next * sums.product
      if !(improved < error) { break }
      scale = next
      error = improved
    }
    return (scale, error)
  }

  /// Σwt, Σt² and Σ(w − scale·t)² for the nearest entries t.
  private func moments(_ scale: Double) -> (product: Double, square: Double, error: Double) {
    var product = 0.0
    var square = 0.0
    var start = 0
    for entry in table.indices {
      var end = space.count
      if entry + 1 < table.count {
        let limit = (table[entry] + table[entry + 1]) / 2 * scale
        var low = start
        while low < end {
          let middle = (low + end) / 2
          let below = Double(space.values[middle]) <= limit
          low = below ? middle + 1 : low
          end = below ? end : middle
        }
      }
      product += table[entry] * (space.s1[end] - space.s1[start])
      square += table[entry] * table[entry] * (space.s0[end] - space.s0[start])
      start = end
    }
    let error = signal - 2 * scale * product + scale * scale * square
    return (product, square, max(error, 0))
  }
}
