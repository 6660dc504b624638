/// A dictionary with string keys that keeps the order of its entries.
///
/// Look-up is linear: an operation has a handful of inputs. Of equal keys the last one counts, as
/// in a protobuf map.
public struct NamedList<Element: Sendable>: Sendable {
  /// The entries in order.
  public private(set) var entries: [(key: String, value: Element)]

  /// An empty list.
  public init() { entries = [] }

  /// A list of `entries`; of equal keys the last one is kept, in the place of the first.
  public init(_ entries: some Sequence<(key: String, value: Element)>) {
    self.entries = []
    var places: [String: Int] = [:]
    for entry in entries {
      if let place = places[entry.key] {
        self.entries[place].value = entry.value
      } else {
        places[entry.key] = self.entries.count
        self.entries.append(entry)
      }
    }
  }

  /// A list whose keys are known to differ.
  public init(uniqueEntries entries: [(key: String, value: Element)]) { self.entries = entries }

  /// The keys in order.
  public var keys: [String] { entries.map { $0.key } }
  /// The values in order.
  public var values: [Element] { entries.map(\.value) }

  /// The value of `key`; setting appends a new key, setting nil removes it.
  public subscript(key: String) -> Element? {
    get { place(of: key).map { entries[$0].value } }
    set {
      let place = place(of: key)
      switch (place, newValue) {
      case (let place?, let value?): entries[place].value = value
      case (let place?, nil): entries.remove(at: place)
      case (nil, let value?): entries.append((key, value))
      case (nil, nil): break
      }
    }
  }

  /// The position of the last entry of `key`; a loop over keys copies no values.
  private func place(of key: String) -> Int? {
    var index = entries.count
    while index > 0 {
      index -= 1
      if entries[index].key == key { return index }
    }
    return nil
  }

  /// Replaces every value by what `transform` makes of it.
  public mutating func updateEach(_ transform: (String, inout Element) throws -> Void) rethrows {
    for index in entries.indices {
      try transform(entries[index].key, &entries[index].value)
    }
  }
}

extension NamedList: RandomAccessCollection {
  /// 0.
  public var startIndex: Int { 0 }
  /// The number of entries.
  public var endIndex: Int { entries.count }
  /// The entry at a position.
  public subscript(position: Int) -> (key: String, value: Element) { entries[position] }
}

extension NamedList: ExpressibleByDictionaryLiteral {
  /// A list of the literal's entries.
  public init(dictionaryLiteral elements: (String, Element)...) {
    self.init(elements.map { (key: $0.0, value: $0.1) })
  }
}

extension NamedList: Equatable where Element: Equatable {
  /// Whether both are equal.
  public static func == (left: Self, right: Self) -> Bool {
    left.count == right.count
      && zip(left.entries, right.entries).allSatisfy { $0.key == $1.key && $0.value == $1.value }
  }
}
