import CKernels

/// Finds the best candidate of every group of a stretch of slabs, in rounds over all of them.
struct ScaleSearch {
  /// Adds the fits of `slots` candidates for each group.
  typealias Measure = (
    _ candidates: UnsafePointer<ScaleCandidate>, _ slots: Int, _ moments: Bool,
    _ fits: UnsafeMutablePointer<mlt_fit>
  ) throws -> Void

  let rules: CandidateRules
  let groups: Int
  /// Holds the ranges of the groups; the results are left there.
  let buffers: SearchBuffers

  /// A candidate must beat an earlier one by more than the rounding of the sums.
  private static let margin = 1 - 2e-6
  /// Steps of the least-squares refinement.
  private static let refinements = 3
  /// Candidates measured at once in a search.
  private static let batch = 4

  private var low: UnsafeMutablePointer<Float> { buffers.low }
  private var high: UnsafeMutablePointer<Float> { buffers.high }

  /// Leaves the best candidate of each group and its fit in the buffers.
  ///
  /// - Parameter seed: Fills in the seeds, which take the place of clipped ranges.
  func run(seed: (() throws -> Void)?, _ measure: Measure) throws {
    buffers.best.update(repeating: ScaleCandidate(), count: groups)
    try round(slots: rules.fullRangeSlots, moments: false, measure) { group, list in
      rules.addFullRange(low: low[group], high: high[group], to: &list)
    }
    if rules.scheme.search == .none { return }
    if let seed {
      try seed()
      try round(slots: 1, moments: false, measure) { group, list in
        list.add(
          scale: buffers.seeds[group], zero: Int(buffers.seedZeros[group]),
          codes: rules.scheme.codes, format: rules.format)
      }
      return
    }

    let shares = rules.clippings
    for start in stride(from: 0, to: shares.count, by: ScaleSearch.batch) {
      let part = shares[start..<min(start + ScaleSearch.batch, shares.count)]
      try round(slots: part.count * rules.clippedSlots, moments: false, measure) { group, list in
        for share in part {
          rules.addClipped(low: low[group], high: high[group], share: share, to: &list)
        }
      }
    }
    // The moments of the best candidate lead to the scale that fits its codes best.
    buffers.moments.update(repeating: mlt_fit(), count: groups)
    try measure(buffers.best, 1, true, buffers.moments)
    for _ in 0..<ScaleSearch.refinements {
      try round(slots: 2, moments: true, measure) { group, list in
        let sum = buffers.moments[group]
        if sum.square > 0 && !(low[group] == 0 && high[group] == 0) {
          rules.addRefined(
            sum.product / sum.square, zero: Int(buffers.best[group].zero), to: &list)
        }
      }
    }
  }

  /// Measures the candidates that `fill` lists and keeps those that are better.
  @inline(__always)
  private func round(
    slots: Int, moments: Bool, _ measure: Measure, _ fill: (Int, inout CandidateList) -> Void
  ) throws {
    buffers.reserve(slots: groups * slots)
    let candidates = buffers.candidates
    let measured = buffers.measured
    for group in 0..<groups {
      let first = candidates + group * slots
      var list = CandidateList(slots: first, capacity: slots)
      fill(group, &list)
      for slot in 0..<list.count { first[slot].bound(least: low[group], most: high[group]) }
    }
    measured.update(repeating: mlt_fit(), count: groups * slots)
    try measure(candidates, slots, moments, measured)
    for group in 0..<groups {
      for slot in group * slots..<(group + 1) * slots where candidates[slot].scale > 0 {
        let fit = measured[slot]
        if buffers.best[group].scale == 0
          || fit.error < buffers.fits[group].error * ScaleSearch.margin
        {
          buffers.best[group] = candidates[slot]
          buffers.fits[group] = fit
          if moments { buffers.moments[group] = fit }
        }
      }
    }
  }
}
