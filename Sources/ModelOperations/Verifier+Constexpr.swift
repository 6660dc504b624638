import ModelGraph
import ModelTensors

extension BlockVerifier {
  /// Checks the shapes of a constexpr operation's parameters and outputs against each other.
  mutating func checkConstexpr(_ operation: GraphOperation) {
    switch operation.type {
    case "constexpr_affine_dequantize": checkAffine(operation)
    case "constexpr_cast":
      if let source = fixed(operation, "source_val") {
        expect(operation, .float32, source.shape)
      }
    case "constexpr_blockwise_shift_scale":
      guard let data = fixed(operation, "data") else { return }
      checkScale(operation, data: "data", shape: data.shape)
      if let scale = fixed(operation, "scale") { expect(operation, scale.element, data.shape) }
    case "constexpr_lut_to_dense":
      if version < 9 { checkPackedTable(operation) } else { checkTable(operation) }
    case "constexpr_sparse_to_dense":
      if version < 9 { checkPackedSparse(operation) } else { checkSparse(operation) }
    case "constexpr_lut_to_sparse": checkSparseTable(operation)
    case "constexpr_sparse_blockwise_shift_scale":
      guard let mask = fixed(operation, "data_mask") else { return }
      checkScale(operation, data: "nonzero_data", shape: mask.shape)
      checkVector(operation, "nonzero_data")
      expect(operation, .uint1, mask.shape)
      if let scale = fixed(operation, "scale"), let data = fixed(operation, "nonzero_data") {
        expect(operation, output: 1, scale.element, data.shape)
      }
    default: break
    }
  }

  private typealias Fixed = (element: ElementType, shape: [Int])

  /// The type of a parameter whose shape is fixed.
  private func fixed(_ operation: GraphOperation, _ name: String) -> Fixed? {
    guard let tensor = scope.tensor(operation, name), let element = tensor.elementType,
      let shape = tensor.shape
    else { return nil }
    return (element, shape)
  }

  private mutating func fail(_ operation: GraphOperation, _ input: String, _ message: String) {
    report(.constexprShape, .error, operation, input, message)
  }

  private mutating func expect(
    _ operation: GraphOperation, output index: Int = 0, _ element: ElementType, _ shape: [Int]
  ) {
    guard operation.outputs.indices.contains(index) else {
      report(
        .outputType, .error, operation, "\(operation.type) should have \(index + 1) outputs.")
      return
    }
    guard let type = operation.outputs[index].type else { return }
    let expected = ValueType.tensor(element, shape)
    if !type.describesSameTensor(as: expected) {
      report(
        .outputType, .error, operation,
        "Output \(index) is \(type.summary), its inputs make \(expected.summary).")
    }
  }

  private mutating func checkVector(_ operation: GraphOperation, _ name: String) {
    if let value = fixed(operation, name), value.shape.count != 1 {
      fail(operation, name, "It must be a vector, its shape is \(value.shape).")
    }
  }

  private mutating func checkAffine(_ operation: GraphOperation) {
    guard let data = fixed(operation, "quantized_data"), let scale = fixed(operation, "scale")
    else { return }
    expect(operation, scale.element, data.shape)
    guard let value = scope.constant(operation, "axis")?.intValue else { return }
    guard let axis = Shape.normalized(axis: value, rank: data.shape.count) else {
      fail(operation, "axis", "Axis \(value) is outside the shape \(data.shape).")
      return
    }
    for name in ["scale", "zero_point"] {
      guard let parameter = fixed(operation, name) else { continue }
      if !parameter.shape.isEmpty, parameter.shape != [data.shape[axis]] {
        fail(
          operation, name,
          "The shape \(parameter.shape) is neither a scalar nor [\(data.shape[axis])].")
      }
    }
    if let zero = fixed(operation, "zero_point"), zero.element != .float32,
      zero.element != data.element
    {
      fail(operation, "zero_point", "It must have the type of the data, or fp32.")
    }
  }

  private mutating func checkScale(_ operation: GraphOperation, data: String, shape: [Int]) {
    guard let scale = fixed(operation, "scale") else { return }
    let divides =
      scale.shape.count == shape.count
      && zip(shape, scale.shape).allSatisfy { $1 > 0 && $0 % $1 == 0 }
    if !divides {
      fail(operation, "scale", "The shape \(scale.shape) does not divide \(shape).")
    }
    guard let offset = fixed(operation, "offset") else { return }
    if offset.shape != scale.shape {
      fail(operation, "offset", "The shape \(offset.shape) is not that of the scale.")
    }
    if let data = fixed(operation, data), !offset.element.isFloat, offset.element != data.element {
      fail(operation, "offset", "It must have the type of the data, or a float type.")
    }
  }

