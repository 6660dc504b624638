import ModelTensors

extension MILWriter {
  /// Writes the elements of a tensor, one pair of brackets per axis.
  func write(
    _ literal: TensorLiteral, of type: TensorType, shape: [Int]
  ) throws(MILTextError) {
    guard let elementType = type.elementType else { throw error("an unknown element type") }
    guard let count = Shape.elementCount(shape), Self.isWritable(shape) else {
      throw error("a constant of the shape \(shape)")
    }
    if !literal.usesList(of: elementType) { notes.drops(.lists) }
    switch literal {
    case .bytes(let bytes):
      guard elementType != .string, elementType.byteCount(of: count) == bytes.count else {
        throw error("\(bytes.count) bytes for \(count) elements of \(elementType.rawValue)")
      }
      try writePacked(bytes, elementType, shape, count)
    case .absent:
      guard count == 0 else { throw error("a constant without elements") }
      try writeNested(shape) { (_) throws(MILTextError) in }
    default:
      guard literal.count == count else {
        throw error("\(literal.count) elements for the shape \(shape)")
      }
      try writeList(literal, elementType, shape)
    }
  }

  /// Whether the brackets of empty rows stay within reason.
  private static func isWritable(_ shape: [Int]) -> Bool {
    guard let empty = shape.firstIndex(of: 0) else { return true }
    guard let rows = Shape.elementCount(Array(shape[..<empty])) else { return false }
    return rows <= 1 << 16
  }

  private func writeList(
    _ literal: TensorLiteral, _ type: ElementType, _ shape: [Int]
  ) throws(MILTextError) {
    switch (literal, type) {
    case (.floats(let values), .float32):
      try writeNested(shape) { (index) throws(MILTextError) in
        write(.single, UInt64(values[index].bitPattern))
      }
    case (.doubles(let values), .float64):
      try writeNested(shape) { (index) throws(MILTextError) in
        write(.double, values[index].bitPattern)
      }
    case (.bools(let values), .bool):
      try writeNested(shape) { (index) throws(MILTextError) in
        write(values[index] ? "true" : "false")
      }
    case (.strings(let values), .string):
      try writeNested(shape) { (index) throws(MILTextError) in write(string: values[index]) }
    case (.longInts(let values), .int64):
      try writeNested(shape) { (index) throws(MILTextError) in write(number: values[index]) }
    case (.longInts(let values), .uint64):
      try writeNested(shape) { (index) throws(MILTextError) in
        write(number: UInt64(bitPattern: values[index]))
      }
    case (.ints(let values), .uint32):
      try writeNested(shape) { (index) throws(MILTextError) in
        write(number: UInt64(UInt32(bitPattern: values[index])))
      }
    case (.ints(let values), .int8), (.ints(let values), .int16), (.ints(let values), .int32),
      (.ints(let values), .uint8), (.ints(let values), .uint16):
      let range = type.integerRange
      try writeNested(shape) { (index) throws(MILTextError) in
        let value = Int64(values[index])
        guard range.contains(value) else {
          throw error("the element \(value) is none of \(type.rawValue)")
        }
        write(number: value)
      }
    default: throw error("a list of elements that are not \(type.rawValue)")
    }
  }

  private func writePacked(
    _ bytes: [UInt8], _ type: ElementType, _ shape: [Int], _ count: Int
  ) throws(MILTextError) {
    let bits = type.bitWidth
    if type.isSubByte {
      let used = count * bits % 8
      if used > 0, let last = bytes.last, last >> UInt8(used) != 0 { notes.drops(.padding) }
      try writeNested(shape) { (index) throws(MILTextError) in
        let code = bytes.withUnsafeBytes { BitPacking.code($0, at: index, bits: bits) }
        if type == .int4 {
          write(number: Int64(Int8(bitPattern: code << 4) >> 4))
        } else {
          write(number: UInt64(code))
        }
      }
      return
    }
    let size = bits / 8
    let format = FloatFormat(type)
    try writeNested(shape) { (index) throws(MILTextError) in
      var pattern: UInt64 = 0
      for byte in 0..<size { pattern |= UInt64(bytes[index * size + byte]) << UInt64(byte * 8) }
      if let format {
        write(format, pattern)
      } else if type == .bool {
        write(pattern != 0 ? "true" : "false")
      } else if type.isSignedInteger {
        let shift = UInt64(64 - bits)
        write(number: Int64(bitPattern: pattern << shift) >> Int64(shift))
      } else {
        write(number: pattern)
      }
    }
  }

  private func writeNested(
    _ shape: [Int], _ body: (Int) throws(MILTextError) -> Void
  ) throws(MILTextError) {
    guard shape.count <= Self.depthLimit else { throw error("a constant of rank \(shape.count)") }
    guard !shape.isEmpty else { return try body(0) }
    var next = 0
    try writeAxis(0, shape, &next, body)
  }

  private func writeAxis(
    _ axis: Int, _ shape: [Int], _ next: inout Int, _ body: (Int) throws(MILTextError) -> Void
  ) throws(MILTextError) {
    write("[")
    for index in 0..<shape[axis] {
      if index > 0 { write(", ") }
      if axis + 1 < shape.count {
        try writeAxis(axis + 1, shape, &next, body)
      } else {
        try body(next)
        next += 1
        passIfFull()
      }
    }
    write("]")
  }
}

extension ElementType {
  /// The values of an integer type; those of `uint64` end where `Int64` does.
  var integerRange: ClosedRange<Int64> {
    guard isInteger else { return 0...0 }
    if bitWidth == 64 { return isSignedInteger ? .min ... .max : 0 ... .max }
    let span = Int64(1) << Int64(bitWidth)
    return isSignedInteger ? -span / 2...span / 2 - 1 : 0...span - 1
  }
}
