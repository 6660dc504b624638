import CModelSchemas
import ModelGraph

extension ProgramEncoder {
  func valueType(_ type: ValueType) -> UnsafeMutablePointer<CValueType> {
    let message: UnsafeMutablePointer<CValueType> = arena.make(
      core_ml__specification__milspec__value_type__init, unknown: type.unknownFields)
    let unknown = type.kindUnknownFields
    switch type.kind {
    case .tensor(let tensor):
      message.pointee.tensortype = tensorType(tensor)
      message.pointee.type_case.rawValue = 1
    case .list(let element, let length):
      let list: UnsafeMutablePointer<CoreML__Specification__MILSpec__ListType> = arena.make(
        core_ml__specification__milspec__list_type__init, unknown: unknown)
      list.pointee.type = element.map(valueType)
      list.pointee.length = length.map(dimension)
      message.pointee.listtype = list
      message.pointee.type_case.rawValue = 2
    case .tuple(let types):
      let tuple: UnsafeMutablePointer<CoreML__Specification__MILSpec__TupleType> = arena.make(
        core_ml__specification__milspec__tuple_type__init, unknown: unknown)
      (tuple.pointee.n_types, tuple.pointee.types) = arena.repeated(
        types, valueType)
      message.pointee.tupletype = tuple
      message.pointee.type_case.rawValue = 3
    case .dictionary(let key, let value):
      let dictionary: UnsafeMutablePointer<CoreML__Specification__MILSpec__DictionaryType> =
        arena.make(core_ml__specification__milspec__dictionary_type__init, unknown: unknown)
      dictionary.pointee.keytype = key.map(valueType)
      dictionary.pointee.valuetype = value.map(valueType)
      message.pointee.dictionarytype = dictionary
      message.pointee.type_case.rawValue = 4
    case .state(let wrapped):
      let state: UnsafeMutablePointer<CoreML__Specification__MILSpec__StateType> = arena.make(
        core_ml__specification__milspec__state_type__init, unknown: unknown)
      state.pointee.wrappedtype = wrapped.map(valueType)
      message.pointee.statetype = state
      message.pointee.type_case.rawValue = 5
    case .absent: break
    }
    return message
  }

  private func tensorType(_ type: TensorType) -> UnsafeMutablePointer<CTensorType> {
    let message: UnsafeMutablePointer<CTensorType> = arena.make(
      core_ml__specification__milspec__tensor_type__init, unknown: type.unknownFields)
    message.pointee.datatype.rawValue = UInt32(bitPattern: type.dataType.rawValue)
    message.pointee.rank = type.rank
    (message.pointee.n_dimensions, message.pointee.dimensions) = arena.repeated(
      type.dimensions, dimension)
    (message.pointee.n_attributes, message.pointee.attributes) = arena.entries(
      type.attributes, core_ml__specification__milspec__tensor_type__attributes_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = self.value($2)
    }
    return message
  }

  private func dimension(_ dimension: Dimension) -> UnsafeMutablePointer<CDimension> {
    let message: UnsafeMutablePointer<CDimension> = arena.make(
      core_ml__specification__milspec__dimension__init, unknown: dimension.unknownFields)
    switch dimension.kind {
    case .constant(let size):
      message.pointee.constant = arena.make(
        core_ml__specification__milspec__dimension__constant_dimension__init,
        unknown: dimension.kindUnknownFields)
      message.pointee.constant.pointee.size = size
      message.pointee.dimension_case.rawValue = 1
    case .unknown(let variadic):
      message.pointee.unknown = arena.make(
        core_ml__specification__milspec__dimension__unknown_dimension__init,
        unknown: dimension.kindUnknownFields)
      message.pointee.unknown.pointee.variadic = variadic ? 1 : 0
      message.pointee.dimension_case.rawValue = 2
    case .absent: break
    }
    return message
  }

  func value(_ value: Value) -> UnsafeMutablePointer<CValue> {
    let message: UnsafeMutablePointer<CValue> = arena.make(
      core_ml__specification__milspec__value__init, unknown: value.unknownFields)
    message.pointee.docstring = arena.text(value.docString)
    message.pointee.type = value.type.map(valueType)
    switch value.content {
    case .immediate(let content):
      message.pointee.immediatevalue = immediate(content)
      message.pointee.value_case.rawValue = 3
    case .weight(let weight):
      let blob: UnsafeMutablePointer<CoreML__Specification__MILSpec__Value__BlobFileValue> =
        arena.make(
          core_ml__specification__milspec__value__blob_file_value__init,
          unknown: weight.unknownFields)
      blob.pointee.filename = arena.text(weight.reference.fileName)
      blob.pointee.offset = weight.reference.offset
      message.pointee.blobfilevalue = blob
      message.pointee.value_case.rawValue = 5
    case .absent: break
    }
    return message
  }

