/// What a scalar without quotes means: YAML 1.1 as PyYAML reads it, and numbers such as `1e-12`.
enum ConfigScalar {
  static func node(_ text: String) -> ConfigNode {
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON": return .bool(true)
    case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF": return .bool(false)
    default: break
    }
    if let number = integer(text) { return .integer(number) }
    if let number = number(text) { return .number(number) }
    return .string(text)
  }

  /// `12`, `1_000`, `0x1F`, `0b101`, and octal numbers with a zero before them.
  private static func integer(_ text: String) -> Int? {
    let sign = text.hasPrefix("-") ? "-" : ""
    let body = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    let radix: Int
    let digits: Substring
    if body.hasPrefix("0x") {
      (radix, digits) = (16, body.dropFirst(2))
    } else if body.hasPrefix("0b") {
      (radix, digits) = (2, body.dropFirst(2))
    } else if body.count > 1, body.hasPrefix("0") {
      (radix, digits) = (8, body.dropFirst())
    } else {
      guard body.first?.isASCII == true, body.first?.isNumber == true else { return nil }
      (radix, digits) = (10, body)
    }
    let plain = digits.filter { $0 != "_" }
    guard plain.first != "-", plain.first != "+" else { return nil }
    return Int(sign + plain, radix: radix)
  }

  /// A number with a point or an exponent.
  private static func number(_ text: String) -> Double? {
    guard text.contains(where: { ".eE".contains($0) }), text.contains(where: \.isNumber),
      text.allSatisfy({ "0123456789+-.eE_".contains($0) }), !text.hasPrefix("_")
    else { return nil }
    return Double(text.filter { $0 != "_" })
  }
}
