import Synchronization

/// Adds up bytes from several threads and reports the share of the total.
final class ProgressMeter: Sendable {
  private let total: Double
  private let done = Atomic<Int>(0)
  private let report: @Sendable (Double) -> Void

  init(total: Int, report: @escaping @Sendable (Double) -> Void) {
    self.total = Double(max(1, total))
    self.report = report
  }

  /// Says that `bytes` more are dealt with.
  @Sendable func add(_ bytes: Int) {
    let sum = done.wrappingAdd(bytes, ordering: .relaxed).newValue
    report(min(1, Double(sum) / total))
  }
}
