import ModelTensors

extension MILWriter {
  func write(_ type: ValueType?) throws(MILTextError) {
    guard let type else { throw error("a type is missing") }
    try enter()
    defer { leave() }
    noteUnknown(type.unknownFields)
    noteUnknown(type.kindUnknownFields)
    switch type.kind {
    case .tensor(let tensor): try write(tensor)
    case .list(let element, let length):
      write("list<")
      try write(element)
      if let length {
        write(", ")
        try write(length)
      }
      write(">")
    case .tuple(let types):
      write("tuple<")
      for (index, type) in types.enumerated() {
        if index > 0 { write(", ") }
        try write(type)
      }
      write(">")
    case .dictionary(let key, let value):
      write("dict<")
      try write(key)
      write(", ")
      try write(value)
      write(">")
    case .state(let wrapped):
      notes.rests(on: .states)
      write("state<")
      try write(wrapped)
      write(">")
    case .absent: throw error("a type is of no kind")
    }
  }

  private func write(_ type: TensorType) throws(MILTextError) {
    noteUnknown(type.unknownFields)
    if !type.attributes.isEmpty { notes.drops(.typeAttributes) }
    guard let elementType = type.elementType else {
      throw error("the element type \(type.dataType.rawValue) has no name")
    }
    note(elementType)
    let isUnranked = type.rank == -1 && type.dimensions.isEmpty
    if type.dimensions.isEmpty, !isUnranked, version.hasBareScalars {
      noteRank(type)
      write(text: elementType.rawValue)
      return
    }
    write("tensor<")
    write(text: elementType.rawValue)
    if isUnranked {
      notes.rests(on: .variadicShapes)
      write(", ?>")
      return
    }
    noteRank(type)
    write(", [")
    for (index, dimension) in type.dimensions.enumerated() {
      if index > 0 { write(", ") }
      try write(dimension)
    }
    write("]>")
  }

  private func noteRank(_ type: TensorType) {
    if type.rank != Int64(type.dimensions.count) { notes.drops(.rank) }
  }

  private func write(_ dimension: Dimension) throws(MILTextError) {
    noteUnknown(dimension.unknownFields)
    noteUnknown(dimension.kindUnknownFields)
    switch dimension.kind {
    case .constant(let size): write(number: size)
    case .unknown(variadic: false): write("?")
    case .unknown(variadic: true):
      notes.rests(on: .variadicShapes)
      write("...")
    case .absent: throw error("a dimension of a type is of no kind")
    }
  }

  private func note(_ type: ElementType) {
    switch type {
    case .bfloat16, .float8E4M3FN, .float8E5M2: notes.rests(on: .smallFloats)
    case .uint32: notes.rests(on: .unsignedTypes)
    default: if type.isSubByte { notes.rests(on: .narrowTypes) }
    }
  }
}
