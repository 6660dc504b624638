import ModelGraph

/// A fact of no fixed form: what a model kind has to tell, as an ordered tree.
public indirect enum Detail: Sendable, Equatable {
  case text(String)
  case integer(Int)
  case number(Double)
  case bool(Bool)
  case list([Detail])
  case object(NamedList<Detail>)
  /// Not known.
  case none

  /// The text, or nil for another kind.
  public var text: String? {
    if case .text(let text) = self { return text }
    return nil
  }

  /// The whole number, or nil for another kind.
  public var integer: Int? {
    if case .integer(let number) = self { return number }
    return nil
  }

  /// The elements, or nil for another kind.
  public var list: [Detail]? {
    if case .list(let elements) = self { return elements }
    return nil
  }

  /// The value under `key` of an object.
  public subscript(key: String) -> Detail? {
    if case .object(let fields) = self { return fields[key] }
    return nil
  }

  /// A list of texts.
  static func texts(_ texts: [String]) -> Detail { .list(texts.map(Detail.text)) }
  /// A list of whole numbers.
  static func integers(_ numbers: some Sequence<Int>) -> Detail {
    .list(numbers.map(Detail.integer))
  }
  /// An unsigned number of a file; one beyond the range of `Int` as the largest.
  static func unsigned(_ number: UInt64) -> Detail { .integer(Int(clamping: number)) }

  /// Counts by name, the most frequent first, then by name.
  static func counts(_ counts: [String: Int]) -> Detail {
    .object(
      NamedList(
        uniqueEntries: counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
          .map { (key: $0.key, value: .integer($0.value)) }))
  }
}
