/// A JSON document whose objects keep the order of their keys.
///
/// The contract puts `schema` first, which encoders that sort or hash keys cannot do.
enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([(String, JSONValue)])

  static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
  static func optional(_ number: Int?) -> JSONValue { number.map(JSONValue.integer) ?? .null }
  static func optional(_ number: Double?) -> JSONValue { number.map(JSONValue.number) ?? .null }
  static func strings(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
  static func integers(_ numbers: [Int]) -> JSONValue { .array(numbers.map(JSONValue.integer)) }

  /// The document as indented text; arrays of scalars on one line; what is not finite is null.
  var text: String {
    var output = ""
    write(to: &output, indent: 0)
    return output
  }

  private var isScalar: Bool {
    switch self {
    case .array(let items): items.isEmpty
    case .object(let members): members.isEmpty
    default: true
    }
  }

  private func write(to output: inout String, indent: Int) {
    switch self {
    case .null: output += "null"
    case .bool(let value): output += value ? "true" : "false"
    case .integer(let value): output += String(value)
    case .number(let value): output += value.isFinite ? JSONValue.text(value) : "null"
    case .string(let text): JSONValue.quote(text, into: &output)
    case .array(let items):
      if items.allSatisfy(\.isScalar) {
        output += "["
        for (index, item) in items.enumerated() {
          if index > 0 { output += ", " }
          item.write(to: &output, indent: indent)
        }
        output += "]"
      } else {
        let pad = String(repeating: "  ", count: indent + 1)
        output += "[\n"
        for (index, item) in items.enumerated() {
          output += pad
          item.write(to: &output, indent: indent + 1)
          output += index + 1 < items.count ? ",\n" : "\n"
        }
        output += String(repeating: "  ", count: indent) + "]"
      }
    case .object(let members):
      if members.isEmpty {
        output += "{}"
        return
      }
      let pad = String(repeating: "  ", count: indent + 1)
      output += "{\n"
      for (index, member) in members.enumerated() {
        output += pad
        JSONValue.quote(member.0, into: &output)
        output += ": "
        member.1.write(to: &output, indent: indent + 1)
        output += index + 1 < members.count ? ",\n" : "\n"
      }
      output += String(repeating: "  ", count: indent) + "}"
    }
  }

  private static func text(_ value: Double) -> String {
    if value == value.rounded(), abs(value) < 1e15 { return String(Int(value)) + ".0" }
    return "\(value)"
  }

  private static func quote(_ text: String, into output: inout String) {
    output += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": output += "\\\""
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\r": output += "\\r"
      case "\t": output += "\\t"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: output.unicodeScalars.append(scalar)
      }
    }
    output += "\""
  }
}
