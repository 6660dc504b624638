import ModelTensors

extension MILWriter {
  /// Writes `TYPE(content)`.
  func write(_ value: Value) throws(MILTextError) {
    try write(value.type)
    write("(")
    try writeContent(value, type: value.type, isNested: false)
    write(")")
  }

  /// Writes the content of a value of `type`; values in another do not name theirs.
  private func writeContent(
    _ value: Value, type: ValueType?, isNested: Bool
  ) throws(MILTextError) {
    try enter()
    defer { leave() }
    if !value.docString.isEmpty { notes.drops(.docStrings) }
    noteUnknown(value.unknownFields)
    guard let type else { throw error("a type is missing") }
    switch value.content {
    case .weight(let weight):
      guard let tensor = type.tensor, tensor.shape != nil else {
        throw error("a weight that is not a tensor of fixed shape")
      }
      if isNested {
        notes.rests(on: .nestedBlobs)
        if value.type != type { notes.drops(.valueTypes) }
      }
      write(weight)
    case .immediate(let immediate):
      noteUnknown(immediate.unknownFields)
      noteUnknown(immediate.kindUnknownFields)
      noteUnknown(immediate.listUnknownFields)
      try write(immediate, of: type, valueType: value.type, isNested: isNested)
    case .absent: throw error("a value without content")
    }
  }

  private func write(_ weight: Weight) {
    noteUnknown(weight.unknownFields)
    let scalars: (StaticString, StaticString) =
      version.hasBareScalars
      ? ("BLOBFILE(path = string(", "), offset = uint64(")
      : ("BLOBFILE(path = tensor<string, []>(", "), offset = tensor<uint64, []>(")
    write(scalars.0)
    write(string: weight.reference.fileName)
    write(scalars.1)
    write(number: weight.reference.offset)
    write("))")
  }

  private func write(
    _ value: ImmediateValue, of type: ValueType, valueType: ValueType?, isNested: Bool
  ) throws(MILTextError) {
    switch (type.kind, value.kind) {
    case (.tensor(let tensor), .tensor(let literal)):
      let shape = try shape(of: literal, tensor, valueType?.tensor)
      if isNested, let elementType = tensor.elementType {
        let expected = tensor.shape == nil ? ValueType.tensor(elementType, shape) : type
        if valueType != expected { notes.drops(.valueTypes) }
      }
      try write(literal, of: tensor, shape: shape)
    case (.list(let element, _), .list(let values)):
      if isNested, valueType != type { notes.drops(.valueTypes) }
      write("[")
      for (index, value) in values.enumerated() {
        if index > 0 { write(", ") }
        try writeContent(value, type: element, isNested: true)
        passIfFull()
      }
      write("]")
    case (.tuple(let types), .tuple(let values)):
      if isNested, valueType != type { notes.drops(.valueTypes) }
      guard types.count == values.count else {
        throw error("a tuple of \(types.count) types and \(values.count) values")
      }
      write("(")
      for (index, value) in values.enumerated() {
        if index > 0 { write(", ") }
        try writeContent(value, type: types[index], isNested: true)
      }
      write(")")
    case (.dictionary(let key, let element), .dictionary(let pairs)):
      if isNested, valueType != type { notes.drops(.valueTypes) }
      write("{")
      for (index, pair) in pairs.enumerated() {
        noteUnknown(pair.unknownFields)
        if index > 0 { write(", ") }
        guard let pairKey = pair.key, let pairValue = pair.value else {
          throw error("a dictionary entry without key or value")
        }
        write("{")
        try writeContent(pairKey, type: key, isNested: true)
        write(", ")
        try writeContent(pairValue, type: element, isNested: true)
        write("}")
        passIfFull()
      }
      write("}")
    default: throw error("a value of another kind than its type")
    }
  }

  /// The shape in which the elements are written.
  private func shape(
    of literal: TensorLiteral, _ type: TensorType, _ own: TensorType?
  ) throws(MILTextError) -> [Int] {
    if let shape = type.shape { return shape }
    if let shape = own?.shape, shape.count == type.dimensions.count { return shape }
    guard let shape = type.shape(of: literal) else {
      throw error("a constant whose type does not say its shape")
    }
    return shape
  }
}

extension TensorType {
  /// The shape of a literal of this type: a single unknown size follows from the number of elements.
  func shape(of literal: TensorLiteral) -> [Int]? {
    if let shape { return shape }
    let unknown = dimensions.indices.filter { dimensions[$0].size == nil }
    var shape = dimensions.map { $0.size ?? 1 }
    guard unknown.count == 1, case .unknown(variadic: false) = dimensions[unknown[0]].kind,
      let known = Shape.elementCount(shape), known > 0,
      let count = literal.elementCount(of: elementType), count % known == 0
    else { return nil }
    shape[unknown[0]] = count / known
    return shape
  }
}

extension TensorLiteral {
  /// The number of elements of `type`; nil for packed ones that do not end with a byte.
  fileprivate func elementCount(of type: ElementType?) -> Int? {
    guard case .bytes(let bytes) = self else { return count }
    guard let bits = type?.bitWidth, bits >= 8, bytes.count % (bits / 8) == 0 else { return nil }
    return bytes.count / (bits / 8)
  }

  /// Whether the elements are in the list that the file format prescribes for the type.
  func usesList(of type: ElementType) -> Bool {
    switch (self, type) {
    case (.floats, .float32), (.doubles, .float64), (.bools, .bool), (.strings, .string),
      (.ints, .int32), (.ints, .int16), (.ints, .uint16), (.longInts, .int64),
      (.longInts, .uint64):
      true
    case (.bytes, .float32), (.bytes, .float64), (.bytes, .bool), (.bytes, .string),
      (.bytes, .int32), (.bytes, .int16), (.bytes, .uint16), (.bytes, .int64), (.bytes, .uint64):
      false
    case (.bytes, _): true
    default: false
    }
  }
}
