import ModelTensors

/// All MIL operations that are documented, by the specification version that changed them.
///
/// The table is text, parsed when it is first used. One entry is a name, a version, the type
/// variables with their domains (`T=F`) and the inputs in order: `name:type`, the name followed by
/// `?` when optional and by `!` when only a constant may be bound. A type is a variable, element
/// types separated by `/`, `*` for any tensor, or another kind in parentheses. Capital letters
/// abbreviate the domains of ``domains``.
public enum OperationTable {
  /// The newest definition of an operation that `version` has, or nil.
  ///
  /// - Parameter version: A specification version; later ones than the table knows have the newest.
  public static func definition(of type: String, version: Int) -> OperationDefinition? {
    parsed[type]?.last { $0.version <= version }
  }

  /// All definitions of an operation, oldest first; empty for an unknown one.
  public static func definitions(of type: String) -> [OperationDefinition] { parsed[type] ?? [] }

  /// The specification version that introduced an operation, or nil for an unknown one.
  public static func introduced(_ type: String) -> Int? { parsed[type]?.first?.version }

  /// The names of all operations, sorted.
  public static var allTypes: [String] { parsed.keys.sorted() }

  /// Whether an input may be bound to a float16 tensor.
  public static func acceptsFloat16(
    operation type: String, version: Int, input: String
  ) -> Bool {
    guard let input = definition(of: type, version: version)?.input(input) else { return false }
    switch input.kind {
    case .tensor: return input.accepts(.float16)
    case .tuple, .any, .attribute: return true
    case .list, .state, .block: return false
    }
  }

  /// The type variable of an input, or nil when its type is fixed or not known.
  public static func typeVariable(
    operation type: String, version: Int, input: String
  ) -> String? {
    definition(of: type, version: version)?.input(input)?.typeVariable
  }

  /// Operations of the table that coremltools writes without declaring them.
  static let undeclaredTypes = ["write_state"]

  /// Abbreviations of sets of element types.
  private static let domains: [Substring: [ElementType]] = [
    "F": [.float16, .float32],
    "N": [.float16, .float32, .int32],
    "A": [.bool, .float16, .float32, .int32],
    "I": [.int16, .int32, .int8],
    "L": [.float16, .float32, .int8, .uint8],
    "C": [.float16, .float32, .int4, .int8, .uint4, .uint8],
    "P": [.uint1, .uint2, .uint3, .uint4, .uint6, .uint8],
    "Q": [.float16, .float32, .int16, .int32, .int8, .uint16, .uint8],
    "W": [.bool, .float16, .float32, .int16, .int32, .int8, .uint16, .uint8],
  ]

  private static let parsed: [String: [OperationDefinition]] = {
    var table: [String: [OperationDefinition]] = [:]
    for text in [textAToE, textFToQ, textRToZ] {
      var entry: [Substring] = []
      for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
        if line.first != UInt8(ascii: " ") {
          add(entry, to: &table)
          entry = []
        }
        for word in line.split(separator: UInt8(ascii: " ")) { entry.append(Substring(word)) }
      }
      add(entry, to: &table)
    }
    return table
  }()

  private static func add(
    _ words: [Substring], to table: inout [String: [OperationDefinition]]
  ) {
    guard words.count >= 2, let version = Int(words[1]) else { return }
    var definition = OperationDefinition(type: String(words[0]), version: version, inputs: [])
    var variables: [Substring: [ElementType]] = [:]
    for word in words.dropFirst(2) {
      if let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) {
        variables[word[..<equals]] = elementTypes(word[word.utf8.index(after: equals)...])
      } else if let input = input(word, variables) {
        definition.inputs.append(input)
      }
    }
    table[definition.type, default: []].append(definition)
  }

  private static func input(
    _ word: Substring, _ variables: [Substring: [ElementType]]
  ) -> OperationDefinition.Input? {
    guard let colon = word.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    var name = word[..<colon].utf8
    let type = word[word.utf8.index(after: colon)...]
    var input = OperationDefinition.Input(
      name: "", kind: .tensor, isRequired: true, isConst: false, typeVariable: nil,
      elementTypes: [])
    if name.last == UInt8(ascii: "!") {
      input.isConst = true
      name.removeLast()
    }
    if name.last == UInt8(ascii: "?") {
      input.isRequired = false
      name.removeLast()
    }
    input.name = String(Substring(name))
    if type.utf8.first == UInt8(ascii: "(") {
      input.kind = OperationDefinition.Kind(rawValue: String(type.dropFirst().dropLast())) ?? .any
    } else if let domain = variables[type] {
      input.typeVariable = String(type)
      input.elementTypes = domain
    } else {
      input.elementTypes = elementTypes(type)
    }
    return input
  }

  private static func elementTypes(_ text: Substring) -> [ElementType] {
    domains[text]
      ?? text.utf8.split(separator: UInt8(ascii: "/")).compactMap {
        ElementType(rawValue: String(Substring($0)))
      }
  }
}