  private mutating func checkPackedTable(_ operation: GraphOperation) {
    checkVector(operation, "indices")
    checkVector(operation, "lut")
    guard let indices = fixed(operation, "indices"), let table = fixed(operation, "lut"),
      table.shape.count == 1
    else { return }
    guard [2, 4, 16, 64, 256].contains(table.shape[0]) else {
      fail(operation, "lut", "\(table.shape[0]) entries; there may be 2, 4, 16, 64 or 256.")
      return
    }
    guard let shape = denseShape(operation) else { return }
    let bits = table.shape[0].trailingZeroBitCount
    checkPacked(operation, "indices", indices.shape, bits: bits, shape)
    expect(operation, table.element, shape)
  }

  private mutating func checkPackedSparse(_ operation: GraphOperation) {
    checkVector(operation, "mask")
    checkVector(operation, "nonzero_data")
    guard let mask = fixed(operation, "mask"), let data = fixed(operation, "nonzero_data"),
      let shape = denseShape(operation)
    else { return }
    checkPacked(operation, "mask", mask.shape, bits: 1, shape)
    expect(operation, data.element, shape)
  }

  private func denseShape(_ operation: GraphOperation) -> [Int]? {
    scope.constant(operation, "shape")?.intValues
  }

  private mutating func checkPacked(
    _ operation: GraphOperation, _ name: String, _ packed: [Int], bits: Int, _ shape: [Int]
  ) {
    guard let count = Shape.elementCount(shape), count <= Int.max / 16 else {
      fail(operation, "shape", "The shape \(shape) has too many elements.")
      return
    }
    let bytes = (count * bits + 7) / 8
    if packed != [bytes] {
      fail(
        operation, name,
        "\(packed) bytes; \(count) elements of \(bits) bits take \(bytes).")
    }
  }

  /// The shape that a table makes of indices of `shape`, or nil when they do not match.
  private mutating func tableOutput(
    _ operation: GraphOperation, indices: String, shape: [Int]
  ) -> (shape: [Int], vector: Int)? {
    guard let index = fixed(operation, indices), let table = fixed(operation, "lut") else {
      return nil
    }
    guard !shape.isEmpty, table.shape.count == shape.count + 2 else {
      fail(
        operation, "lut",
        "The table has rank \(table.shape.count), for indices of rank \(shape.count) it should "
          + "have \(shape.count + 2).")
      return nil
    }
    let entries = table.shape[shape.count]
    let vector = table.shape[shape.count + 1]
    if !zip(shape, table.shape).allSatisfy({ $1 > 0 && $0 % $1 == 0 }) {
      fail(operation, "lut", "The shape \(table.shape) does not divide that of the indices.")
    }
    if entries != 1 << index.element.bitWidth {
      fail(
        operation, "lut",
        "\(entries) entries; \(index.element.rawValue) indices need "
          + "\(1 << index.element.bitWidth).")
    }
    if vector <= 1 { return (shape, 1) }
    guard let value = scope.constant(operation, "vector_axis")?.intValue,
      let axis = Shape.normalized(axis: value, rank: shape.count)
    else {
      fail(operation, "vector_axis", "A table of vectors needs an axis of the weight.")
      return nil
    }
    var output = shape
    let (size, overflow) = shape[axis].multipliedReportingOverflow(by: vector)
    if overflow { return nil }
    output[axis] = size
    return (output, vector)
  }

  private mutating func checkTable(_ operation: GraphOperation) {
    guard let indices = fixed(operation, "indices"), let table = fixed(operation, "lut"),
      let output = tableOutput(operation, indices: "indices", shape: indices.shape)
    else { return }
    expect(operation, table.element, output.shape)
  }

  private mutating func checkSparseTable(_ operation: GraphOperation) {
    checkVector(operation, "indices_nonzero_data")
    guard let mask = fixed(operation, "indices_mask"), let table = fixed(operation, "lut"),
      let data = fixed(operation, "indices_nonzero_data"), data.shape.count == 1,
      let output = tableOutput(
        operation, indices: "indices_nonzero_data", shape: mask.shape)
    else { return }
    expect(operation, .uint1, output.shape)
    let (values, overflow) = data.shape[0].multipliedReportingOverflow(by: output.vector)
    if !overflow { expect(operation, output: 1, table.element, [values]) }
  }

  private mutating func checkSparse(_ operation: GraphOperation) {
    checkVector(operation, "nonzero_data")
    guard let mask = fixed(operation, "mask"), let data = fixed(operation, "nonzero_data") else {
      return
    }
    expect(operation, data.element, mask.shape)
  }
}
