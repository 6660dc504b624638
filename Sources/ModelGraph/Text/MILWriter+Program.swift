import ModelTensors

extension MILWriter {
  func write(_ program: Program, by printer: MILPrinter) throws(MILTextError) {
    noteProgram(program, printer)
    write("program(")
    write(number: Int64(version.major))
    write(".")
    write(number: Int64(version.minor))
    write(")\n")
    let attributes = try program.attributesMerging(printer.buildInfo)
    if !attributes.isEmpty {
      try write(attributes: attributes)
      write("\n")
    }
    write("{")
    for (name, function) in MILSyntax.sorted(program.functions) {
      place = name
      var function = function
      try FlexibleShapes(printer.description, function: name)?.add(to: &function, &notes, version)
      if printer.sortsInputs { function.inputs.sort { MILSyntax.precedes($0.name, $1.name) } }
      try write(function, name)
    }
    place = ""
    write("\n}")
    if printer.endsWithNewline { write("\n") }
  }

  private func noteProgram(_ program: Program, _ printer: MILPrinter) {
    noteUnknown(program.unknownFields)
    if program.version != 1 { notes.drops(.programVersion) }
    if !program.docString.isEmpty { notes.drops(.docStrings) }
    if program.functions.count > 1 { notes.rests(on: .multipleFunctions) }
    switch printer.specificationVersion {
    case nil, 7, 8, 9: break
    case 6: notes.rests(on: .header6)
    default: notes.rests(on: .headerOther)
    }
  }

  private func write(_ function: Function, _ name: String) throws(MILTextError) {
    noteUnknown(function.unknownFields)
    if function.specializations.count > 1 { notes.drops(.specializations) }
    guard let block = function.activeBlock else {
      throw error("no block for the opset \(function.opset)")
    }
    noteUnknown(block.unknownFields)
    if !block.inputs.isEmpty || !block.attributes.isEmpty { notes.drops(.blockParts) }
    line(4)
    write("func ")
    write(name: name)
    write("<")
    let opset = MILOpset.text(function.opset)
    if !["ios16", "ios17", "ios18"].contains(opset) { notes.rests(on: .opsets) }
    write(name: opset)
    write(">(")
    try write(parameters: function.inputs)
    write(")")
    if !function.attributes.isEmpty {
      write(" ")
      try write(attributes: MILSyntax.sorted(function.attributes))
    }
    write(" {")
    try write(block, operationsAt: 12, endAt: 8)
    write(";")
  }

  /// Writes the operations of a block and its closing brace with the outputs.
  private func write(
    _ block: Block, operationsAt indentation: Int, endAt end: Int
  ) throws(MILTextError) {
    let outer = place
    for operation in block.operations {
      if hasFailed { return }
      place = "\(outer)/\(operation.name)"
      line(indentation)
      try write(operation, at: indentation)
      passIfFull()
    }
    place = outer
    line(end)
    write("} -> (")
    for (index, name) in block.outputs.enumerated() {
      if index > 0 { write(", ") }
      write(name: name)
    }
    write(")")
  }

  private func write(parameters: [NamedValueType]) throws(MILTextError) {
    for (index, parameter) in parameters.enumerated() {
      if index > 0 { write(", ") }
      noteUnknown(parameter.unknownFields)
      try write(parameter.type)
      write(" ")
      write(name: parameter.name)
    }
  }

  private func write(attributes: [(key: String, value: Value)]) throws(MILTextError) {
    write("[")
    for (index, attribute) in attributes.enumerated() {
      if index > 0 { write(", ") }
      write(name: attribute.key)
      write(" = ")
      try write(attribute.value)
    }
    write("]")
  }

  private func write(_ operation: GraphOperation, at indentation: Int) throws(MILTextError) {
    note(operation)
    if !operation.outputs.isEmpty {
      try write(parameters: operation.outputs)
      write(" = ")
    }
    write(name: operation.type)
    write("(")
    for (index, input) in MILSyntax.sorted(operation.inputs).enumerated() {
      if index > 0 { write(", ") }
      write(name: input.key)
      write(" = ")
      try write(input.value)
    }
    write(")")
    if !operation.attributes.isEmpty {
      try write(attributes: MILSyntax.sorted(operation.attributes))
    }
    if !operation.blocks.isEmpty {
      write(" {")
      for block in operation.blocks { try write(nested: block, at: indentation + 4) }
      line(indentation)
      write("}")
    }
    write(";")
  }

