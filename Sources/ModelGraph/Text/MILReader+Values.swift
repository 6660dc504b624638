import ModelTensors

extension MILReader {
  /// `TYPE(content)`.
  mutating func value() throws(MILTextError) -> Value {
    let type = try type()
    try expect("(")
    var value = try content(of: type)
    // A type stays as it is written, unless the shape would be lost with it.
    if let tensor = type.tensor, let literal = value.literal {
      if tensor.shape(of: literal) == value.type?.tensor?.shape { value.type = type }
    } else {
      value.type = type
    }
    try expect(")")
    return value
  }

  /// The content of a value of `type`; sizes that the type leaves open are those of the content.
  private mutating func content(of type: ValueType) throws(MILTextError) -> Value {
    try enter()
    let value: Value
    switch type.kind {
    case .tensor(let tensor): value = try tensorContent(type, tensor)
    case .list(let element, _):
      value = Value(type: type, content: .immediate(ImmediateValue(.list(try list(element)))))
    case .tuple(let types):
      value = Value(type: type, content: .immediate(ImmediateValue(.tuple(try tuple(types)))))
    case .dictionary(let key, let element):
      let pairs = try dictionary(key, element)
      value = Value(type: type, content: .immediate(ImmediateValue(.dictionary(pairs))))
    case .state, .absent: throw error("a value of this type cannot be written")
    }
    leave()
    return value
  }

  private mutating func element(of type: ValueType?) throws(MILTextError) -> Value {
    guard let type else { throw error("a value without a type") }
    return try content(of: type)
  }

  private mutating func list(_ element: ValueType?) throws(MILTextError) -> [Value] {
    var values: [Value] = []
    try expect("[")
    if try !accept("]") {
      repeat { values.append(try self.element(of: element)) } while try accept(",")
      try expect("]")
    }
    return values
  }

  private mutating func tuple(_ types: [ValueType]) throws(MILTextError) -> [Value] {
    var values: [Value] = []
    try expect("(")
    for (index, type) in types.enumerated() {
      if index > 0 { try expect(",") }
      values.append(try content(of: type))
    }
    try expect(")")
    return values
  }

  private mutating func dictionary(
    _ key: ValueType?, _ element: ValueType?
  ) throws(MILTextError) -> [ImmediateValue.Pair] {
    var pairs: [ImmediateValue.Pair] = []
    try expect("{")
    if try !accept("}") {
      repeat {
        try expect("{")
        let pairKey = try self.element(of: key)
        try expect(",")
        pairs.append(.init(key: pairKey, value: try self.element(of: element)))
        try expect("}")
      } while try accept(",")
      try expect("}")
    }
    return pairs
  }

  private mutating func tensorContent(
    _ type: ValueType, _ tensor: TensorType
  ) throws(MILTextError) -> Value {
    try skip()
    let start = at
    if try accept(word: "BLOBFILE") {
      return Value(type: type, content: .weight(try weight(tensor, at: start)))
    }
    let literal = try tensorLiteral(tensor)
    guard let elementType = tensor.elementType else { throw error("a value without a type") }
    let isOpen = tensor.shape == nil
    return Value(
      type: isOpen ? .tensor(elementType, literal.shape) : type,
      content: .immediate(ImmediateValue(.tensor(literal.literal))))
  }

  private mutating func weight(
    _ type: TensorType, at start: Int
  ) throws(MILTextError) -> Weight {
    try expect("(")
    var fileName: String?
    var offset: UInt64?
    repeat {
      try skip()
      let place = at
      let key = try identifier("`path` or `offset`")
      try expect("=")
      let value = try value()
      switch key {
      case "path": fileName = value.stringValue
      case "offset": offset = value.unsignedValue
      default: throw error("a weight has no `\(key.prefix(40))`", at: place)
      }
    } while try accept(",")
    try expect(")")
    guard let fileName, let offset else {
      throw error(
        "a weight needs a path that is a string and an offset that is a number", at: start)
    }
    guard let elementType = type.elementType, elementType != .string, let shape = type.shape,
      let count = Shape.elementCount(shape), elementType.byteCount(of: count) != nil
    else { throw error("a weight must be a tensor of numbers whose shape fits", at: start) }
    let reference = BlobReference(fileName: fileName, offset: offset)
    do {
      return Weight(reference: reference, source: try resolver(reference, elementType, shape))
    } catch let cause {
      throw error("\(cause)", at: start, underlying: cause)
    }
  }

