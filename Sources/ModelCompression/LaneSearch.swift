import CKernels
import ModelTensors

/// Finds scales of little error for small groups, sixteen at a time.
///
/// Every lane tries shares of its full range, affine ones with several zero points, refines the
/// best few by least squares and keeps the best as it is stored.
struct LaneSearch: Sendable {
  private let layout: GroupLayout
  private let scheme: AffineScheme
  private let format: WeightFormat
  private let level: KernelLevel
  private let shares: [Float]
  /// Consecutive elements of a group, and rows of them.
  private let inner: Int
  private let rows: Int

  /// Elements of a group that stay in the cache sixteenfold.
  private static let largestGroup = 1024
  private static let lanes = Int(MLT_SEARCH_LANES)

  /// - Returns: nil where nothing is searched, groups are large, or their elements lie in no
  ///   regular order.
  init?(layout: GroupLayout, scheme: AffineScheme, format: WeightFormat, level: KernelLevel) {
    let size = layout.groupSize
    guard scheme.search == .mse, size > 0, size <= LaneSearch.largestGroup else { return nil }
    inner = layout.isContiguous ? layout.rows : layout.period / layout.groupsPerSlab
    rows = layout.isContiguous ? 1 : layout.rows
    if !layout.isContiguous {
      for (position, group) in layout.map.enumerated() where position / inner != Int(group) {
        return nil
      }
    }
    self.layout = layout
    self.scheme = scheme
    self.format = format
    self.level = level
    shares = LaneSearch.shares(scheme, size: size)
  }

  /// From above the full range, which few values need not use up, down to what clips outliers.
  private static func shares(_ scheme: AffineScheme, size: Int) -> [Float] {
    let few = size <= 64
    let (most, least, count): (Float, Float, Int) =
      switch (scheme.bits, scheme.mode) {
      case (8, _): (1.06, 0.85, 32)
      case (_, .symmetric): (few ? 1.15 : 1.05, 0.4, 24)
      case (_, .affine): (few ? 1.25 : 1.05, few ? 0.5 : 0.4, few ? 20 : 24)
      }
    return (0..<count).map { most + (least - most) * Float($0) / Float(count - 1) }
  }

  /// Fills in the seeds of some groups of the slabs from `base` on, whose ranges are at hand.
  func seed(_ base: UnsafeRawPointer, groups: Range<Int>, _ buffers: SearchBuffers) {
    let size = inner * rows
    withScratch(Float.self, LaneSearch.lanes * (2 * size + 4)) { scratch in
      guard let tile = scratch.baseAddress else { return }
      withScratch(Int32.self, LaneSearch.lanes) { zeros in
        guard let zeros = zeros.baseAddress else { return }
        for first in stride(from: groups.lowerBound, to: groups.upperBound, by: LaneSearch.lanes) {
          let count = min(LaneSearch.lanes, groups.upperBound - first)
          seed(base, first: first, count: count, size: size, tile, zeros, buffers)
        }
      }
    }
  }

  /// Fills in the seeds of one slab on several threads.
  func seed(
    _ source: any TensorSource, slab: Int, _ parallel: Parallel, _ buffers: SearchBuffers
  ) throws {
    let range = slab * layout.slabCount..<(slab + 1) * layout.slabCount
    let pieces = ElementPieces(layout.groupsPerSlab, elements: 1024)
    try source.withElements(range) { bytes in
      guard let base = bytes.baseAddress else { return }
      nonisolated(unsafe) let start = base
      try parallel.forEach(pieces.count) { index in
        seed(start, groups: pieces[index], buffers)
      }
    }
    source.release(range)
  }

  private func seed(
    _ base: UnsafeRawPointer, first: Int, count: Int, size: Int,
    _ tile: UnsafeMutablePointer<Float>,
    _ zeros: UnsafeMutablePointer<Int32>, _ buffers: SearchBuffers
  ) {
    let lanes = LaneSearch.lanes
    let values = tile + lanes * size
    let low = values + lanes * size
    let (high, factors, scales) = (low + lanes, low + 2 * lanes, low + 3 * lanes)
    for lane in 0..<lanes {
      let group = first + min(lane, count - 1)
      factors[lane] = factor(buffers.low[group], buffers.high[group])
      low[lane] = buffers.low[group] * factors[lane]
      high[lane] = buffers.high[group] * factors[lane]
    }
    if inner == 1 && count == lanes && first % layout.groupsPerSlab + lanes <= layout.groupsPerSlab
      && format.isHalf
    {
      // The groups are columns side by side.
      let start = base + offset(first) * format.width
      for row in 0..<rows {
        let data = start + row * layout.period * format.width
        mlt_widen_half(
          level.rawValue, data.assumingMemoryBound(to: UInt16.self), lanes, tile + row * lanes)
      }
    } else {
      for lane in 0..<lanes {
        gather(
          base, group: first + min(lane, count - 1), factor: factors[lane],
          into: values + lane * size)
      }
      mlt_transpose_lanes(level.rawValue, values, size, tile)
    }
    search(tile, size: size, low, high, scales, zeros)
    for lane in 0..<count {
      buffers.seeds[first + lane] = scales[lane] / factors[lane]
      buffers.seedZeros[first + lane] = zeros[lane]
    }
  }

  /// The power of two that brings singles near 1, where their squares are normal numbers.
  private func factor(_ low: Float, _ high: Float) -> Float {
    let peak = max(-low, high)
    if format.isHalf || !(peak > 0) { return 1 }
    return Float(sign: .plus, exponent: -min(max(Int(peak.exponent), -120), 120), significand: 1)
  }

  /// The first element of a group.
  private func offset(_ group: Int) -> Int {
    let slab = group / layout.groupsPerSlab
    return slab * layout.slabCount + (group - slab * layout.groupsPerSlab) * inner
  }

  /// The elements of a group, widened.
  private func gather(
    _ base: UnsafeRawPointer, group: Int, factor: Float, into values: UnsafeMutablePointer<Float>
  ) {
    let start = offset(group)
    for row in 0..<rows {
      let data = base + (start + row * layout.period) * format.width
      let out = values + row * inner
      if format.isHalf {
        mlt_widen_half(level.rawValue, data.assumingMemoryBound(to: UInt16.self), inner, out)
      } else {
        let singles = data.assumingMemoryBound(to: Float.self)
        for index in 0..<inner { out[index] = singles[index] * factor }
      }
    }
  }

  private func search(
    _ tile: UnsafePointer<Float>, size: Int, _ low: UnsafePointer<Float>,
    _ high: UnsafePointer<Float>, _ scales: UnsafeMutablePointer<Float>,
    _ zeros: UnsafeMutablePointer<Int32>
  ) {
    let codes = scheme.codes
    shares.withUnsafeBufferPointer { shares in
      var how = mlt_scale_search(
        shares: shares.baseAddress, count: shares.count, low: Int32(codes.lowerBound),
        high: Int32(codes.upperBound), zero: Int32(scheme.symmetricZero),
        half_steps: Float(scheme.range.upperBound - scheme.range.lowerBound) / 2,
        affine: scheme.mode == .affine ? 1 : 0, half: format.isHalf ? 1 : 0)
      mlt_search_lanes(level.rawValue, tile, size, low, high, &how, scales, zeros)
    }
  }
}
