import ModelTensors

extension MILReader {
  mutating func type() throws(MILTextError) -> ValueType {
    try enter()
    try skip()
    let start = at
    let word = try identifier("a type")
    let type: ValueType
    switch word {
    case "tensor": type = ValueType(.tensor(try tensorType()))
    case "list": type = try listType()
    case "tuple": type = try tupleType()
    case "dict":
      try expect("<")
      let key = try self.type()
      try expect(",")
      type = ValueType(.dictionary(key: key, value: try self.type()))
      try expect(">")
    case "state":
      try expect("<")
      type = ValueType(.state(try self.type()))
      try expect(">")
    default: type = .tensor(try elementType(word, at: start))
    }
    leave()
    return type
  }

  private func elementType(_ word: String, at start: Int) throws(MILTextError) -> ElementType {
    guard let type = ElementType(rawValue: word) else {
      throw error("unknown type `\(word.prefix(40))`", at: start)
    }
    return type
  }

  private mutating func tensorType() throws(MILTextError) -> TensorType {
    try expect("<")
    try skip()
    let start = at
    let elementType = try elementType(try identifier("an element type"), at: start)
    try expect(",")
    if try accept("?") {
      try expect(">")
      return TensorType(dataType: DataType(elementType), rank: -1, dimensions: [])
    }
    try expect("[")
    var dimensions: [Dimension] = []
    if try !accept("]") {
      repeat { dimensions.append(try dimension()) } while try accept(",")
      try expect("]")
    }
    try expect(">")
    return TensorType(
      dataType: DataType(elementType), rank: Int64(dimensions.count), dimensions: dimensions)
  }

  private mutating func dimension() throws(MILTextError) -> Dimension {
    if try accept("?") { return Dimension(.unknown(variadic: false)) }
    if try accept(".") {
      try expect(".")
      try expect(".")
      return Dimension(.unknown(variadic: true))
    }
    return Dimension(.constant(try unsigned("a size")))
  }

  private mutating func listType() throws(MILTextError) -> ValueType {
    try expect("<")
    let element = try type()
    let length = try accept(",") ? try dimension() : nil
    try expect(">")
    return ValueType(.list(element: element, length: length))
  }

  private mutating func tupleType() throws(MILTextError) -> ValueType {
    try expect("<")
    var types: [ValueType] = []
    if try !accept(">") {
      repeat { types.append(try type()) } while try accept(",")
      try expect(">")
    }
    return ValueType(.tuple(types))
  }
}
