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
      let text = text(of: node)
      let isPlain = node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
      return isPlain ? ConfigScalar.node(text) : .string(text)
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
      return .map(try members(of: node, &document, depth: depth, &budget))
    default: return .null
    }
  }

  /// The pairs of a mapping: those that `<<` merges into it first, then its own.
  ///
  /// A key is the text as it stands. Own pairs win over merged ones, of these the earlier ones.
  private static func members(
    of node: yaml_node_t, _ document: inout yaml_document_t, depth: Int, _ budget: inout Int
  ) throws(ConfigError) -> [(key: String, value: ConfigNode)] {
    let line = Int(node.start_mark.line) + 1
    var own = Members()
    var merged: Members?
    var pair = node.data.mapping.pairs.start
    while let current = pair, current != node.data.mapping.pairs.top {
      pair = current + 1
      guard let key = yaml_document_get_node(&document, current.pointee.key)?.pointee,
        let valueNode = yaml_document_get_node(&document, current.pointee.value)
      else { continue }
      guard key.type == YAML_SCALAR_NODE else {
        throw ConfigError(message: "a key is no text", line: line)
      }
      let name = text(of: key)
      let value = try self.node(valueNode, &document, depth: depth + 1, &budget)
      let isMerge = name == "<<" && key.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
      if isMerge ? merged != nil : own.contains(name) {
        throw ConfigError(message: "\"\(name)\" is given twice", line: line)
      }
      if isMerge {
        merged = try mergedPairs(value, line: line)
      } else {
        own.set(name, value)
      }
    }
    var all = merged ?? Members()
    for (key, value) in own.pairs { all.set(key, value) }
    return all.pairs
  }

  /// The pairs of a mapping, or of a list of them.
  private static func mergedPairs(_ node: ConfigNode, line: Int) throws(ConfigError) -> Members {
    var merged = Members()
    let items: [ConfigNode] = if case .list(let items) = node { items } else { [node] }
    for item in items {
      guard case .map(let pairs) = item else {
        throw ConfigError(message: "<< takes a mapping or a list of mappings", line: line)
      }
      for (key, value) in pairs where !merged.contains(key) { merged.set(key, value) }
    }
    return merged
  }

  /// Pairs in the order in which their keys came.
  private struct Members {
    private(set) var pairs: [(key: String, value: ConfigNode)] = []
    private var places: [String: Int] = [:]

    func contains(_ key: String) -> Bool { places[key] != nil }

    mutating func set(_ key: String, _ value: ConfigNode) {
      if let place = places[key] {
        pairs[place].value = value
      } else {
        places[key] = pairs.count
        pairs.append((key, value))
      }
    }
  }

  private static func text(of node: yaml_node_t) -> String {
    String(
      decoding: UnsafeBufferPointer(
        start: node.data.scalar.value, count: node.data.scalar.length), as: UTF8.self)
  }
}
