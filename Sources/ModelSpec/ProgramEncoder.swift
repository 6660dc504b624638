import CModelSchemas
import ModelGraph

/// The IR's program to C messages in an arena. The case of a oneof is the number of its field.
struct ProgramEncoder {
  let arena: MessageArena

  func encode(_ program: Program) -> UnsafeMutablePointer<CProgram> {
    let message: UnsafeMutablePointer<CProgram> = arena.make(
      core_ml__specification__milspec__program__init, unknown: program.unknownFields)
    message.pointee.version = program.version
    message.pointee.docstring = arena.text(program.docString)
    message.pointee.n_functions = program.functions.count
    message.pointee.functions = arena.list(
      program.functions.map { name, function in
        let entry: UnsafeMutablePointer<CoreML__Specification__MILSpec__Program__FunctionsEntry> =
          arena.make(core_ml__specification__milspec__program__functions_entry__init)
        entry.pointee.key = arena.text(name)
        entry.pointee.value = self.function(function)
        return entry
      })
    message.pointee.n_attributes = program.attributes.count
    message.pointee.attributes = arena.list(
      program.attributes.map { name, value in
        let entry: UnsafeMutablePointer<CoreML__Specification__MILSpec__Program__AttributesEntry> =
          arena.make(core_ml__specification__milspec__program__attributes_entry__init)
        entry.pointee.key = arena.text(name)
        entry.pointee.value = self.value(value)
        return entry
      })
    return message
  }

  private func function(_ function: Function) -> UnsafeMutablePointer<CFunction> {
    let message: UnsafeMutablePointer<CFunction> = arena.make(
      core_ml__specification__milspec__function__init, unknown: function.unknownFields)
    message.pointee.n_inputs = function.inputs.count
    message.pointee.inputs = arena.list(function.inputs.map(named))
    message.pointee.opset = arena.text(function.opset)
    message.pointee.n_block_specializations = function.specializations.count
    message.pointee.block_specializations = arena.list(
      function.specializations.map { key, block in
        let entry:
          UnsafeMutablePointer<CoreML__Specification__MILSpec__Function__BlockSpecializationsEntry> =
            arena.make(
              core_ml__specification__milspec__function__block_specializations_entry__init)
        entry.pointee.key = arena.text(key)
        entry.pointee.value = self.block(block)
        return entry
      })
    message.pointee.n_attributes = function.attributes.count
    message.pointee.attributes = arena.list(
      function.attributes.map { name, value in
        let entry:
          UnsafeMutablePointer<CoreML__Specification__MILSpec__Function__AttributesEntry> =
            arena.make(core_ml__specification__milspec__function__attributes_entry__init)
        entry.pointee.key = arena.text(name)
        entry.pointee.value = self.value(value)
        return entry
      })
    return message
  }

  private func block(_ block: Block) -> UnsafeMutablePointer<CBlock> {
    let message: UnsafeMutablePointer<CBlock> = arena.make(
      core_ml__specification__milspec__block__init, unknown: block.unknownFields)
    message.pointee.n_inputs = block.inputs.count
    message.pointee.inputs = arena.list(block.inputs.map(named))
    message.pointee.n_outputs = block.outputs.count
    message.pointee.outputs = arena.array(block.outputs.map(arena.text))
    message.pointee.n_operations = block.operations.count
    message.pointee.operations = arena.list(block.operations.map(operation))
    message.pointee.n_attributes = block.attributes.count
    message.pointee.attributes = arena.list(
      block.attributes.map { name, value in
        let entry: UnsafeMutablePointer<CoreML__Specification__MILSpec__Block__AttributesEntry> =
          arena.make(core_ml__specification__milspec__block__attributes_entry__init)
        entry.pointee.key = arena.text(name)
        entry.pointee.value = self.value(value)
        return entry
      })
    return message
  }

  private func operation(_ operation: GraphOperation) -> UnsafeMutablePointer<COperation> {
    let message: UnsafeMutablePointer<COperation> = arena.make(
      core_ml__specification__milspec__operation__init, unknown: operation.unknownFields)
    message.pointee.type = arena.text(operation.type)
    message.pointee.n_inputs = operation.inputs.count
    message.pointee.inputs = arena.list(
      operation.inputs.map { name, argument in
        let entry: UnsafeMutablePointer<CoreML__Specification__MILSpec__Operation__InputsEntry> =
          arena.make(core_ml__specification__milspec__operation__inputs_entry__init)
        entry.pointee.key = arena.text(name)
        entry.pointee.value = self.argument(argument)
        return entry
      })
    message.pointee.n_outputs = operation.outputs.count
    message.pointee.outputs = arena.list(operation.outputs.map(named))
    message.pointee.n_blocks = operation.blocks.count
    message.pointee.blocks = arena.list(operation.blocks.map(block))
    message.pointee.n_attributes = operation.attributes.count
    message.pointee.attributes = arena.list(
      operation.attributes.map { name, value in
        let entry:
          UnsafeMutablePointer<CoreML__Specification__MILSpec__Operation__AttributesEntry> =
            arena.make(core_ml__specification__milspec__operation__attributes_entry__init)
        entry.pointee.key = arena.text(name)
        entry.pointee.value = self.value(value)
        return entry
      })
    return message
  }

  private func argument(_ argument: Argument) -> UnsafeMutablePointer<CArgument> {
    let message: UnsafeMutablePointer<CArgument> = arena.make(
      core_ml__specification__milspec__argument__init, unknown: argument.unknownFields)
    message.pointee.n_arguments = argument.bindings.count
    message.pointee.arguments = arena.list(
      argument.bindings.map { binding in
        let item: UnsafeMutablePointer<CBinding> = arena.make(
          core_ml__specification__milspec__argument__binding__init,
          unknown: binding.unknownFields)
        switch binding.kind {
        case .name(let name):
          item.pointee.name = arena.text(name)
          item.pointee.binding_case.rawValue = 1
        case .value(let value):
          item.pointee.value = self.value(value)
          item.pointee.binding_case.rawValue = 2
        case .absent: break
        }
        return item
      })
    return message
  }

  private func named(_ named: NamedValueType) -> UnsafeMutablePointer<CNamedValueType> {
    let message: UnsafeMutablePointer<CNamedValueType> = arena.make(
      core_ml__specification__milspec__named_value_type__init, unknown: named.unknownFields)
    message.pointee.name = arena.text(named.name)
    message.pointee.type = named.type.map(valueType)
    return message
  }
}
