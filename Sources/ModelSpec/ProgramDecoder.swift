import CModelSchemas
import ModelGraph
import ModelTensors

/// Finds the bytes behind a program's blob references.
public protocol WeightResolver: Sendable {
  /// The tensor of `type` at `reference`.
  ///
  /// - Throws: ``SpecError`` or a file error when there is none or it does not fit the type.
  func source(
    for reference: BlobReference, elementType: ElementType, shape: [Int]
  ) throws -> any TensorSource
}

/// C program messages to the IR.
///
/// The case of a oneof is the number of its field.
struct ProgramDecoder {
  let weights: any WeightResolver

  func decode(_ pointer: UnsafeMutablePointer<CProgram>) throws -> Program {
    let message = pointer.pointee
    var program = Program(
      version: message.version,
      functions: NamedList(
        try messages(message.n_functions, message.functions).map { entry in
          let name = try text(entry.pointee.key)
          return (key: name, value: try function(entry.pointee.value, name))
        }),
      docString: try text(message.docstring),
      attributes: try NamedList(
        messages(message.n_attributes, message.attributes).map {
          try attribute($0.pointee.key, $0.pointee.value)
        }))
    program.unknownFields = unknownFields(message.base)
    return program
  }

  private func function(
    _ pointer: UnsafeMutablePointer<CFunction>?, _ name: String
  ) throws -> Function {
    guard let message = pointer?.pointee else {
      throw SpecError("function \"\(name)\" has no content")
    }
    var function = Function(
      inputs: try messages(message.n_inputs, message.inputs).map(namedValueType),
      opset: try text(message.opset),
      specializations: NamedList(
        try messages(message.n_block_specializations, message.block_specializations).map {
          entry in
          guard let content = entry.pointee.value else {
            throw SpecError("a block of function \"\(name)\" has no content")
          }
          return (key: try text(entry.pointee.key), value: try block(content, name))
        }),
      attributes: try NamedList(
        messages(message.n_attributes, message.attributes).map {
          try attribute($0.pointee.key, $0.pointee.value)
        }))
    function.unknownFields = unknownFields(message.base)
    return function
  }

  private func block(_ pointer: UnsafeMutablePointer<CBlock>, _ place: String) throws -> Block {
    let message = pointer.pointee
    var block = Block(
      inputs: try messages(message.n_inputs, message.inputs).map(namedValueType),
      outputs: try texts(message.n_outputs, message.outputs),
      operations: try messages(message.n_operations, message.operations).map {
        try operation($0, place)
      },
      attributes: try NamedList(
        messages(message.n_attributes, message.attributes).map {
          try attribute($0.pointee.key, $0.pointee.value)
        }))
    block.unknownFields = unknownFields(message.base)
    return block
  }

  private func operation(
    _ pointer: UnsafeMutablePointer<COperation>, _ place: String
  ) throws -> GraphOperation {
    let message = pointer.pointee
    do {
      var operation = GraphOperation(
        type: try text(message.type),
        inputs: NamedList(
          try messages(message.n_inputs, message.inputs).map { entry in
            (key: try text(entry.pointee.key), value: try argument(entry.pointee.value))
          }),
        outputs: try messages(message.n_outputs, message.outputs).map(namedValueType),
        blocks: try messages(message.n_blocks, message.blocks).map { try block($0, place) },
        attributes: try NamedList(
          messages(message.n_attributes, message.attributes).map {
            try attribute($0.pointee.key, $0.pointee.value)
          }))
      operation.unknownFields = unknownFields(message.base)
      return operation
    } catch let error as SpecError {
      let outputs = messages(message.n_outputs, message.outputs)
      let name = outputs.first.flatMap { try? text($0.pointee.name) } ?? ""
      throw error.at(place: "\(place)/\(name)")
    }
  }

  private func argument(_ pointer: UnsafeMutablePointer<CArgument>?) throws -> Argument {
    guard let message = pointer?.pointee else { return Argument([]) }
    var argument = Argument(
      try messages(message.n_arguments, message.arguments).map { entry in
        var binding = Binding(.absent)
        switch entry.pointee.binding_case.rawValue {
        case 1: binding.kind = .name(try text(entry.pointee.name))
        case 2: binding.kind = .value(try value(entry.pointee.value))
        default: break
        }
        binding.unknownFields = unknownFields(entry.pointee.base)
        return binding
      })
    argument.unknownFields = unknownFields(message.base)
    return argument
  }

  private func attribute(
    _ key: ProtobufCBinaryData, _ pointer: UnsafeMutablePointer<CValue>?
  ) throws -> (key: String, value: Value) {
    let name = try text(key)
    return (name, try pointer.map(value) ?? Value(type: nil, content: .absent))
  }

  private func namedValueType(
    _ pointer: UnsafeMutablePointer<CNamedValueType>
  ) throws -> NamedValueType {
    var named = NamedValueType(
      try text(pointer.pointee.name), try pointer.pointee.type.map(valueType))
    named.unknownFields = unknownFields(pointer.pointee.base)
    return named
  }

  private func valueType(_ pointer: UnsafeMutablePointer<CValueType>) throws -> ValueType {
    let message = pointer.pointee
    var type = ValueType(.absent)
    type.unknownFields = unknownFields(message.base)
    switch message.type_case.rawValue {
    case 1: type.kind = .tensor(try tensorType(message.tensortype))
    case 2:
      let list = message.listtype.pointee
      type.kind = .list(
        element: try list.type.map(valueType), length: list.length.map(dimension))
      type.kindUnknownFields = unknownFields(list.base)
    case 3:
      let tuple = message.tupletype.pointee
      type.kind = .tuple(try messages(tuple.n_types, tuple.types).map(valueType))
      type.kindUnknownFields = unknownFields(tuple.base)
    case 4:
      let dictionary = message.dictionarytype.pointee
      type.kind = .dictionary(
        key: try dictionary.keytype.map(valueType), value: try dictionary.valuetype.map(valueType))
      type.kindUnknownFields = unknownFields(dictionary.base)
    case 5:
      let state = message.statetype.pointee
      type.kind = .state(try state.wrappedtype.map(valueType))
      type.kindUnknownFields = unknownFields(state.base)
    default: break
    }
    return type
  }

