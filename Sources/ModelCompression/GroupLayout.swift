import ModelTensors

/// Which elements of a tensor share a scale, a table or a zero point.
///
/// The tensor is `outer` contiguous slabs of `rows` rows of `period` elements. In every row the
/// element at position p belongs to group `map[p]` of its slab's `groupsPerSlab`; with a period of
/// 1 a slab is one group and one contiguous run. Groups are numbered in row-major order of the
/// scale's shape.
public struct GroupLayout: Sendable, Hashable {
  /// The shape of the tensor.
  public let shape: [Int]
  /// The shape of the scales: as many axes, each size divides the tensor's.
  public let scaleShape: [Int]
  /// Contiguous slabs.
  public let outer: Int
  /// Rows of a slab.
  public let rows: Int
  /// Elements of a row.
  public let period: Int
  /// Groups of a slab.
  public let groupsPerSlab: Int
  /// For every position of a row its group within the slab.
  public let map: [Int32]

  /// All groups: the product of the scale's shape.
  public var groupCount: Int { outer * groupsPerSlab }
  /// Elements of a slab.
  public var slabCount: Int { rows * period }
  /// All elements.
  public var elementCount: Int { outer * slabCount }
  /// Elements of each group.
  public var groupSize: Int { groupsPerSlab == 0 ? 0 : slabCount / groupsPerSlab }
  /// Whether every group is one contiguous run of `rows` elements.
  public var isContiguous: Bool { period == 1 }

  /// The greatest period whose positions are mapped one by one.
  private static let periodLimit = 1 << 26

  /// - Returns: nil when the ranks differ, a scale size does not divide the tensor's size, a
  ///   product overflows, or a row has more than 2²⁶ positions.
  public init?(shape: [Int], scaleShape: [Int]) {
    guard shape.count == scaleShape.count, let count = Shape.elementCount(shape),
      Shape.elementCount(scaleShape) != nil
    else { return nil }
    for (size, scales) in zip(shape, scaleShape) {
      if scales < 1 ? size != 0 : size % scales != 0 { return nil }
    }
    self.shape = shape
    self.scaleShape = scaleShape
    if count == 0 {
      (outer, rows, period) = (0, 0, 1)
      groupsPerSlab = 1
      map = [0]
      return
    }

    // Alternating factors: `splits` tells groups apart, the others are shared.
    var factors: [(size: Int, splits: Bool)] = []
    for (size, scales) in zip(shape, scaleShape) {
      for factor in [(size: scales, splits: true), (size: size / scales, splits: false)]
      where factor.size > 1 {
        if let last = factors.last, last.splits == factor.splits {
          factors[factors.count - 1].size *= factor.size
        } else {
          factors.append(factor)
        }
      }
    }
    var next = factors[...]
    if let first = next.first, first.splits {
      outer = first.size
      next = next.dropFirst()
    } else {
      outer = 1
    }
    rows = next.first?.size ?? 1
    next = next.dropFirst()
    period = next.reduce(1) { $0 * $1.size }
    guard period <= GroupLayout.periodLimit else { return nil }
    groupsPerSlab = next.reduce(1) { $1.splits ? $0 * $1.size : $0 }
    var map: [Int32] = [0]
    for factor in next {
      var wider: [Int32] = []
      wider.reserveCapacity(map.count * factor.size)
      for group in map {
        for index in 0..<factor.size {
          wider.append(factor.splits ? group * Int32(factor.size) + Int32(index) : group)
        }
      }
      map = wider
    }
    self.map = map
  }

  /// The layout with one scale per index of `axis`.
  public init?(shape: [Int], channelAxis axis: Int) {
    guard let axis = Shape.normalized(axis: axis, rank: shape.count) else { return nil }
    var scales = [Int](repeating: 1, count: shape.count)
    scales[axis] = shape[axis]
    self.init(shape: shape, scaleShape: scales)
  }

  /// The group of an element.
  public func group(of element: Int) -> Int {
    let slab = element / slabCount
    return slab * groupsPerSlab + Int(map[(element - slab * slabCount) % period])
  }

  /// Calls `body` for consecutive stretches of `range`: of one group where the layout is
  /// contiguous, else of one row, from `position` on.
  @inline(__always)
  func forEachStretch(
    _ range: Range<Int>,
    _ body: (_ stretch: Range<Int>, _ slab: Int, _ position: Int) throws -> Void
  ) rethrows {
    var start = range.lowerBound
    let length = isContiguous ? rows : period
    while start < range.upperBound {
      let position = start % length
      let end = min(start - position + length, range.upperBound)
      try body(start..<end, start / slabCount, isContiguous ? 0 : position)
      start = end
    }
  }
}
