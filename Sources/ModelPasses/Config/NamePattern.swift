/// A name in a configuration: exact, a glob with `*` and `?`, or `/regex/`.
struct NamePattern: Sendable {
  private enum Kind: Sendable {
    case exact
    case glob(WeightPattern)
    case regex(String)
  }

  let text: String
  private let kind: Kind

  /// - Throws: ``ConfigError`` for a regular expression that is none.
  init(_ text: String) throws(ConfigError) {
    self.text = text
    if text.count > 2, text.hasPrefix("/"), text.hasSuffix("/") {
      let body = String(text.dropFirst().dropLast())
      guard (try? Regex(body)) != nil else {
        throw ConfigError(message: "\(text) is no regular expression")
      }
      kind = .regex(body)
    } else if text.contains("*") || text.contains("?") {
      kind = .glob(WeightPattern(text))
    } else {
      kind = .exact
    }
  }

  var isExact: Bool {
    if case .exact = kind { return true }
    return false
  }

  func matches(_ name: String) -> Bool {
    switch kind {
    case .exact: name == text
    case .glob(let pattern): pattern.matches(name: name, consumers: [])
    case .regex(let body):
      if let regex = try? Regex(body), let match = try? regex.firstMatch(in: name) {
        !match.range.isEmpty
      } else {
        false
      }
    }
  }
}

/// Entries of a configuration by name; an exact name goes before patterns, those in file order.
struct NamedEntries<Entry: Sendable>: Sendable {
  private var entries: [(pattern: NamePattern, entry: Entry)] = []

  mutating func add(_ name: String, _ entry: Entry) throws(ConfigError) {
    entries.append((try NamePattern(name), entry))
  }

  subscript(name: String) -> Entry? {
    exact(name) ?? entries.first { $0.pattern.matches(name) }?.entry
  }

  /// The entry whose name is `name` itself; no pattern counts.
  func exact(_ name: String) -> Entry? {
    entries.first { $0.pattern.isExact && $0.pattern.matches(name) }?.entry
  }
}
