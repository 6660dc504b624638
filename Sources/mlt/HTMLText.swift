/// Text for HTML documents.
enum HTMLText {
  /// Text in an element or a quoted attribute.
  ///
  /// Control characters, which could hide or reorder what stands around them, are written as their
  /// numbers.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default:
        if isControl(scalar) {
          result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: scalar != "\n"
    default: false
    }
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
