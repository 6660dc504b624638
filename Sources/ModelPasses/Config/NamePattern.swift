/// A name in a configuration: exact, a glob with `*` and `?`, or `/regex/`.
///
/// A backslash before it makes any text an exact name.
struct NamePattern: Sendable {
  private enum Kind: Sendable {
    case exact(String)
    case glob(WeightPattern)
    case expression(NameExpression)
  }

  /// As it stands in the configuration.
  let text: String
  private let kind: Kind

  /// - Throws: ``ConfigError`` for a regular expression that is none.
  init(_ text: String) throws(ConfigError) {
    self.text = text
    if text.hasPrefix("\\") {
      kind = .exact(String(text.dropFirst()))
    } else if NamePattern.isExpression(text) {
      do throws(ConfigError) {
        kind = .expression(try NameExpression(String(text.dropFirst().dropLast())))
      } catch {
        throw ConfigError(message: "\(text) is no regular expression: \(error.message)")
      }
    } else if NamePattern.isGlob(text) {
      kind = .glob(WeightPattern(name: text))
    } else {
      kind = .exact(text)
    }
  }

  private static func isExpression(_ text: String) -> Bool {
    text.count > 2 && text.hasPrefix("/") && text.hasSuffix("/")
  }

  private static func isGlob(_ text: String) -> Bool { text.contains("*") || text.contains("?") }

  /// The text that means `name` and no other.
  static func exactly(_ name: String) -> String {
    name.hasPrefix("\\") || isExpression(name) || isGlob(name) ? "\\\(name)" : name
  }

  /// The only name that matches; nil for a pattern.
  var exactName: String? {
    if case .exact(let name) = kind { return name }
    return nil
  }

  func matches(_ name: String) -> Bool {
    switch kind {
    case .exact(let own): name == own
    case .glob(let pattern): pattern.matches(name: name, consumers: [])
    case .expression(let expression): expression.matches(name)
    }
  }
}

/// Entries of a configuration by name; an exact name goes before patterns, those in file order.
struct NamedEntries<Entry: Sendable>: Sendable {
  private var entries: [(pattern: NamePattern, entry: Entry)] = []
  private var byName: [String: Int] = [:]
  private var patterns: [Int] = []

  var all: [Entry] { entries.map(\.entry) }

  /// - Throws: ``ConfigError`` for a pattern that is none, and for a name that is there.
  mutating func add(_ text: String, _ entry: Entry) throws(ConfigError) {
    let pattern = try NamePattern(text)
    if let name = pattern.exactName {
      if byName[name] != nil { throw ConfigError(message: "\"\(name)\" is given twice") }
      byName[name] = entries.count
    } else {
      patterns.append(entries.count)
    }
    entries.append((pattern, entry))
  }

  subscript(name: String) -> Entry? {
    exact(name) ?? patterns.first { entries[$0].pattern.matches(name) }.map { entries[$0].entry }
  }

  /// The entry whose name is `name` itself; no pattern counts.
  func exact(_ name: String) -> Entry? { byName[name].map { entries[$0].entry } }

  /// The texts of entries that match none of the names.
  func unmatched(in names: Set<String>) -> [String] {
    entries.map(\.pattern).filter { pattern in
      pattern.exactName.map { !names.contains($0) } ?? !names.contains(where: pattern.matches)
    }.map(\.text)
  }
}
