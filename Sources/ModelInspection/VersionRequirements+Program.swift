import ModelGraph
import ModelOperations
import ModelTensors

extension VersionRequirements {
  mutating func add(_ program: Program) {
    require(6, "mlProgram")
    if program.functions.count > 1 { require(9, "several functions") }
    for function in program.functions.values {
      if function.inputs.contains(where: { if case .state = $0.type?.kind { true } else { false } })
      {
        require(9, "state")
      }
      if function.inputs.isEmpty { require(9, "function without inputs") }
      guard let block = function.activeBlock else { continue }
      var types: [String: TensorType] = [:]
      for input in function.inputs { types[input.name] = input.type?.tensor }
      block.forEachOperation { operation, _ in
        for nested in operation.blocks {
          for input in nested.inputs { types[input.name] = input.type?.tensor }
        }
        for output in operation.outputs { types[output.name] = output.type?.tensor }
      }
      block.forEachOperation { operation, _ in add(operation, types) }
    }
  }

  private mutating func add(_ operation: GraphOperation, _ types: [String: TensorType]) {
    if operation.isConst {
      if let type = operation.outputs.first?.type?.tensor?.elementType, type.isSubByte {
        require(9, "constants of type \(type.rawValue)", at: operation.name)
      }
      return
    }
    let definitions = OperationTable.definitions(of: operation.type)
    guard let first = definitions.first else { return }
    var fault: String?
    for definition in definitions {
      guard let next = mismatch(operation, definition, types) else {
        if definition.version > 6 {
          require(definition.version, reason(operation, fault), at: operation.name)
        }
        return
      }
      fault = next
    }
    // No known definition fits: the operation alone is what is sure.
    if first.version > 6 {
      require(first.version, reason(operation, nil), at: operation.name)
    }
  }

  private func reason(_ operation: GraphOperation, _ detail: String?) -> String {
    "operation \(operation.type)" + (detail.map { " with \($0)" } ?? "")
  }

  /// What of an operation a definition does not allow, or nil.
  private func mismatch(
    _ operation: GraphOperation, _ definition: OperationDefinition, _ types: [String: TensorType]
  ) -> String? {
    if definition.hasAttributeParameters { return attributeMismatch(operation, definition) }
    if operation.isConstexpr && operation.inputs.isEmpty { return "parameters as attributes" }
    var variables: [String: ElementType] = [:]
    for (name, argument) in operation.inputs {
      guard let input = definition.input(name) else { return "input \(name)" }
      guard input.kind == .tensor, argument.bindings.count == 1,
        let type = argument.value?.type?.tensor ?? argument.name.flatMap({ types[$0] }),
        let element = type.elementType
      else { continue }
      if !input.accepts(element) { return "\(name) of type \(element.rawValue)" }
      guard let variable = input.typeVariable else { continue }
      if let other = variables[variable], other != element {
        return "inputs of types \(other.rawValue) and \(element.rawValue)"
      }
      variables[variable] = element
    }
    if operation.type == "cast" && definition.version < 8,
      let result = operation.outputs.first?.type?.tensor?.elementType,
      result.isInteger && result.bitWidth < 32
    {
      return "result of type \(result.rawValue)"
    }
    return nil
  }

  private func attributeMismatch(
    _ operation: GraphOperation, _ definition: OperationDefinition
  ) -> String? {
    if !operation.inputs.isEmpty { return "parameters as inputs" }
    for (name, value) in operation.attributes where name != "name" {
      guard let input = definition.input(name) else { return "parameter \(name)" }
      if input.kind == .tensor, let element = value.type?.tensor?.elementType,
        !input.accepts(element)
      {
        return "\(name) of type \(element.rawValue)"
      }
    }
    return nil
  }
}
