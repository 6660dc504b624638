import ModelGraph
import ModelTensors

/// From specification version 9 the parameters of these operations are inputs, and packed bytes
/// are tensors of narrow elements. `constexpr_affine_dequantize` keeps its attributes.
extension UpgradeRules {
  /// Moves the parameters of `constexpr_cast` from attributes to inputs.
  static func constexprCast(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    var result = operation
    for name in ["source_val", "output_dtype"] {
      let value = try parameter(name, operation, context)
      result.attributes[name] = nil
      result.inputs[name] = .value(value)
    }
    return [result]
  }

  /// Turns packed indices and a table vector into indices of the weight's shape and a table of
  /// shape [1 …, entries, 1]; the bytes stay.
  static func constexprLookup(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    let indices = try parameter("indices", operation, context)
    let table = try parameter("lut", operation, context)
    let shape = try denseShape(operation, context)
    guard let tableType = table.type?.tensor, let element = tableType.elementType,
      let entries = tableType.shape, entries.count == 1, entries[0].nonzeroBitCount == 1,
      let narrow = ElementType.unsigned(bits: entries[0].trailingZeroBitCount),
      narrow.bitWidth <= 8
    else {
      throw context.refusal(operation, "the table is no vector of 2, 4, 16, 64 or 256 entries")
    }
    guard let newIndices = indices.reinterpreted(as: narrow, shape: shape) else {
      throw context.refusal(
        operation, "the indices do not make a \(narrow.rawValue) tensor of shape \(shape)")
    }
    let tableShape = shape.map { _ in 1 } + [entries[0], 1]
    guard let newTable = table.reinterpreted(as: element, shape: tableShape) else {
      throw context.refusal(operation, "the table does not match its type")
    }
    var result = operation
    for name in ["indices", "lut", "shape"] {
      result.attributes[name] = nil
      result.inputs[name] = nil
    }
    result.inputs["indices"] = .value(newIndices)
    result.inputs["lut"] = .value(newTable)
    return [result]
  }

  /// Turns a packed mask into a uint1 tensor of the weight's shape; the bytes stay.
  static func constexprSparse(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    let values = try parameter("nonzero_data", operation, context)
    let mask = try parameter("mask", operation, context)
    let shape = try denseShape(operation, context)
    guard let newMask = mask.reinterpreted(as: .uint1, shape: shape) else {
      throw context.refusal(operation, "the mask does not make a tensor of shape \(shape)")
    }
    var result = operation
    for name in ["nonzero_data", "mask", "shape"] {
      result.attributes[name] = nil
      result.inputs[name] = nil
    }
    result.inputs["nonzero_data"] = .value(values)
    result.inputs["mask"] = .value(newMask)
    return [result]
  }

  private static func parameter(
    _ name: String, _ operation: GraphOperation, _ context: UpgradeContext
  ) throws(UpgradeRefusal) -> Value {
    guard let value = context.scope.constant(operation, name) else {
      throw context.refusal(operation, "the parameter \(name) is missing")
    }
    return value
  }

  private static func denseShape(
    _ operation: GraphOperation, _ context: UpgradeContext
  ) throws(UpgradeRefusal) -> [Int] {
    let value = try parameter("shape", operation, context)
    guard let shape = value.intValues, Shape.elementCount(shape) != nil, !shape.isEmpty else {
      throw context.refusal(operation, "the parameter shape is no list of sizes")
    }
    return shape
  }
}
