import CKernels

/// Per-position parameters of a candidate for every group of a row; never changed once made.
final class RowParameters: @unchecked Sendable {
  let zero: UnsafeMutablePointer<UInt8>
  /// Whether a code of some group may have to be clamped.
  let clamps: Bool
  private let floats: UnsafeMutablePointer<Float>
  private let capacity: Int

  /// - Parameter candidate: That of a group; an unused one counts as a scale of 1.
  @inline(__always)
  init(_ frame: RowFrame, _ candidate: (Int) -> ScaleCandidate) {
    clamps = (0..<frame.groups).contains { candidate($0).clamps }
    capacity = frame.capacity
    floats = .allocate(capacity: capacity * 4)
    zero = .allocate(capacity: capacity)
    frame.expand(into: floats) { group in
      let scale = candidate(group).scale
      return scale > 0 ? 1 / scale : 1
    }
    frame.expand(into: floats + capacity) { group in
      let scale = candidate(group).scale
      return scale > 0 ? scale : 1
    }
    frame.expand(into: floats + 2 * capacity) { candidate($0).low }
    frame.expand(into: floats + 3 * capacity) { candidate($0).high }
    frame.expand(into: zero) { UInt8(truncatingIfNeeded: candidate($0).zero) }
  }

  deinit {
    floats.deallocate()
    zero.deallocate()
  }

  /// The parameters as the kernels take them.
  var affine: mlt_affine_row { affine(from: 0) }

  /// The parameters from a position on.
  func affine(from position: Int) -> mlt_affine_row {
    mlt_affine_row(
      inverse: floats + position, scale: floats + (capacity + position),
      low: floats + (2 * capacity + position), high: floats + (3 * capacity + position))
  }
}

/// Per-position sums of a row.
final class RowFits {
  private let sums: UnsafeMutablePointer<Double>
  private let worst: UnsafeMutablePointer<Float>
  private let capacity: Int
  let moments: Bool

  private let half: Bool

  init(_ capacity: Int, moments: Bool, half: Bool) {
    self.half = half
    self.capacity = capacity
    self.moments = moments
    sums = .allocate(capacity: capacity * 3)
    sums.initialize(repeating: 0, count: capacity * 3)
    worst = .allocate(capacity: capacity)
    worst.initialize(repeating: 0, count: capacity)
  }

  deinit {
    sums.deallocate()
    worst.deallocate()
  }

  /// The sums as the kernels take them.
  var rows: mlt_fit_row {
    mlt_fit_row(
      error: sums, product: sums + capacity, square: sums + 2 * capacity, worst: worst)
  }

  /// The sums of one position.
  func fit(at position: Int) -> mlt_fit {
    mlt_fit(
      error: sums[position], product: sums[capacity + position],
      square: sums[2 * capacity + position],
      worst: half ? worst[position].squareRoot() : worst[position])
  }
}
