import Synchronization

/// Results of parallel work, each put in its place.
final class Collected<Element: Sendable>: Sendable {
  private let values: Mutex<[Element?]>

  init(count: Int) { values = Mutex(Array(repeating: nil, count: count)) }

  subscript(index: Int) -> Element? {
    get { values.withLock { $0[index] } }
    set { values.withLock { $0[index] = newValue } }
  }
}