  private mutating func tensorLiteral(
    _ type: TensorType
  ) throws(MILTextError) -> (literal: TensorLiteral, shape: [Int]) {
    guard let elementType = type.elementType, type.rank >= 0 else {
      throw error("a constant of unknown rank")
    }
    guard type.dimensions.count <= MILWriter.depthLimit else {
      throw error("a constant of rank \(type.dimensions.count)")
    }
    var sizes: [Int?] = []
    for dimension in type.dimensions {
      switch dimension.kind {
      case .constant(let size):
        guard let size = Int(exactly: size) else { throw error("the size \(size) is too great") }
        sizes.append(size)
      case .unknown(variadic: false): sizes.append(nil)
      case .unknown, .absent: throw error("a constant of unknown rank")
      }
    }
    var elements = MILElements(elementType)
    try axis(0, &sizes, &elements)
    return (elements.literal, sizes.map { $0 ?? 0 })
  }

  private mutating func axis(
    _ axis: Int, _ sizes: inout [Int?], _ elements: inout MILElements
  ) throws(MILTextError) {
    guard axis < sizes.count else { return try element(into: &elements) }
    try skip()
    let start = at
    try expect("[")
    var count = 0
    if try !accept("]") {
      repeat {
        count += 1
        if let size = sizes[axis], count > size { throw error("more than \(size) elements") }
        try self.axis(axis + 1, &sizes, &elements)
      } while try accept(",")
      try expect("]")
    }
    if let size = sizes[axis], size != count {
      throw error("\(count) elements in the place of \(size)", at: start)
    }
    sizes[axis] = count
  }

  private mutating func element(into elements: inout MILElements) throws(MILTextError) {
    let type = elements.type
    if let format = elements.format {
      elements.append(try float(format, type))
    } else if type == .string {
      elements.append(try string())
    } else if type == .bool {
      if try accept(word: "true") {
        elements.append(1)
      } else if try accept(word: "false") {
        elements.append(0)
      } else {
        throw unexpected("`true` or `false`")
      }
    } else {
      elements.append(try integer(type))
    }
  }
}

/// Collects the elements of a literal in the list that the file format prescribes for the type.
private struct MILElements {
  let type: ElementType
  let format: FloatFormat?
  private var floats: [Float] = []
  private var doubles: [Double] = []
  private var ints: [Int32] = []
  private var longInts: [Int64] = []
  private var bools: [Bool] = []
  private var strings: [String] = []
  private var bytes: [UInt8] = []

  init(_ type: ElementType) {
    self.type = type
    format = FloatFormat(type)
  }

  mutating func append(_ text: String) { strings.append(text) }

  /// Appends the pattern of an element, its low bits.
  mutating func append(_ pattern: UInt64) {
    switch type {
    case .float32: floats.append(Float(bitPattern: UInt32(truncatingIfNeeded: pattern)))
    case .float64: doubles.append(Double(bitPattern: pattern))
    case .bool: bools.append(pattern != 0)
    case .int16, .int32, .uint16: ints.append(Int32(truncatingIfNeeded: pattern))
    case .int64, .uint64: longInts.append(Int64(bitPattern: pattern))
    default:
      for byte in 0..<max(1, type.bitWidth / 8) {
        bytes.append(UInt8(truncatingIfNeeded: pattern >> UInt64(byte * 8)))
      }
    }
  }

  var literal: TensorLiteral {
    switch type {
    case .float32: return .floats(floats)
    case .float64: return .doubles(doubles)
    case .bool: return .bools(bools)
    case .string: return .strings(strings)
    case .int16, .int32, .uint16: return .ints(ints)
    case .int64, .uint64: return .longInts(longInts)
    default:
      guard type.isSubByte, let size = type.byteCount(of: bytes.count) else { return .bytes(bytes) }
      var packed = [UInt8](repeating: 0, count: size)
      packed.withUnsafeMutableBytes { target in
        bytes.withUnsafeBufferPointer { BitPacking.pack($0, bits: type.bitWidth, into: target) }
      }
      return .bytes(packed)
    }
  }
}

extension Value {
  /// The number of an integer scalar that is not negative.
  fileprivate var unsignedValue: UInt64? {
    if type?.tensor?.elementType == .uint64, case .longInts(let values) = literal,
      values.count == 1
    {
      return UInt64(bitPattern: values[0])
    }
    return intValue.flatMap { UInt64(exactly: $0) }
  }
}
