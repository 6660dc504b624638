import CModelSchemas
import ModelGraph

/// The IR's program to C messages in an arena.
///
/// The case of a oneof is the number of its field.
struct ProgramEncoder {
  let arena: MessageArena

  func encode(_ program: Program) -> UnsafeMutablePointer<CProgram> {
    let message: UnsafeMutablePointer<CProgram> = arena.make(
      core_ml__specification__milspec__program__init, unknown: program.unknownFields)
    message.pointee.version = program.version
    message.pointee.docstring = arena.text(program.docString)
    (message.pointee.n_functions, message.pointee.functions) = arena.entries(
      program.functions, core_ml__specification__milspec__program__functions_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = self.function($2)
    }
    (message.pointee.n_attributes, message.pointee.attributes) = arena.entries(
      program.attributes, core_ml__specification__milspec__program__attributes_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = self.value($2)
    }
    return message
  }

  private func function(_ function: Function) -> UnsafeMutablePointer<CFunction> {
    let message: UnsafeMutablePointer<CFunction> = arena.make(
      core_ml__specification__milspec__function__init, unknown: function.unknownFields)
    (message.pointee.n_inputs, message.pointee.inputs) = arena.repeated(
      function.inputs, named)
    message.pointee.opset = arena.text(function.opset)
    (message.pointee.n_block_specializations, message.pointee.block_specializations) =
      arena.entries(
        function.specializations,
        core_ml__specification__milspec__function__block_specializations_entry__init
      ) {
        $0.pointee.key = $1
        $0.pointee.value = self.block($2)
      }
    (message.pointee.n_attributes, message.pointee.attributes) = arena.entries(
      function.attributes, core_ml__specification__milspec__function__attributes_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = self.value($2)
    }
    return message
  }

  private func block(_ block: Block) -> UnsafeMutablePointer<CBlock> {
    let message: UnsafeMutablePointer<CBlock> = arena.make(
      core_ml__specification__milspec__block__init, unknown: block.unknownFields)
    (message.pointee.n_inputs, message.pointee.inputs) = arena.repeated(
      block.inputs, named)
    (message.pointee.n_outputs, message.pointee.outputs) = arena.scalars(
      block.outputs.map(arena.text))
    (message.pointee.n_operations, message.pointee.operations) = arena.repeated(
      block.operations, operation)
    (message.pointee.n_attributes, message.pointee.attributes) = arena.entries(
      block.attributes, core_ml__specification__milspec__block__attributes_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = self.value($2)
    }
    return message
  }

  private func operation(_ operation: GraphOperation) -> UnsafeMutablePointer<COperation> {
    let message: UnsafeMutablePointer<COperation> = arena.make(
      core_ml__specification__milspec__operation__init, unknown: operation.unknownFields)
    message.pointee.type = arena.text(operation.type)
    (message.pointee.n_inputs, message.pointee.inputs) = arena.entries(
      operation.inputs, core_ml__specification__milspec__operation__inputs_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = self.argument($2)
    }
    (message.pointee.n_outputs, message.pointee.outputs) = arena.repeated(
      operation.outputs, named)
    (message.pointee.n_blocks, message.pointee.blocks) = arena.repeated(
      operation.blocks, block)
    (message.pointee.n_attributes, message.pointee.attributes) = arena.entries(
      operation.attributes, core_ml__specification__milspec__operation__attributes_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = self.value($2)
    }
    return message
  }

  private func argument(_ argument: Argument) -> UnsafeMutablePointer<CArgument> {
    let message: UnsafeMutablePointer<CArgument> = arena.make(
      core_ml__specification__milspec__argument__init, unknown: argument.unknownFields)
    (message.pointee.n_arguments, message.pointee.arguments) = arena.repeated(argument.bindings) {
      binding in
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
    }
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
