/// Text for HTML documents.
enum HTMLText {
  /// Text in an element or a quoted attribute; control characters are written out, but for line ends.
  static func escaped(_ text: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var result = ""
    for scalar in lines.map({ String($0).onOneLine }).joined(separator: "\n").unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// An element around text that is escaped already.
  static func element(_ name: String, _ attributes: String = "", _ content: String) -> String {
    "<\(name)\(attributes.isEmpty ? "" : " " + attributes)>\(content)</\(name)>"
  }

  /// A number for an attribute: at most `digits` digits behind the point, no zeros at the end.
  static func number(_ value: Double, _ digits: Int = 2) -> String {
    var text = Human.fixed(value.isFinite ? value : 0, digits)
    guard text.contains(".") else { return text }
    while text.last == "0" { text.removeLast() }
    if text.last == "." { text.removeLast() }
    return text
  }
}
