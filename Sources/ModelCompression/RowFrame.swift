/// Rows of a layout that are not contiguous per group, several short ones merged into one.
struct RowFrame: Sendable {
  /// Positions of a merged row.
  let width: Int
  /// Elements that arrays of per-position values need: the kernels read whole vectors.
  let capacity: Int
  /// Groups of a row.
  var groups: Int { layout.groupsPerSlab }
  private let layout: GroupLayout

  init(_ layout: GroupLayout) {
    let merged = max(1, min((64 + layout.period - 1) / layout.period, layout.rows))
    width = layout.period * merged
    capacity = (width + 31) / 16 * 16 + 16
    self.layout = layout
  }

  /// Writes `value(group)` for every position.
  @inline(__always)
  func expand<T>(into array: UnsafeMutablePointer<T>, _ value: (Int) -> T) {
    let period = layout.period
    layout.map.withUnsafeBufferPointer { map in
      for position in 0..<period { array[position] = value(Int(map[position])) }
    }
    for position in period..<max(width, period) { array[position] = array[position - period] }
    for position in width..<capacity { array[position] = array[0] }
  }

  /// Calls `body` with each position and its group.
  @inline(__always)
  func forEachPosition(_ body: (_ position: Int, _ group: Int) -> Void) {
    layout.map.withUnsafeBufferPointer { map in
      var inner = 0
      for position in 0..<width {
        body(position, Int(map[inner]))
        inner += 1
        if inner == layout.period { inner = 0 }
      }
    }
  }

  /// Splits `rows` rows into merged ones and the elements left over.
  func split(rows: Int) -> (merged: Int, rest: Int) {
    let count = rows * layout.period
    return (count / width, count % width)
  }
}
