import ModelGraph
import ModelTensors

extension BlockVerifier {
  /// Checks one operation against its definition; nested blocks are walked elsewhere.
  mutating func check(_ operation: GraphOperation) {
    let place = "\(function)/\(operation.name)"
    if operation.type.isEmpty {
      report(.emptyName, .error, operation, "The operation has no type.")
      return
    }
    for output in operation.outputs { check(output, at: place) }
    for (name, value) in operation.attributes { check(value, operation, name) }
    for (name, argument) in operation.inputs {
      for binding in argument.bindings {
        if let value = binding.value { check(value, operation, name) }
        if binding.kind == .absent {
          report(.binding, .error, operation, name, "The input is bound to nothing.")
        }
      }
    }
    guard let definition = OperationTable.definition(of: operation.type, version: version) else {
      if let introduced = OperationTable.introduced(operation.type) {
        report(
          .operationVersion, .error, operation,
          "\(operation.type) needs specification version \(introduced), the function has "
            + "\(version).")
      } else {
        report(.unknownOperation, .note, operation, "\(operation.type) is no known operation.")
      }
      return
    }
    checkPresence(operation, definition)
    checkBlocks(operation, definition)
    checkTypes(operation, definition)
    if operation.isConst { checkConst(operation) }
    checkStateAccess(operation)
    if operation.isConstexpr { checkConstexpr(operation) }
  }

  private mutating func checkPresence(
    _ operation: GraphOperation, _ definition: OperationDefinition
  ) {
    for input in definition.inputs where input.isRequired {
      switch input.kind {
      case .block: continue
      case .attribute:
        if operation.attributes[input.name] == nil {
          report(.missingInput, .error, operation, input.name, "The attribute is missing.")
        }
      case .tensor, .tuple, .list, .state, .any:
        let isBound = operation.inputs[input.name].map { !$0.bindings.isEmpty } ?? false
        if !isBound, !(operation.isConstexpr && operation.attributes[input.name] != nil) {
          report(.missingInput, .error, operation, input.name, "The input is missing.")
        }
      }
    }
    var names = operation.inputs.keys
    if operation.isConstexpr { names += operation.attributes.keys.filter { $0 != "name" } }
    for name in names {
      let input = definition.input(name)
      if input == nil || input?.kind == .block || input?.kind == .attribute {
        let later = OperationTable.definitions(of: operation.type)
          .first { $0.version > version && $0.input(name) != nil }
        report(
          .unknownInput, isKnownVersion ? .error : .warning, operation, name,
          "\(operation.type) has no such input in specification version \(version).",
          hint: later.map { "Version \($0.version) has it." })
      }
    }
  }

  /// Whether the table knows the operations of this version.
  private var isKnownVersion: Bool { version <= 10 }

  private mutating func checkBlocks(
    _ operation: GraphOperation, _ definition: OperationDefinition
  ) {
    guard operation.blocks.count == definition.blockCount else {
      report(
        .blockCount, .error, operation,
        "\(operation.type) has \(operation.blocks.count) nested blocks, it should have "
          + "\(definition.blockCount).")
      return
    }
    func counts(_ block: Block, inputs: Int, outputs: Int) -> Bool {
      block.inputs.count == inputs && block.outputs.count == outputs
    }
    let isRight: Bool
    switch operation.type {
    case "cond":
      isRight = operation.blocks.allSatisfy {
        counts($0, inputs: 0, outputs: operation.outputs.count)
      }
    case "while_loop":
      let variables = operation.inputs["loop_vars"]?.bindings.count ?? 0
      isRight =
        operation.outputs.count == variables
        && counts(operation.blocks[0], inputs: variables, outputs: 1)
        && counts(operation.blocks[1], inputs: variables, outputs: variables)
    default: isRight = true
    }
    if !isRight {
      report(
        .blockCount, .error, operation,
        "The inputs and outputs of its blocks do not match those of the operation.")
    }
  }

  private mutating func checkTypes(
    _ operation: GraphOperation, _ definition: OperationDefinition
  ) {
    var variables: [String: (input: String, type: ElementType, isConst: Bool)] = [:]
    for input in definition.inputs {
      guard let bindings = bindings(operation, input.name) else { continue }
      let isConstant = bindings.allSatisfy { scope.isConstant($0) }
      // An undefined name is reported as such.
      let areDefined = bindings.allSatisfy { $0.name.map { scope.producer($0) != nil } ?? true }
      if input.isConst, !isConstant, areDefined, input.kind == .tensor || input.kind == .list {
        report(.notConstant, .error, operation, input.name, "The input must be a constant.")
      }
      let types = bindings.compactMap { $0.value?.type ?? $0.name.flatMap { scope.type($0) } }
      let isState = types.contains {
        if case .state = $0.kind { return true }
        return false
      }
      if isState != (input.kind == .state), !types.isEmpty {
        report(
          .state, .error, operation, input.name,
          isState ? "The input takes no state." : "The input must be a state.")
      }
      guard input.kind == .tensor else { continue }
      if bindings.count != 1 {
        report(
          .binding, .error, operation, input.name,
          "The input takes one value, \(bindings.count) are bound.")
      }
      guard let type = types.first?.tensor?.elementType else { continue }
      if !input.accepts(type) {
        report(
          .elementType, isKnownVersion ? .error : .warning, operation, input.name,
          "\(type.rawValue) is not accepted in specification version \(version), only "
            + input.elementTypes.map(\.rawValue).joined(separator: ", ") + ".")
      }
      guard let variable = input.typeVariable else { continue }
      guard let first = variables[variable] else {
        variables[variable] = (input.name, type, isConstant)
        continue
      }
      if first.type != type {
        // Constants may be of another float type than the tensors beside them.
        let isTolerated = (first.isConst || isConstant) && first.type.isFloat && type.isFloat
        report(
          .typeVariable, isTolerated ? .note : .error, operation, input.name,
          "The element type is \(type.rawValue), that of \(first.input) is "
            + "\(first.type.rawValue).")
      }
      if first.isConst, !isConstant { variables[variable] = (input.name, type, isConstant) }
    }
  }

  /// What a parameter is bound to; an attribute of a constexpr operation counts as bound.
  private func bindings(_ operation: GraphOperation, _ name: String) -> [Binding]? {
    if let argument = operation.inputs[name] { return argument.bindings }
    guard operation.isConstexpr, let value = operation.attributes[name] else { return nil }
    return [Binding(.value(value))]
  }

  /// What is read from or written to a state has the type that it wraps.
  private mutating func checkStateAccess(_ operation: GraphOperation) {
    guard case .state(let wrapped?) = scope.type(operation, "input")?.kind else { return }
    let value: ValueType?
    switch operation.type {
    case "read_state": value = operation.outputs.first?.type
    case "write_state": value = scope.type(operation, "data")
    default: return
    }
    if let value, !value.describesSameTensor(as: wrapped) {
      report(
        .state, .error, operation,
        "The state is one of \(wrapped.summary), the value \(value.summary).")
    }
  }

  private mutating func checkConst(_ operation: GraphOperation) {
    guard operation.outputs.count == 1, operation.inputs.isEmpty else {
      report(.outputType, .error, operation, "A const has no input and one output.")
      return
    }
    guard let value = operation.attributes["val"]?.type, let output = operation.outputs[0].type
    else { return }
    if !value.describesSameTensor(as: output) {
      report(
        .outputType, .error, operation,
        "The output is \(output.summary), the value \(value.summary).")
    }
  }
}
