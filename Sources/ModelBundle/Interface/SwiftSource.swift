/// Swift source, line by line.
struct SwiftSource {
  private(set) var text = ""
  private var depth = 0

  /// A line at the present depth; an empty one without spaces.
  mutating func line(_ line: String = "") {
    if !line.isEmpty { text += String(repeating: " ", count: depth * 4) + line }
    text += "\n"
  }

  /// A line, what `body` adds one level deeper, and a closing brace.
  ///
  /// - Parameter opening: What follows the opening brace, the parameters of a closure.
  mutating func block(
    _ head: String, after opening: String = "", _ body: (inout SwiftSource) -> Void
  ) {
    line(head + (opening.isEmpty ? " {" : " { \(opening)"))
    depth += 1
    body(&self)
    depth -= 1
    line("}")
  }

  /// What `body` adds, under a condition of compilation where there is one.
  mutating func conditional(_ condition: String?, _ body: (inout SwiftSource) -> Void) {
    guard let condition else { return body(&self) }
    line("#if \(condition)")
    body(&self)
    line("#endif")
  }

  /// A documentation comment of paragraphs, whatever line breaks these hold.
  mutating func document(_ paragraphs: String...) {
    document(paragraphs)
  }

  /// A documentation comment of paragraphs, whatever line breaks these hold.
  mutating func document(_ paragraphs: [String]) {
    for (index, paragraph) in paragraphs.filter({ !$0.isEmpty }).enumerated() {
      if index > 0 { line("///") }
      for row in SwiftSource.rows(paragraph) { line(row.isEmpty ? "///" : "/// \(row)") }
    }
  }

  /// An attribute, unless it is nil.
  mutating func attribute(_ attribute: String?) {
    if let attribute { line(attribute) }
  }

  /// A string literal of any text.
  static func literal(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": literal += "\\\""
      case "\\": literal += "\\\\"
      case "\n": literal += "\\n"
      case "\r": literal += "\\r"
      case "\t": literal += "\\t"
      default:
        if isVisible(scalar) {
          literal.unicodeScalars.append(scalar)
        } else {
          literal += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
      }
    }
    return literal + "\""
  }

  /// The text on one line, for a comment.
  static func oneLine(_ text: String) -> String {
    rows(text).filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// The lines of a text for a comment; what cannot be seen is left out.
  private static func rows(_ text: String) -> [String] {
    var rows: [String] = []
    for row in text.split(separator: "\n", omittingEmptySubsequences: false)
      .flatMap({ $0.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) })
    {
      var scalars = String.UnicodeScalarView()
      for scalar in row.unicodeScalars {
        if isVisible(scalar) {
          scalars.append(scalar)
        } else if scalar == "\t" {
          scalars.append(" ")
        }
      }
      let line = String(scalars)
      let end = line.lastIndex { $0 != " " }
      rows.append(end.map { String(line[...$0]) } ?? "")
    }
    while rows.count > 1, rows.last == "" { rows.removeLast() }
    return rows
  }

  /// Whether a character shows itself, unlike controls, marks of direction and line breaks.
  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
      .surrogate:
      false
    default: true
    }
  }
}
