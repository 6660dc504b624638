import ModelTensors

/// A scale and zero point that a group may get; a scale of 0 marks an unused slot.
struct ScaleCandidate: Sendable, Equatable {
  var scale: Float = 0
  var zero: Int32 = 0
  /// Bounds of code − zero point.
  var low: Float = 0
  var high: Float = 0
  /// Whether a code may have to be clamped.
  var clamps = true

  /// Sets ``clamps`` for values in `least...most`.
  mutating func bound(least: Float, most: Float) {
    clamps = !(least / scale > low - 0.49 && most / scale < high + 0.49)
  }
}

/// Arithmetic in a weight's own type.
struct WeightFormat: Sendable {
  let isHalf: Bool

  /// Values of this magnitude and above become infinite.
  var overflow: Double { isHalf ? 65520 : 0x1.FFFFFFp127 }
  /// Bytes of a value.
  var width: Int { isHalf ? 2 : 4 }

  /// The nearest value.
  @inline(__always)
  func round(_ value: Float) -> Float {
    isHalf ? HalfFloat.float(HalfFloat.bits(value)) : value
  }

  /// The greatest value not above, and the least not below, a positive number; maybe 0 or infinite.
  @inline(__always)
  func neighbours(_ value: Double) -> (floor: Float, ceil: Float) {
    if isHalf {
      let bits = HalfFloat.bits(value)
      let near = Double(HalfFloat.float(bits))
      if near == value { return (Float(near), Float(near)) }
      return near < value
        ? (Float(near), HalfFloat.float(bits + 1)) : (HalfFloat.float(bits - 1), Float(near))
    }
    let near = Float(value)
    if Double(near) == value { return (near, near) }
    return Double(near) < value ? (near, near.nextUp) : (near.nextDown, near)
  }

  /// The value of an order key (see `mlt_range_runs16`).
  func value(key: Int32) -> Float {
    if isHalf {
      let key = Int16(truncatingIfNeeded: key)
      return HalfFloat.float(UInt16(bitPattern: key < 0 ? key ^ 0x7FFF : key))
    }
    return Float(bitPattern: UInt32(bitPattern: key < 0 ? key ^ 0x7FFF_FFFF : key))
  }

  /// Whether an order key is that of an infinity or NaN.
  func isSpecial(key: Int32) -> Bool {
    isHalf ? key >= 0x7C00 || key <= -0x7C01 : key >= 0x7F80_0000 || key <= -0x7F80_0001
  }
}

/// Fills slots with candidates, each once.
struct CandidateList {
  let slots: UnsafeMutablePointer<ScaleCandidate>
  let capacity: Int
  private(set) var count = 0

  init(slots: UnsafeMutablePointer<ScaleCandidate>, capacity: Int) {
    self.slots = slots
    self.capacity = capacity
    for slot in 0..<capacity { slots[slot] = ScaleCandidate() }
  }

  /// Adds a candidate unless its scale is not positive and finite or it is there already.
  ///
  /// The bounds are those of `codes` around `zero`, narrowed to values that decode to finite ones.
  @inline(__always)
  mutating func add(scale: Float, zero: Int, codes: ClosedRange<Int>, format: WeightFormat) {
    guard scale > 0, scale.isFinite, count < capacity else { return }
    for slot in 0..<count where slots[slot].scale == scale && slots[slot].zero == Int32(zero) {
      return
    }
    var low = codes.lowerBound - zero
    var high = codes.upperBound - zero
    if Double(scale) * 256 >= format.overflow {
      var limit = Int(format.overflow / Double(scale))
      if Double(limit) * Double(scale) >= format.overflow { limit -= 1 }
      low = max(low, -limit)
      high = min(high, limit)
    }
    slots[count] = ScaleCandidate(
      scale: scale, zero: Int32(zero), low: Float(low), high: Float(high))
    count += 1
  }
}

/// The candidates of one group whose values span `low...high`.
struct CandidateRules: Sendable {
  let scheme: AffineScheme
  let format: WeightFormat

  /// Slots that ``addFullRange(low:high:to:)`` needs.
  var fullRangeSlots: Int { scheme.mode == .symmetric ? 3 : 5 }

