import CKernels

/// Finds the best candidate of every group of a stretch of slabs, in rounds over all of them.
struct ScaleSearch {
  /// Measures `slots` candidates for each group.
  typealias Measure = (
    _ candidates: [ScaleCandidate], _ slots: Int, _ moments: Bool
  ) throws -> [mlt_fit]

  let rules: CandidateRules
  /// The least and greatest value of each group.
  let low: UnsafeBufferPointer<Float>
  let high: UnsafeBufferPointer<Float>

  /// A candidate must beat an earlier one by more than the rounding of the sums.
  private static let margin = 1 - 2e-6
  /// Steps of the least-squares refinement.
  private static let refinements = 3
  /// Candidates measured at once in a search.
  private static let batch = 4

  private var groups: Int { low.count }

  /// The best candidate of each group and its fit.
  func run(_ measure: Measure) throws -> (best: [ScaleCandidate], fits: [mlt_fit]) {
    var best = [ScaleCandidate](repeating: ScaleCandidate(), count: groups)
    var fits = [mlt_fit](repeating: mlt_fit(), count: groups)
    try round(slots: rules.fullRangeSlots, moments: false, measure, &best, &fits) { group, list in
      rules.addFullRange(low: low[group], high: high[group], to: &list)
    }
    if rules.scheme.search == .none { return (best, fits) }

    let shares = rules.clippings
    for start in stride(from: 0, to: shares.count, by: ScaleSearch.batch) {
      let part = shares[start..<min(start + ScaleSearch.batch, shares.count)]
      try round(
        slots: part.count * rules.clippedSlots, moments: false, measure, &best, &fits
      ) { group, list in
        for share in part {
          rules.addClipped(low: low[group], high: high[group], share: share, to: &list)
        }
      }
    }
    // The moments of the best candidate lead to the scale that fits its codes best.
    var moments = try measure(best, 1, true)
    for _ in 0..<ScaleSearch.refinements {
      let old = best
      let sums = moments
      try round(slots: 2, moments: true, measure, &best, &fits) { group, list in
        let sum = sums[group]
        if sum.square > 0 && !(low[group] == 0 && high[group] == 0) {
          rules.addRefined(sum.product / sum.square, zero: Int(old[group].zero), to: &list)
        }
      } improved: { group, fit in
        moments[group] = fit
      }
    }
    return (best, fits)
  }

  private func round(
    slots: Int, moments: Bool, _ measure: Measure, _ best: inout [ScaleCandidate],
    _ fits: inout [mlt_fit], _ fill: (Int, inout CandidateList) -> Void,
    improved: (Int, mlt_fit) -> Void = { _, _ in }
  ) throws {
    let candidates = [ScaleCandidate](unsafeUninitializedCapacity: groups * slots) { buffer, count in
      if let base = buffer.baseAddress {
        for group in 0..<groups {
          var list = CandidateList(slots: base + group * slots, capacity: slots)
          fill(group, &list)
          for slot in group * slots..<group * slots + list.count {
            base[slot].bound(least: low[group], most: high[group])
          }
        }
      }
      count = groups * slots
    }
    let measured = try measure(candidates, slots, moments)
    for group in 0..<groups {
      for slot in group * slots..<(group + 1) * slots where candidates[slot].scale > 0 {
        let fit = measured[slot]
        if best[group].scale == 0 || fit.error < fits[group].error * ScaleSearch.margin {
          best[group] = candidates[slot]
          fits[group] = fit
          improved(group, fit)
        }
      }
    }
  }
}
