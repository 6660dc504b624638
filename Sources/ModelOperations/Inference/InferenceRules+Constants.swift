import ModelGraph
import ModelTensors

extension InferenceRules {
  /// Constants, plain and decoded at load time.
  static let constants = table(
    (
      "const",
      { call throws(InferenceFault) in
        guard let value = call.operation.attributes["val"] else {
          throw call.fault("The constant has no value.")
        }
        return [InferredType(of: value, &call.scope.symbols)]
      }
    ),
    (
      "constexpr_cast",
      { call throws(InferenceFault) in
        tensor(call.elementType("output_dtype", default: nil), try call.shape("source_val"))
      }
    ),
    (
      "constexpr_affine_dequantize",
      { call throws(InferenceFault) in
        tensor(try call.tensor("scale").elementType, try call.shape("quantized_data"))
      }
    ),
    (
      "constexpr_blockwise_shift_scale",
      { call throws(InferenceFault) in
        tensor(try call.tensor("scale").elementType, try call.shape("data"))
      }
    ),
    (
      "constexpr_lut_to_dense",
      { call throws(InferenceFault) in
        let type = try call.tensor("lut").elementType
        if call.has("shape") { return tensor(type, call.integers("shape")) }
        return tensor(type, try decoded(call, indices: try call.shape("indices")))
      }
    ),
    (
      "constexpr_sparse_to_dense",
      { call throws(InferenceFault) in
        let type = try call.tensor("nonzero_data").elementType
        return tensor(type, call.has("shape") ? call.integers("shape") : try call.shape("mask"))
      }
    ),
    (
      "constexpr_lut_to_sparse",
      { call throws(InferenceFault) in
        let mask = try decoded(call, indices: try call.shape("indices_mask"))
        return tensor(.uint1, mask)
          + tensor(try call.tensor("lut").elementType, [call.symbols.next()])
      }
    ),
    (
      "constexpr_sparse_blockwise_shift_scale",
      { call throws(InferenceFault) in
        tensor(.uint1, try call.shape("data_mask"))
          + tensor(try call.tensor("scale").elementType, try call.shape("nonzero_data"))
      }
    ))

  /// The shape of indices whose table holds vectors along an axis.
  private static func decoded(
    _ call: OperationCall, indices: [SymbolicSize]
  ) throws(InferenceFault) -> [SymbolicSize] {
    let table = try call.shape("lut")
    guard let width = table.last, table.count == indices.count + 2 else { return indices }
    if width == 1 { return indices }
    var shape = indices
    let axis = try call.axis(try call.number("vector_axis"), rank: shape.count)
    shape[axis] = call.symbols.product(shape[axis], width)
    return shape
  }

  /// States, lists, branches, loops, and what fits nowhere else.
  static let others = table(
    (
      "read_state",
      { call throws(InferenceFault) in
        let state = try call.tensor("input")
        return tensor(state.elementType, state.shape)
      }
    ), ("write_state", { _ throws(InferenceFault) in [] }),
    (
      "non_maximum_suppression",
      { call throws(InferenceFault) in
        let (boxes, scores) = (try call.tensor("boxes"), try call.tensor("scores"))
        let shape = try call.shape("boxes")
        let classes = try call.shape("scores")
        let count = SymbolicSize.known(try call.number("max_boxes"))
        guard shape.count == 3, classes.count == 3 else {
          throw call.fault("boxes and scores have rank 3.")
        }
        if call.version >= 8 {
          return tensor(boxes.elementType, [shape[0], 4, count])
            + tensor(scores.elementType, [shape[0], classes[1], count])
            + tensor(.int32, [shape[0], count])
        }
        return tensor(boxes.elementType, [shape[0], count, 4])
          + tensor(scores.elementType, [shape[0], count, classes[2]])
          + tensor(.int32, [shape[0], count]) + tensor(.int32, [shape[0]])
      }
    ),
    (
      "cond while_loop",
      { call throws(InferenceFault) in
        let body = call.operation.type == "cond" ? 0 : 1
        guard call.operation.blocks.count == 2 else {
          throw call.fault("The operation has \(call.operation.blocks.count) blocks, not 2.")
        }
        let others = call.operation.blocks[1].outputs
        return call.operation.blocks[body].outputs.enumerated().map { index, name in
          let own = call.scope.values[name] ?? .other
          // Only what both branches yield, or the loop does not change, is known.
          let other = index < others.count ? call.scope.values[others[index]] ?? .other : .other
          return body == 0 && own != other ? common(own, other, call) : own
        }
      }
    ),
    (
      "classify",
      { call throws(InferenceFault) in call.operation.outputs.map { _ in .other } }
    ),
    (
      "make_list",
      { call throws(InferenceFault) in
        let type = call.elementType("dtype", default: .float32)
        var shape: [SymbolicSize] = []
        for binding in call.operation.inputs["elem_shape"]?.bindings ?? [] {
          let value = binding.value ?? binding.name.flatMap { call.scope.constants[$0] }
          shape += value?.intValues?.map(SymbolicSize.known) ?? [call.symbols.next()]
        }
        let isFixed = !call.flag("dynamic_length", default: true)
        let length = isFixed ? call.integers("init_length")?.first : nil
        return [.list(element: InferredTensor(type, shape), length: length)]
      }
    ),
    (
      "list_write list_scatter",
      { call throws(InferenceFault) in [try list(call).type] }
    ),
    (
      "list_read",
      { call throws(InferenceFault) in
        let element = try list(call).element
        return tensor(element.elementType, element.shape)
      }
    ),
    (
      "list_gather",
      { call throws(InferenceFault) in
        let element = try list(call).element
        let count = try call.shape("indices").first ?? 1
        return tensor(element.elementType, element.shape.map { [count] + $0 })
      }
    ),
    ("list_length", { _ throws(InferenceFault) in tensor(.int32, []) }))

  /// What two branches have in common.
  private static func common(
    _ one: InferredType, _ other: InferredType, _ call: OperationCall
  ) -> InferredType {
    guard case .tensor(let left) = one, case .tensor(let right) = other,
      left.elementType == right.elementType
    else { return .other }
    guard let shape = left.shape, let sizes = right.shape, shape.count == sizes.count else {
      return .tensor(InferredTensor(left.elementType, nil))
    }
    let known = zip(shape, sizes).map { $0 == $1 ? $0 : call.symbols.next() }
    return .tensor(InferredTensor(left.elementType, known))
  }

  private static func list(
    _ call: OperationCall
  ) throws(InferenceFault) -> (type: InferredType, element: InferredTensor) {
    guard let type = call.type("ls"), case .list(let element, _) = type else {
      throw call.fault("The input ls is no list.")
    }
    return (type, element)
  }
}
