extension MILReader {
  mutating func document() throws(MILTextError) -> MILDocument {
    try expect(word: "program")
    try expect("(")
    try skip()
    let start = at
    let version = try version()
    guard version.major == 1 else {
      throw error("MIL version \(version.major).\(version.minor), expected 1", at: start)
    }
    try expect(")")
    let attributes = try attributes()
    try expect("{")
    var functions = MILEntries<Function>()
    while try accept(word: "func") {
      try skip()
      let place = at
      let (name, function) = try function()
      if !functions.append(name, function) { throw error("two functions of one name", at: place) }
    }
    try expect("}")
    let end = at
    try skip()
    if at < bytes.count { throw unexpected("the end of the text") }
    return MILDocument(
      program: Program(functions: functions.list, attributes: attributes), version: version,
      endsWithNewline: end < bytes.count && bytes.last == UInt8(ascii: "\n"))
  }

  private mutating func version() throws(MILTextError) -> MILVersion {
    func digits() throws(MILTextError) -> Int {
      let start = at
      var value = 0
      while at < bytes.count, MILSyntax.isDigit(bytes[at]), at - start < 6 {
        value = value * 10 + Int(bytes[at] - UInt8(ascii: "0"))
        at += 1
      }
      if at == start { throw unexpected("a version") }
      return value
    }
    let major = try digits()
    try expect(".")
    return MILVersion(major: major, minor: try digits())
  }

  private mutating func function() throws(MILTextError) -> (String, Function) {
    let name = try name("a function's name")
    try expect("<")
    let opset = MILOpset.opset(try self.name("an opset"))
    try expect(">")
    let inputs = try parameters()
    let attributes = try attributes()
    let block = try block(inputs: [], attributes: [:])
    _ = try accept(";")
    return (
      name,
      Function(
        inputs: inputs, opset: opset, specializations: [opset: block], attributes: attributes)
    )
  }

  /// `(TYPE name, …)`.
  private mutating func parameters() throws(MILTextError) -> [NamedValueType] {
    try expect("(")
    if try accept(")") { return [] }
    let parameters = try typedNames()
    try expect(")")
    return parameters
  }

  /// `TYPE name, …`.
  private mutating func typedNames() throws(MILTextError) -> [NamedValueType] {
    var names: [NamedValueType] = []
    repeat {
      let type = try type()
      names.append(NamedValueType(try name("a name"), type))
    } while try accept(",")
    return names
  }

  /// `[name = value, …]`, or nothing.
  private mutating func attributes() throws(MILTextError) -> NamedList<Value> {
    guard try accept("[") else { return [:] }
    var entries = MILEntries<Value>()
    if try !accept("]") {
      repeat {
        try skip()
        let start = at
        let name = try name("an attribute")
        try expect("=")
        if !entries.append(name, try value()) {
          throw error("two attributes of one name", at: start)
        }
      } while try accept(",")
      try expect("]")
    }
    return entries.list
  }

  /// `{ operations } -> (names)`.
  private mutating func block(
    inputs: [NamedValueType], attributes: NamedList<Value>
  ) throws(MILTextError) -> Block {
    try expect("{")
    var operations: [GraphOperation] = []
    while try !accept("}") {
      if at == bytes.count { throw unexpected("an operation or `}`") }
      operations.append(try operation())
    }
    try expectArrow()
    try expect("(")
    var outputs: [String] = []
    if try !accept(")") {
      repeat { outputs.append(try name("an output")) } while try accept(",")
      try expect(")")
    }
    return Block(inputs: inputs, outputs: outputs, operations: operations, attributes: attributes)
  }

  private mutating func operation() throws(MILTextError) -> GraphOperation {
    var outputs: [NamedValueType] = []
    let first = try peek()
    let next = try byteBehindIdentifier()
    if first != UInt8(ascii: "\""), next != UInt8(ascii: "(") {
      outputs = try typedNames()
      try expect("=")
    }
    var operation = GraphOperation(type: try name("an operation"), outputs: outputs)
    operation.inputs = try arguments()
    operation.attributes = try attributes()
    if try accept("{") {
      while try !accept("}") { operation.blocks.append(try nestedBlock()) }
    }
    try expect(";")
    return operation
  }

  private mutating func nestedBlock() throws(MILTextError) -> Block {
    try enter()
    try expect(word: "block")
    let inputs = try parameters()
    let attributes = try attributes()
    let block = try block(inputs: inputs, attributes: attributes)
    _ = try accept(";")
    leave()
    return block
  }

  /// `(name = argument, …)`.
  private mutating func arguments() throws(MILTextError) -> NamedList<Argument> {
    try expect("(")
    var entries = MILEntries<Argument>()
    if try !accept(")") {
      repeat {
        try skip()
        let start = at
        let name = try name("an argument")
        try expect("=")
        if !entries.append(name, try argument()) {
          throw error("two arguments of one name", at: start)
        }
      } while try accept(",")
      try expect(")")
    }
    return entries.list
  }

  private mutating func argument() throws(MILTextError) -> Argument {
    guard try accept("(") else { return Argument([try binding()]) }
    var bindings: [Binding] = []
    if try !accept(")") {
      repeat { bindings.append(try binding()) } while try accept(",")
      try expect(")")
    }
    return Argument(bindings)
  }

  /// A value starts with its type; all else is a name.
  private mutating func binding() throws(MILTextError) -> Binding {
    if try peek() != UInt8(ascii: "\"") {
      let next = try byteBehindIdentifier()
      if next == UInt8(ascii: "<") || next == UInt8(ascii: "(") {
        return Binding(.value(try value()))
      }
    }
    return Binding(.name(try name("a name or a value")))
  }
}

/// Entries of a list whose names must differ.
private struct MILEntries<Element: Sendable> {
  private var entries: [(key: String, value: Element)] = []
  private var names: Set<String> = []

  /// Appends an entry; false when there is one of the name.
  mutating func append(_ name: String, _ value: Element) -> Bool {
    if entries.count < 8 {
      if entries.contains(where: { $0.key == name }) { return false }
    } else {
      if names.isEmpty { names = Set(entries.map(\.key)) }
      if !names.insert(name).inserted { return false }
    }
    entries.append((name, value))
    return true
  }

  var list: NamedList<Element> { NamedList(uniqueEntries: entries) }
}
