import CYaml

/// A value of a configuration file: YAML, of which JSON is a part.
indirect enum ConfigNode: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case list([ConfigNode])
  case map([(key: String, value: ConfigNode)])

  static func == (left: ConfigNode, right: ConfigNode) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.string(let a), .string(let b)): a == b
    case (.list(let a), .list(let b)): a == b
    case (.map(let a), .map(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.key == $1.key && $0.value == $1.value }
    default: false
    }
  }
}

/// A configuration that cannot be used: the file, the line where known, and what is wrong.
public struct ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong, in one line.
  public var message: String
  /// Counted from 1.
  public var line: Int?

  /// The message with its line.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}

/// Reads a configuration file with libyaml.
enum ConfigReader {
  /// Deeper nesting is refused; aliases may not be circular.
  private static let maximumDepth = 16
  private static let maximumNodes = 100_000

  /// The documents of a file.
  ///
  /// - Throws: ``ConfigError`` where the text is no YAML.
  static func documents(_ text: [UInt8]) throws(ConfigError) -> [ConfigNode] {
    // libyaml takes quadratic time for deep nesting; brackets in quotes count too.
    var depth = 0
    for byte in text {
      if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") { depth += 1 }
      if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { depth -= 1 }
      if depth > 256 { throw ConfigError(message: "nested too deep") }
    }
    var parser = yaml_parser_t()
    guard yaml_parser_initialize(&parser) == 1 else {
      throw ConfigError(message: "libyaml cannot be started")
    }
    defer { yaml_parser_delete(&parser) }
    let result = text.withUnsafeBufferPointer { bytes in
      Result { () throws(ConfigError) in
        yaml_parser_set_input_string(&parser, bytes.baseAddress, bytes.count)
        return try documents(&parser)
      }
    }
    return try result.get()
  }

  private static func documents(_ parser: inout yaml_parser_t) throws(ConfigError) -> [ConfigNode] {
    var nodes: [ConfigNode] = []
    while true {
      var document = yaml_document_t()
      guard yaml_parser_load(&parser, &document) == 1 else {
        let problem = parser.problem.map { String(cString: $0) } ?? "not YAML"
        throw ConfigError(message: problem, line: Int(parser.problem_mark.line) + 1)
      }
      defer { yaml_document_delete(&document) }
      guard let root = yaml_document_get_root_node(&document) else { return nodes }
      var budget = maximumNodes
      nodes.append(try node(root, &document, depth: 0, &budget))
    }
  }

  private static func node(
    _ pointer: UnsafeMutablePointer<yaml_node_t>, _ document: inout yaml_document_t, depth: Int,
    _ budget: inout Int
  ) throws(ConfigError) -> ConfigNode {
    let node = pointer.pointee
    let line = Int(node.start_mark.line) + 1
    budget -= 1
    guard depth < maximumDepth, budget > 0 else {
      throw ConfigError(message: "nested too deep or too large", line: line)
    }
    switch node.type {
    case YAML_SCALAR_NODE:
      let bytes = UnsafeBufferPointer(
        start: node.data.scalar.value, count: node.data.scalar.length)
      let text = String(decoding: bytes, as: UTF8.self)
      return node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? plain(text) : .string(text)
    case YAML_SEQUENCE_NODE:
      var items: [ConfigNode] = []
      var item = node.data.sequence.items.start
      while let current = item, current != node.data.sequence.items.top {
        if let child = yaml_document_get_node(&document, current.pointee) {
          items.append(try self.node(child, &document, depth: depth + 1, &budget))
        }
        item = current + 1
      }
      return .list(items)
    case YAML_MAPPING_NODE:
      var pairs: [(key: String, value: ConfigNode)] = []
      var pair = node.data.mapping.pairs.start
      while let current = pair, current != node.data.mapping.pairs.top {
        if let keyNode = yaml_document_get_node(&document, current.pointee.key),
          let valueNode = yaml_document_get_node(&document, current.pointee.value)
        {
          let key = try self.node(keyNode, &document, depth: depth + 1, &budget)
          guard let name = text(of: key) else {
            throw ConfigError(message: "a key is no text", line: line)
          }
          if pairs.contains(where: { $0.key == name }) {
            throw ConfigError(message: "\"\(name)\" is given twice", line: line)
          }
          pairs.append((name, try self.node(valueNode, &document, depth: depth + 1, &budget)))
        }
        pair = current + 1
      }
      return .map(pairs)
    default: return .null
    }
  }

  private static func text(of node: ConfigNode) -> String? {
    switch node {
    case .string(let text): text
    case .integer(let number): String(number)
    case .number(let number): String(number)
    case .bool(let flag): String(flag)
    case .null: "null"
    case .list, .map: nil
    }
  }

  /// A scalar without quotes, by the rules of YAML's core schema.
  private static func plain(_ text: String) -> ConfigNode {
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return .bool(true)
    case "false", "False", "FALSE": return .bool(false)
    default: break
    }
    if let number = Int(text) { return .integer(number) }
    let isNumber = text.allSatisfy { "0123456789+-.eE".contains($0) }
    if isNumber, let number = Double(text) { return .number(number) }
    return .string(text)
  }
}
