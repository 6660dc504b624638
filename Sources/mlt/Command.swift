/// One command of the executable.
protocol Command: Sendable {
  /// The word on the command line.
  static var name: String { get }
  /// One line for the list of commands.
  static var summary: String { get }
  /// What stands after the options, `MODEL`.
  static var operands: String { get }
  /// Options beside the common ones.
  static var options: [Option] { get }
  /// What help says below the usage line.
  static var discussion: String { get }

  /// Does the work and returns the exit code.
  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32
}

extension Command {
  static var operands: String { "MODEL" }

  static var help: String {
    var lines = ["usage: mlt \(name) [options] \(operands)", "", discussion]
    if !options.isEmpty { lines += ["", "Options"] + rows(options) }
    lines += ["", "Common options"] + rows(Option.common)
    return lines.joined(separator: "\n") + "\n"
  }

  private static func rows(_ options: [Option]) -> [String] {
    options.flatMap { option -> [String] in
      var head = "--\(option.name)"
      if let short = option.short { head = "-\(short), " + head }
      if let value = option.value { head += " \(value)" }
      let help = wrapped(option.help, width: 66)
      let first = head.padded(to: 26)
      let rest = help.dropFirst().map { String(repeating: " ", count: 30) + $0 }
      return head.count > 26
        ? ["  " + head] + help.map { String(repeating: " ", count: 30) + $0 }
        : ["  \(first)  \(help[0])"] + rest
    }
  }
}

/// `text` in lines of at most `width` characters.
func wrapped(_ text: String, width: Int) -> [String] {
  var lines: [String] = []
  var line = ""
  for word in text.split(separator: " ") {
    if !line.isEmpty, line.count + 1 + word.count > width {
      lines.append(line)
      line = ""
    }
    line += line.isEmpty ? String(word) : " \(word)"
  }
  return lines + [line]
}

extension String {
  /// The text with control characters, line ends and marks of direction written out, so that names
  /// from files neither break a line nor steer a terminal.
  var onOneLine: String {
    func isKept(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: false
      case .format: !scalar.properties.isBidiControl
      default: true
      }
    }
    if unicodeScalars.allSatisfy(isKept) { return self }
    return unicodeScalars.reduce(into: "") { text, scalar in
      text += isKept(scalar) ? String(scalar) : scalar.escaped(asASCII: true)
    }
  }

  /// The text with spaces behind it up to `width` characters.
  func padded(to width: Int) -> String {
    count >= width ? self : self + String(repeating: " ", count: width - count)
  }

  /// The text with spaces before it up to `width` characters.
  func rightAligned(to width: Int) -> String {
    count >= width ? self : String(repeating: " ", count: width - count) + self
  }
}
