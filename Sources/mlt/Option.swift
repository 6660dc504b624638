/// An option that a command takes.
struct Option: Sendable {
  /// The name without dashes.
  var name: String
  var short: Character?
  /// What stands for the value in help, `N`, `FILE`, `8|4|16`; nil for a flag.
  var value: String?
  var help: String
  /// Whether the option may be given several times.
  var isRepeatable = false

  static func flag(_ name: String, short: Character? = nil, _ help: String) -> Option {
    Option(name: name, short: short, value: nil, help: help)
  }

  static func value(
    _ name: String, short: Character? = nil, _ value: String, _ help: String,
    repeatable: Bool = false
  ) -> Option {
    Option(name: name, short: short, value: value, help: help, isRepeatable: repeatable)
  }

  /// The values that the option may take, where its placeholder lists them.
  var choices: [String]? {
    guard let value, value.contains("|") else { return nil }
    return value.split(separator: "|").map(String.init)
  }

  /// Options that every command takes.
  static let common: [Option] = [
    .flag("json", "print one JSON document instead of text"),
    .flag("quiet", "no progress and no notes on standard error"),
    .value("threads", "N", "threads to work with (default: all cores)"),
    .flag("help", short: "h", "show this help"),
  ]

  /// Options of the commands that write a model.
  static let output = output("where to write: .mlpackage, .mlmodel, .zip or .pkg")

  /// The same with another text for `--output`.
  static func output(_ help: String) -> [Option] {
    [.value("output", short: "o", "OUT", help), .flag("force", "replace OUT if it exists")]
  }
}

/// A command line that is wrong; exit code 64.
struct UsageError: Error {
  var message: String
  var hint: String?

  init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}

/// A command line taken apart.
struct Arguments: Sendable {
  private(set) var operands: [String] = []
  private var values: [String: [String]] = [:]

  /// Takes `words` apart: options before or after operands, `--name value`, `--name=value`,
  /// `-o value`; `--` ends options.
  ///
  /// - Throws: ``UsageError`` for unknown options, missing and unexpected values, repetitions.
  init(_ words: [String], options: [Option]) throws {
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        break
      }
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      let (option, inline) = try Arguments.option(for: word, options)
      if option.value == nil {
        if inline != nil { throw UsageError("option --\(option.name) takes no value") }
        values[option.name] = [""]
        continue
      }
      guard let value = inline ?? rest.popFirst() else {
        throw UsageError(
          "option --\(option.name) needs a value: --\(option.name) \(option.value ?? "")")
      }
      if let choices = option.choices, !choices.contains(value) {
        throw UsageError(
          "--\(option.name) is \(choices.joined(separator: ", ")), not \"\(value)\"",
          hint: Arguments.nearest(to: value, in: choices).map { "did you mean \($0)?" })
      }
      if values[option.name] != nil, !option.isRepeatable {
        throw UsageError("option --\(option.name) is given twice")
      }
      values[option.name, default: []].append(value)
    }
  }

  private static func option(
    for word: String, _ options: [Option]
  ) throws -> (Option, inline: String?) {
    if !word.hasPrefix("--") {
      let letter = word.dropFirst().first
      guard let option = options.first(where: { $0.short != nil && $0.short == letter }) else {
        throw UsageError("unknown option \(word)", hint: "see --help")
      }
      let inline = word.dropFirst(word.dropFirst(2).hasPrefix("=") ? 3 : 2)
      return (option, inline.isEmpty ? nil : String(inline))
    }
    let body = word.dropFirst(2)
    let name = String(body.prefix { $0 != "=" })
    guard let option = options.first(where: { $0.name == name }) else {
      let near = nearest(to: name, in: options.map(\.name))
      throw UsageError(
        "unknown option --\(name)", hint: near.map { "did you mean --\($0)?" } ?? "see --help")
    }
    let inline = body.contains("=") ? String(body.dropFirst(name.count + 1)) : nil
    return (option, inline)
  }

  /// Whether a flag is set or an option given.
  func has(_ name: String) -> Bool { values[name] != nil }
  /// The value of an option, or nil when it is not given.
  func string(_ name: String) -> String? { values[name]?.last }
  /// All values of a repeatable option.
  func strings(_ name: String) -> [String] { values[name] ?? [] }

  /// The value of an option that takes a whole number in `range`.
  func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let text = string(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      let bounds =
        range.upperBound == Int.max
        ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
      throw UsageError("--\(name) is a whole number, \(bounds), not \"\(text)\"")
    }
    return number
  }

  /// The only operand.
  ///
  /// - Throws: ``UsageError`` when there is none or more than one.
  func operand(_ what: String) throws -> String {
    guard let first = operands.first else { throw UsageError("\(what) is missing") }
    if operands.count > 1 { throw UsageError("one \(what) only, but also got \"\(operands[1])\"") }
    return first
  }

  /// The candidate nearest to `word`, when it is near enough to be meant.
  static func nearest(to word: String, in candidates: [String]) -> String? {
    let ranked = candidates.map { (name: $0, distance: editDistance(word, $0)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }),
      best.distance <= max(1, word.count / 3), best.distance < word.count
    else { return nil }
    return best.name
  }
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two words.
func editDistance(_ left: String, _ right: String) -> Int {
  let a = Array(left.prefix(64))
  let b = Array(right.prefix(64))
  var rows = [[Int](repeating: 0, count: b.count + 1), Array(0...b.count)]
  for i in 1...max(a.count, 1) where i <= a.count {
    var row = [i]
    for j in 1...max(b.count, 1) where j <= b.count {
      let previous = rows[rows.count - 1]
      var best = min(
        previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
      if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
        best = min(best, rows[rows.count - 2][j - 2] + 1)
      }
      row.append(best)
    }
    rows.append(row)
  }
  return rows[rows.count - 1][b.count]
}
