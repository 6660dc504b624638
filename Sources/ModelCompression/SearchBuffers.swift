import CKernels

/// Memory of a search, used for one batch of groups after the other.
final class SearchBuffers: @unchecked Sendable {
  /// The order keys of the least and greatest value of each group.
  private(set) var lowKeys: UnsafeMutablePointer<Int32>
  private(set) var highKeys: UnsafeMutablePointer<Int32>
  /// The least and greatest value of each group.
  private(set) var low: UnsafeMutablePointer<Float>
  private(set) var high: UnsafeMutablePointer<Float>
  /// The best candidates of all groups of a piece of work.
  private(set) var piece: UnsafeMutablePointer<ScaleCandidate>
  /// The best candidate of each group, its fit, and its moments.
  private(set) var best: UnsafeMutablePointer<ScaleCandidate>
  private(set) var fits: UnsafeMutablePointer<mlt_fit>
  private(set) var moments: UnsafeMutablePointer<mlt_fit>
  /// The candidates of a round and their fits.
  private(set) var candidates: UnsafeMutablePointer<ScaleCandidate>
  private(set) var measured: UnsafeMutablePointer<mlt_fit>
  /// The scale and zero point that a search in lanes found for each group; 0 without one.
  private(set) var seeds: UnsafeMutablePointer<Float>
  private(set) var seedZeros: UnsafeMutablePointer<Int32>
  private var groups = 0
  private var slots = 0
  private var pieceGroups = 0

  init() {
    lowKeys = .allocate(capacity: 1)
    highKeys = .allocate(capacity: 1)
    low = .allocate(capacity: 1)
    high = .allocate(capacity: 1)
    piece = .allocate(capacity: 1)
    best = .allocate(capacity: 1)
    fits = .allocate(capacity: 1)
    moments = .allocate(capacity: 1)
    candidates = .allocate(capacity: 1)
    measured = .allocate(capacity: 1)
    seeds = .allocate(capacity: 1)
    seedZeros = .allocate(capacity: 1)
  }

  deinit {
    lowKeys.deallocate()
    highKeys.deallocate()
    low.deallocate()
    high.deallocate()
    piece.deallocate()
    best.deallocate()
    fits.deallocate()
    moments.deallocate()
    candidates.deallocate()
    measured.deallocate()
    seeds.deallocate()
    seedZeros.deallocate()
  }

  /// Makes room for results of `count` groups.
  func reserve(groups count: Int) {
    if count <= groups { return }
    groups = count
    lowKeys.deallocate()
    highKeys.deallocate()
    lowKeys = .allocate(capacity: count)
    highKeys = .allocate(capacity: count)
    low.deallocate()
    high.deallocate()
    low = .allocate(capacity: count)
    high = .allocate(capacity: count)
    best.deallocate()
    fits.deallocate()
    moments.deallocate()
    best = .allocate(capacity: count)
    fits = .allocate(capacity: count)
    moments = .allocate(capacity: count)
    seeds.deallocate()
    seedZeros.deallocate()
    seeds = .allocate(capacity: count)
    seedZeros = .allocate(capacity: count)
  }

  /// Makes the ranges of the first groups empty.
  func clearRanges(_ count: Int) {
    lowKeys.update(repeating: .max, count: count)
    highKeys.update(repeating: .min, count: count)
  }

  /// Takes the ranges of `count` groups.
  func setRanges(_ ranges: GroupRanges, from first: Int, count: Int) {
    for index in 0..<count {
      lowKeys[index] = ranges.low[first + index]
      highKeys[index] = ranges.high[first + index]
    }
  }

  /// Makes room for `count` candidates of a piece.
  func reserve(piece count: Int) {
    if count <= pieceGroups { return }
    pieceGroups = count
    piece.deallocate()
    piece = .allocate(capacity: count)
  }

  /// Makes room for `count` candidates.
  func reserve(slots count: Int) {
    if count <= slots { return }
    slots = count
    candidates.deallocate()
    measured.deallocate()
    candidates = .allocate(capacity: count)
    measured = .allocate(capacity: count)
  }
}