  private func write(nested block: Block, at indentation: Int) throws(MILTextError) {
    try enter()
    defer { leave() }
    noteUnknown(block.unknownFields)
    line(indentation)
    write("block(")
    try write(parameters: block.inputs)
    write(")")
    if !block.attributes.isEmpty {
      write(" ")
      try write(attributes: MILSyntax.sorted(block.attributes))
    }
    write(" {")
    try write(block, operationsAt: indentation + 8, endAt: indentation + 4)
    write(";")
  }

  private func write(_ argument: Argument) throws(MILTextError) {
    noteUnknown(argument.unknownFields)
    if argument.bindings.count == 1 { return try write(argument.bindings[0]) }
    if argument.bindings.isEmpty || argument.bindings.contains(where: { $0.name == nil }) {
      notes.rests(on: .otherBindings)
    }
    write("(")
    for (index, binding) in argument.bindings.enumerated() {
      if index > 0 { write(", ") }
      try write(binding)
      passIfFull()
    }
    write(")")
  }

  private func write(_ binding: Binding) throws(MILTextError) {
    noteUnknown(binding.unknownFields)
    switch binding.kind {
    case .name(let name): write(name: name)
    case .value(let value): try write(value)
    case .absent: throw error("an argument is bound to nothing")
    }
  }

  private func note(_ operation: GraphOperation) {
    noteUnknown(operation.unknownFields)
    if operation.outputs.isEmpty { notes.rests(on: .noOutputs) }
    if !operation.blocks.isEmpty { notes.rests(on: .blocks) }
    if operation.type == "classify" { notes.rests(on: .classify) }
    if operation.isConstexpr, !operation.inputs.isEmpty { notes.rests(on: .constexprArguments) }
    for output in operation.outputs where !operation.isConst {
      if case .list = output.type?.kind { notes.rests(on: .lists) }
    }
    for (_, value) in operation.attributes where value.isAggregate { notes.rests(on: .aggregates) }
    for (_, input) in operation.inputs {
      for binding in input.bindings where binding.value?.isAggregate ?? false {
        notes.rests(on: .aggregates)
      }
    }
  }
}

extension Value {
  /// Whether it is a list, tuple or dictionary.
  fileprivate var isAggregate: Bool {
    guard case .immediate(let value) = content else { return false }
    if case .tensor = value.kind { return false }
    return true
  }
}

extension Program {
  /// The attributes sorted by name, with these entries in `buildInfo`, itself sorted.
  fileprivate func attributesMerging(
    _ entries: [String: String]
  ) throws(MILTextError) -> [(key: String, value: Value)] {
    var attributes = self.attributes
    let key = "buildInfo"
    if let value = attributes[key] {
      attributes[key] = try value.merging(entries)
    } else if !entries.isEmpty {
      let strings = ValueType(.dictionary(key: .tensor(.string), value: .tensor(.string)))
      let empty = Value(type: strings, content: .immediate(ImmediateValue(.dictionary([]))))
      attributes[key] = try empty.merging(entries)
    }
    return MILSyntax.sorted(attributes)
  }
}

extension Value {
  /// A dictionary of strings, sorted, with these entries put in.
  fileprivate func merging(_ entries: [String: String]) throws(MILTextError) -> Value {
    guard case .immediate(var immediate) = content,
      case .dictionary(var pairs) = immediate.kind,
      pairs.allSatisfy({ $0.key?.stringValue != nil })
    else {
      guard entries.isEmpty else {
        throw MILTextError("the program's buildInfo is not a dictionary of strings")
      }
      return self
    }
    pairs.removeAll { $0.key?.stringValue.map { entries[$0] != nil } ?? false }
    pairs += entries.map { ImmediateValue.Pair(key: .string($0.key), value: .string($0.value)) }
    pairs.sort { MILSyntax.precedes($0.key?.stringValue ?? "", $1.key?.stringValue ?? "") }
    immediate.kind = .dictionary(pairs)
    var copy = self
    copy.content = .immediate(immediate)
    return copy
  }
}
