import Dispatch
import Synchronization

/// Loops over independent pieces of work on several threads.
public struct Parallel: Sendable {
  /// How many threads take part; at least 1.
  public let threads: Int

  /// - Parameter threads: nil for all cores.
  public init(threads: Int? = nil) {
    self.threads = max(1, threads ?? Parallel.coreCount)
  }

  /// The number of cores that this process may use.
  public static var coreCount: Int { max(1, activeCoreCount()) }

  /// Calls `body` for each index once, the indices handed out in rising order.
  ///
  /// After a body has thrown no further index is handed out; of several errors the one of the
  /// lowest index is thrown, so that the outcome does not depend on timing.
  public func forEach(_ count: Int, _ body: @Sendable (Int) throws -> Void) throws {
    if count <= 0 { return }
    if threads == 1 || count == 1 {
      for index in 0..<count { try body(index) }
      return
    }
    let next = Atomic<Int>(0)
    let failure = Mutex<(index: Int, error: any Error)?>(nil)
    DispatchQueue.concurrentPerform(iterations: min(threads, count)) { _ in
      while true {
        let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
        if index >= count { return }
        do {
          try body(index)
        } catch {
          next.store(count, ordering: .relaxed)
          failure.withLock { first in
            if first.map({ index < $0.index }) ?? true { first = (index, error) }
          }
        }
      }
    }
    if let failed = failure.withLock({ $0 }) { throw failed.error }
  }
}
