import ModelGraph
import ModelTensors

extension UpgradeRules {
  /// `clip` with equal bounds, which version 8 rejects, becomes `maximum` and `minimum`.
  static func clip(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    guard let alpha = context.scope.constant(operation, "alpha")?.floatValue,
      let beta = context.scope.constant(operation, "beta")?.floatValue,
      let x = operation.inputs["x"], let low = operation.inputs["alpha"],
      let high = operation.inputs["beta"]
    else { throw context.refusal(operation, "its bounds are no constants") }
    if alpha < beta { return [operation] }
    guard alpha == beta else {
      throw context.refusal(operation, "alpha (\(alpha)) is above beta (\(beta))")
    }
    let maximum = context.operation(
      "maximum", "\(operation.name)_low", ["x": x, "y": low], operation.outputs.first?.type)
    var minimum = operation
    minimum.type = "minimum"
    minimum.inputs = ["x": .output(maximum), "y": high]
    context.note(operation, "clip with equal bounds became maximum and minimum")
    return [maximum, minimum]
  }

  /// Zeros of a constant shape are replaced by the sizes they stand for up to version 7, those of
  /// the same axis counted from the left; where the ranks are equal both readings agree.
  ///
  /// A computed shape stays: zeros were legal only where the ranks are equal.
  static func reshape(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    guard let value = context.scope.constant(operation, "shape") else { return [operation] }
    guard var sizes = value.intValues else {
      throw context.refusal(operation, "its shape is no list of sizes")
    }
    if !sizes.contains(0) || context.rank(operation, "x") == sizes.count { return [operation] }
    let dimensions = context.scope.tensor(operation, "x")?.dimensions ?? []
    let isRankKnown = context.rank(operation, "x") != nil
    for axis in sizes.indices where sizes[axis] == 0 {
      if isRankKnown, axis < dimensions.count, let size = dimensions[axis].size {
        sizes[axis] = size
      } else if isRankKnown, axis < dimensions.count, !sizes.contains(-1) {
        sizes[axis] = -1
      } else {
        throw context.refusal(operation, "the size that a zero in its shape stands for is unknown")
      }
    }
    let shape = context.constant(
      "\(operation.name)_shape", .int32s(sizes.map { Int32(clamping: $0) }))
    var result = operation
    result.inputs["shape"] = .output(shape)
    context.note(operation, "zeros in the shape were replaced by sizes")
    return [shape, result]
  }

  /// Transposes boxes and scores to and from the layout of version 8.
  ///
  /// The score threshold is gone and the number of boxes is no output any more, so both must be
  /// without effect: a threshold that every score reaches, a count that nothing uses.
  static func nonMaximumSuppression(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    guard operation.outputs.count == 4 else {
      throw context.refusal(operation, "it should have four outputs")
    }
    if context.used.contains(operation.outputs[3].name) {
      throw context.refusal(operation, "the number of boxes is no output from version 8 on")
    }
    guard let threshold = context.scope.constant(operation, "score_threshold"),
      let limit = threshold.floatValue
    else { throw context.refusal(operation, "its score_threshold is no constant") }
    let floor: Float = threshold.type?.tensor?.elementType == .float16 ? -65504 : -3.4e38
    let scoresAreKnown =
      limit <= 0
      && (operation.inputs["scores"]?.name.map(context.scope.isNonNegativeScore) ?? false)
    guard limit <= floor || scoresAreKnown else {
      throw context.refusal(
        operation, "there is no score_threshold from version 8 on, and \(limit) may exclude boxes")
    }

    var added: [GraphOperation] = []
    let permutation = context.constant("\(operation.name)_perm", .int32s([0, 2, 1]))
    added.append(permutation)
    var result = operation
    result.inputs["score_threshold"] = nil
    for name in ["boxes", "scores"] {
      guard let argument = operation.inputs[name] else { continue }
      let transposed = context.operation(
        "transpose", "\(operation.name)_\(name)", ["x": argument, "perm": .output(permutation)],
        context.scope.type(operation, name).map { $0.swappingLastAxes })
      added.append(transposed)
      result.inputs[name] = .output(transposed)
    }
    result.outputs.removeLast()
    var restored: [GraphOperation] = []
    for index in 0..<2 {
      let output = operation.outputs[index]
      let name = context.unusedName("\(output.name)_last")
      result.outputs[index] = NamedValueType(name, output.type.map { $0.swappingLastAxes })
      restored.append(
        GraphOperation(
          type: "transpose", inputs: ["x": .name(name), "perm": .output(permutation)],
          outputs: [output], attributes: ["name": .string(output.name)]))
    }
    context.note(operation, "boxes and scores are transposed to the layout of version 8")
    return added + [result] + restored
  }
}

extension ValueType {
  /// The type of the tensor with its last two axes swapped.
  fileprivate var swappingLastAxes: ValueType {
    guard var tensor, tensor.dimensions.count >= 2 else { return self }
    tensor.dimensions.swapAt(tensor.dimensions.count - 1, tensor.dimensions.count - 2)
    var copy = self
    copy.kind = .tensor(tensor)
    return copy
  }
}

extension ValueScope {
  /// Whether a float value is the output of a function that is never below zero, possibly moved.
  fileprivate func isNonNegativeScore(_ name: String) -> Bool {
    var name = name
    for _ in 0..<32 {
      guard case .operation(let operation, _) = producer(name) else { return false }
      switch operation.type {
      case "sigmoid", "sigmoid_hard", "softmax", "relu", "relu6", "abs", "square", "exp", "exp2",
        "softplus":
        return true
      case "cast", "expand_dims", "identity", "reshape", "slice_by_index", "slice_by_size", "split",
        "squeeze", "transpose", "gather":
        guard let next = operation.inputs["x"]?.name else { return false }
        name = next
      default: return false
      }
    }
    return false
  }
}
