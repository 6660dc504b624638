import ModelCompression
import ModelTensors
import Synchronization

extension Parallel {
  /// Works on items of very different sizes: the large ones one at a time with all threads inside
  /// each, the others side by side with one thread each, larger ones first.
  ///
  /// - Parameter body: Called once per index, with the threads that it may use.
  func forEachBalanced(
    sizes: [Int], _ body: @Sendable (_ index: Int, _ parallel: Parallel) throws -> Void
  ) throws {
    let total = sizes.reduce(0, &+)
    let limit = max(1 << 20, total / (8 * threads))
    let order = sizes.indices.sorted { (sizes[$0], $1) > (sizes[$1], $0) }
    let large = order.prefix { sizes[$0] > limit }
    for index in large { try body(index, self) }
    let small = Array(order.dropFirst(large.count))
    try forEach(small.count) { try body(small[$0], Parallel(threads: 1)) }
  }
}

/// Error sums per piece, added up in the order of the pieces.
final class SumsByPiece: Sendable {
  private let sums: Mutex<[ErrorSums]>

  init(count: Int) { sums = Mutex([ErrorSums](repeating: ErrorSums(), count: count)) }

  func set(_ value: ErrorSums, at index: Int) { sums.withLock { $0[index] = value } }

  var total: ErrorSums {
    sums.withLock { list in
      var total = ErrorSums()
      for sums in list { total += sums }
      return total
    }
  }
}