  private func immediate(_ content: ImmediateValue) -> UnsafeMutablePointer<CImmediateValue> {
    let message: UnsafeMutablePointer<CImmediateValue> = arena.make(
      core_ml__specification__milspec__value__immediate_value__init,
      unknown: content.unknownFields)
    let unknown = content.kindUnknownFields
    switch content.kind {
    case .tensor(let literal):
      message.pointee.tensor = tensorValue(
        literal, unknown: unknown, listUnknown: content.listUnknownFields)
      message.pointee.value_case.rawValue = 1
    case .tuple(let values):
      let tuple: UnsafeMutablePointer<CoreML__Specification__MILSpec__TupleValue> = arena.make(
        core_ml__specification__milspec__tuple_value__init, unknown: unknown)
      (tuple.pointee.n_values, tuple.pointee.values) = arena.repeated(
        values, value)
      message.pointee.tuple = tuple
      message.pointee.value_case.rawValue = 2
    case .list(let values):
      let list: UnsafeMutablePointer<CoreML__Specification__MILSpec__ListValue> = arena.make(
        core_ml__specification__milspec__list_value__init, unknown: unknown)
      (list.pointee.n_values, list.pointee.values) = arena.repeated(
        values, value)
      message.pointee.list = list
      message.pointee.value_case.rawValue = 3
    case .dictionary(let pairs):
      let dictionary: UnsafeMutablePointer<CoreML__Specification__MILSpec__DictionaryValue> =
        arena.make(core_ml__specification__milspec__dictionary_value__init, unknown: unknown)
      (dictionary.pointee.n_values, dictionary.pointee.values) = arena.repeated(pairs) { pair in
        let item:
          UnsafeMutablePointer<CoreML__Specification__MILSpec__DictionaryValue__KeyValuePair> =
            arena.make(
              core_ml__specification__milspec__dictionary_value__key_value_pair__init,
              unknown: pair.unknownFields)
        item.pointee.key = pair.key.map(value)
        item.pointee.value = pair.value.map(value)
        return item
      }
      message.pointee.dictionary = dictionary
      message.pointee.value_case.rawValue = 4
    case .absent: break
    }
    return message
  }

  private func tensorValue(
    _ literal: TensorLiteral, unknown: UnknownFields, listUnknown: UnknownFields
  ) -> UnsafeMutablePointer<CTensorValue> {
    let message: UnsafeMutablePointer<CTensorValue> = arena.make(
      core_ml__specification__milspec__tensor_value__init, unknown: unknown)
    var number: UInt32 = 0
    switch literal {
    case .floats(let values):
      number = 1
      message.pointee.floats = arena.make(
        core_ml__specification__milspec__tensor_value__repeated_floats__init,
        unknown: listUnknown)
      (message.pointee.floats.pointee.n_values, message.pointee.floats.pointee.values) =
        arena.scalars(values)
    case .ints(let values):
      number = 2
      message.pointee.ints = arena.make(
        core_ml__specification__milspec__tensor_value__repeated_ints__init, unknown: listUnknown)
      (message.pointee.ints.pointee.n_values, message.pointee.ints.pointee.values) = arena.scalars(
        values)
    case .bools(let values):
      number = 3
      message.pointee.bools = arena.make(
        core_ml__specification__milspec__tensor_value__repeated_bools__init,
        unknown: listUnknown)
      (message.pointee.bools.pointee.n_values, message.pointee.bools.pointee.values) =
        arena.scalars(values.map { $0 ? 1 : 0 })
    case .strings(let values):
      number = 4
      message.pointee.strings = arena.make(
        core_ml__specification__milspec__tensor_value__repeated_strings__init,
        unknown: listUnknown)
      (message.pointee.strings.pointee.n_values, message.pointee.strings.pointee.values) =
        arena.scalars(values.map(arena.text))
    case .longInts(let values):
      number = 5
      message.pointee.longints = arena.make(
        core_ml__specification__milspec__tensor_value__repeated_long_ints__init,
        unknown: listUnknown)
      (message.pointee.longints.pointee.n_values, message.pointee.longints.pointee.values) =
        arena.scalars(values)
    case .doubles(let values):
      number = 6
      message.pointee.doubles = arena.make(
        core_ml__specification__milspec__tensor_value__repeated_doubles__init,
        unknown: listUnknown)
      (message.pointee.doubles.pointee.n_values, message.pointee.doubles.pointee.values) =
        arena.scalars(values)
    case .bytes(let values):
      number = 7
      message.pointee.bytes = arena.make(
        core_ml__specification__milspec__tensor_value__repeated_bytes__init,
        unknown: listUnknown)
      message.pointee.bytes.pointee.values = arena.bytes(values)
    case .absent: break
    }
    message.pointee.value_case.rawValue = number
    return message
  }
}