  /// The scales beside the ideal one of the full range, each with the zero points beside the ideal
  /// one, and before them the pair that arithmetic in the weight's own type gives.
  func addFullRange(low: Float, high: Float, to list: inout CandidateList) {
    let codes = scheme.codes
    if low == 0 && high == 0 {
      let zero = scheme.mode == .symmetric ? scheme.symmetricZero : 0
      list.add(scale: 1, zero: zero, codes: codes, format: format)
      return
    }
    let range = scheme.range
    let steps = range.upperBound - range.lowerBound
    if scheme.mode == .symmetric {
      let peak = max(-low, high)
      let zero = scheme.symmetricZero
      let naive = format.round(format.round(peak + peak) / Float(steps))
      let beside = format.neighbours(2 * Double(peak) / Double(steps))
      list.add(scale: naive, zero: zero, codes: codes, format: format)
      list.add(scale: beside.floor, zero: zero, codes: codes, format: format)
      list.add(scale: beside.ceil, zero: zero, codes: codes, format: format)
      return
    }
    let low = min(low, 0)
    let high = max(high, 0)
    addNaive(low: low, high: high, steps: steps, to: &list)
    addAffine(low: Double(low), high: Double(high), beside: true, to: &list)
  }

  /// The pair of an affine range in the arithmetic of the weight's type, every step rounded.
  private func addNaive(low: Float, high: Float, steps: Int, to list: inout CandidateList) {
    let range = scheme.range
    let span = format.round(high - low)
    let scale = format.round(span / Float(steps))
    let first = format.round(Float(range.lowerBound) * high)
    let second = format.round(Float(range.upperBound) * low)
    let zero = format.round(format.round(first - second) / span)
    guard zero.isFinite else { return }
    list.add(
      scale: scale, zero: clamp(Double(zero).rounded(.toNearestOrEven)), codes: range,
      format: format)
  }

  /// The scales of an affine range: both neighbours with both zero points, or the nearest of each.
  private func addAffine(low: Double, high: Double, beside: Bool, to list: inout CandidateList) {
    let range = scheme.range
    let ideal = (high - low) / Double(range.upperBound - range.lowerBound)
    let zero = Double(range.lowerBound) - low / ideal
    let scales = format.neighbours(ideal)
    if !beside {
      let nearest =
        ideal - Double(scales.floor) < Double(scales.ceil) - ideal ? scales.floor : scales.ceil
      list.add(
        scale: nearest, zero: clamp(zero.rounded(.toNearestOrEven)), codes: range, format: format)
      return
    }
    for scale in [scales.floor, scales.ceil] {
      list.add(scale: scale, zero: clamp(zero.rounded(.down)), codes: range, format: format)
      list.add(scale: scale, zero: clamp(zero.rounded(.up)), codes: range, format: format)
    }
  }

  private func clamp(_ zero: Double) -> Int {
    let range = scheme.range
    return Int(min(max(zero, Double(range.lowerBound)), Double(range.upperBound)))
  }

  /// Shares of the full range that the search for the least error tries.
  var clippings: [Double] {
    scheme.bits == 8
      ? (1...20).map { 1 - 0.02 * Double($0) } : (1...26).map { 1 - 0.025 * Double($0) }
  }

  /// Slots that ``addClipped(low:high:share:to:)`` needs.
  var clippedSlots: Int { scheme.mode == .symmetric ? 1 : 3 }

  /// The scales of a range clipped to a share of the full one: both ends, and for affine ranges
  /// either end alone.
  func addClipped(low: Float, high: Float, share: Double, to list: inout CandidateList) {
    if low == 0 && high == 0 { return }
    if scheme.mode == .symmetric {
      let steps = scheme.range.upperBound - scheme.range.lowerBound
      let beside = format.neighbours(2 * Double(max(-low, high)) * share / Double(steps))
      let scale = beside.floor > 0 ? beside.floor : beside.ceil
      list.add(scale: scale, zero: scheme.symmetricZero, codes: scheme.codes, format: format)
      return
    }
    let low = min(Double(low), 0)
    let high = max(Double(high), 0)
    addAffine(low: low * share, high: high * share, beside: false, to: &list)
    if low < 0 && high > 0 {
      addAffine(low: low * share, high: high, beside: false, to: &list)
      addAffine(low: low, high: high * share, beside: false, to: &list)
    }
  }

  /// The representable scales beside `scale` with the zero point of `old`.
  func addRefined(_ scale: Double, zero: Int, to list: inout CandidateList) {
    guard scale > 0, scale < format.overflow else { return }
    let beside = format.neighbours(scale)
    list.add(scale: beside.floor, zero: zero, codes: scheme.codes, format: format)
    list.add(scale: beside.ceil, zero: zero, codes: scheme.codes, format: format)
  }
}