  private func tensorType(_ pointer: UnsafeMutablePointer<CTensorType>) throws -> TensorType {
    let message = pointer.pointee
    var type = TensorType(
      dataType: DataType(rawValue: Int32(bitPattern: message.datatype.rawValue)),
      rank: message.rank,
      dimensions: messages(message.n_dimensions, message.dimensions).map(dimension),
      attributes: try NamedList(
        messages(message.n_attributes, message.attributes).map {
          try attribute($0.pointee.key, $0.pointee.value)
        }))
    type.unknownFields = unknownFields(message.base)
    for (name, value) in type.attributes {
      try value.forEachWeight { _ in
        // Nothing that writes weight files looks for weights in types.
        throw SpecError(
          "the attribute \"\(name)\" of a tensor type lies in a weight file", kind: .unsupported)
      }
    }
    return type
  }

  private func dimension(_ pointer: UnsafeMutablePointer<CDimension>) -> Dimension {
    let message = pointer.pointee
    var dimension = Dimension(.absent)
    dimension.unknownFields = unknownFields(message.base)
    switch message.dimension_case.rawValue {
    case 1:
      dimension.kind = .constant(message.constant.pointee.size)
      dimension.kindUnknownFields = unknownFields(message.constant.pointee.base)
    case 2:
      dimension.kind = .unknown(variadic: message.unknown.pointee.variadic != 0)
      dimension.kindUnknownFields = unknownFields(message.unknown.pointee.base)
    default: break
    }
    return dimension
  }

  private func value(_ pointer: UnsafeMutablePointer<CValue>) throws -> Value {
    let message = pointer.pointee
    var value = Value(type: try message.type.map(valueType), content: .absent)
    value.docString = try text(message.docstring)
    value.unknownFields = unknownFields(message.base)
    switch message.value_case.rawValue {
    case 3: value.content = .immediate(try immediate(message.immediatevalue))
    case 5:
      let blob = message.blobfilevalue.pointee
      let reference = BlobReference(fileName: try text(blob.filename), offset: blob.offset)
      guard let tensor = value.type?.tensor, let elementType = tensor.elementType,
        let shape = tensor.shape, Shape.elementCount(shape) != nil
      else {
        throw SpecError(
          "the value at offset \(blob.offset) of \(reference.fileName) is not a tensor of a "
            + "known element type and a shape that fits")
      }
      var weight = Weight(
        reference: reference,
        source: try weights.source(for: reference, elementType: elementType, shape: shape))
      weight.unknownFields = unknownFields(blob.base)
      value.content = .weight(weight)
    default: break
    }
    return value
  }

  private func immediate(
    _ pointer: UnsafeMutablePointer<CImmediateValue>
  ) throws -> ImmediateValue {
    let message = pointer.pointee
    var immediate = ImmediateValue(.absent)
    immediate.unknownFields = unknownFields(message.base)
    switch message.value_case.rawValue {
    case 1:
      let (literal, listFields) = try tensorLiteral(message.tensor.pointee)
      immediate.kind = .tensor(literal)
      immediate.kindUnknownFields = unknownFields(message.tensor.pointee.base)
      immediate.listUnknownFields = listFields
    case 2:
      let tuple = message.tuple.pointee
      immediate.kind = .tuple(try messages(tuple.n_values, tuple.values).map(value))
      immediate.kindUnknownFields = unknownFields(tuple.base)
    case 3:
      let list = message.list.pointee
      immediate.kind = .list(try messages(list.n_values, list.values).map(value))
      immediate.kindUnknownFields = unknownFields(list.base)
    case 4:
      let dictionary = message.dictionary.pointee
      immediate.kind = .dictionary(
        try messages(dictionary.n_values, dictionary.values).map { entry in
          var pair = ImmediateValue.Pair(
            key: try entry.pointee.key.map(value), value: try entry.pointee.value.map(value))
          pair.unknownFields = unknownFields(entry.pointee.base)
          return pair
        })
      immediate.kindUnknownFields = unknownFields(dictionary.base)
    default: break
    }
    return immediate
  }

  private func tensorLiteral(
    _ message: CTensorValue
  ) throws -> (TensorLiteral, UnknownFields) {
    switch message.value_case.rawValue {
    case 1:
      let list = message.floats.pointee
      return (.floats(scalars(list.n_values, list.values)), unknownFields(list.base))
    case 2:
      let list = message.ints.pointee
      return (.ints(scalars(list.n_values, list.values)), unknownFields(list.base))
    case 3:
      let list = message.bools.pointee
      return (
        .bools(scalars(list.n_values, list.values).map { $0 != 0 }), unknownFields(list.base)
      )
    case 4:
      let list = message.strings.pointee
      return (.strings(try texts(list.n_values, list.values)), unknownFields(list.base))
    case 5:
      let list = message.longints.pointee
      return (.longInts(scalars(list.n_values, list.values)), unknownFields(list.base))
    case 6:
      let list = message.doubles.pointee
      return (.doubles(scalars(list.n_values, list.values)), unknownFields(list.base))
    case 7:
      let list = message.bytes.pointee
      return (.bytes(content(list.values)), unknownFields(list.base))
    default: return (.absent, UnknownFields())
    }
  }
}
