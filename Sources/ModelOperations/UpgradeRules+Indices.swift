import ModelGraph
import ModelTensors

/// Indices below zero count from the end up to specification version 7 and are out of bounds from
/// 8 on.
///
/// Unsigned indices and those that cannot be negative stay. Constant ones are rewritten where the
/// sizes of the indexed axes are known. For all others `select(i >= 0, i, i + size)` is put before
/// the operation, the size taken from a `shape` operation when it is not fixed.
extension UpgradeRules {
  /// `gather`, `gather_along_axis`, `scatter`, `scatter_along_axis`: indices along one axis.
  static func alongAxis(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    guard mayBeNegative(operation, context) else { return [operation] }
    let data = operation.type.hasPrefix("gather") ? "x" : "data"
    let axisValue = context.scope.constant(operation, "axis")
    let axis = operation.inputs["axis"] == nil ? 0 : axisValue?.intValue
    guard let rank = context.rank(operation, data), let axis,
      let axis = Shape.normalized(axis: axis, rank: rank)
    else { throw context.refusal(operation, "the indexed axis is not known") }
    return try withPositiveIndices(operation, data: data, axes: axis..<axis + 1, &context)
  }

  /// `gather_nd`, `scatter_nd`: the last axis of the indices runs over leading axes of the data.
  static func leadingAxes(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    guard mayBeNegative(operation, context) else { return [operation] }
    let data = operation.type.hasPrefix("gather") ? "x" : "data"
    let batchValue = context.scope.constant(operation, "batch_dims")
    let first = operation.inputs["batch_dims"] == nil ? 0 : batchValue?.intValue
    guard let rank = context.rank(operation, data), let first, first >= 0,
      let depth = context.scope.tensor(operation, "indices")?.dimensions.last?.size,
      depth > 0, depth <= rank - first
    else { throw context.refusal(operation, "the indexed axes are not known") }
    return try withPositiveIndices(operation, data: data, axes: first..<first + depth, &context)
  }

  private static func mayBeNegative(
    _ operation: GraphOperation, _ context: UpgradeContext
  ) -> Bool {
    guard let argument = operation.inputs["indices"] else { return false }
    if let type = context.scope.tensor(operation, "indices")?.elementType,
      type.isInteger, !type.isSignedInteger
    {
      return false
    }
    if let value = argument.value { return value.hasNegative }
    return argument.name.map { !context.scope.isNonNegative($0) } ?? true
  }

  private static func withPositiveIndices(
    _ operation: GraphOperation, data: String, axes: Range<Int>, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    guard let dataType = context.scope.tensor(operation, data),
      let indicesType = context.scope.tensor(operation, "indices"),
      let dataArgument = operation.inputs[data], let indices = operation.inputs["indices"]
    else { throw context.refusal(operation, "the types of its inputs are not known") }
    var result = operation
    let fixedSizes = axes.map { dataType.dimensions[$0].size }
    let sizes = fixedSizes.compactMap { $0 }

    if sizes.count == axes.count, let value = context.scope.constant(operation, "indices"),
      let positive = value.addingSizes(sizes)
    {
      let constant = context.constant("\(operation.name)_indices", positive)
      result.inputs["indices"] = .output(constant)
      context.note(operation, "negative indices were made positive")
      return [constant, result]
    }

    var added: [GraphOperation] = []
    func append(_ operation: GraphOperation) -> Argument {
      added.append(operation)
      return .output(operation)
    }
    let base = operation.name
    let int32Type = ValueType(.tensor(indicesType.with(elementType: .int32)))
    var current = indices
    if indicesType.elementType != .int32 {
      let dtype = append(context.constant("\(base)_indices_dtype", .string("int32")))
      current = append(
        context.operation(
          "cast", "\(base)_indices_int32", ["x": current, "dtype": dtype], int32Type))
    }
    let sizeArgument: Argument
    if sizes.count == axes.count {
      let numbers = sizes.map { Int32(clamping: $0) }
      let value: Value =
        operation.type.hasSuffix("_nd") ? .int32s(numbers) : .int32(numbers.first ?? 0)
      sizeArgument = append(context.constant("\(base)_size", value))
    } else {
      let shape = append(
        context.operation(
          "shape", "\(base)_shape", ["x": dataArgument],
          .tensor(.int32, [dataType.dimensions.count])))
      let begin = append(
        context.constant("\(base)_size_begin", .int32s([Int32(clamping: axes.lowerBound)])))
      let end = append(
        context.constant("\(base)_size_end", .int32s([Int32(clamping: axes.upperBound)])))
      var inputs: NamedList<Argument> = ["x": shape, "begin": begin, "end": end]
      let isVector = operation.type.hasSuffix("_nd")
      if !isVector {
        inputs["squeeze_mask"] = append(
          context.constant("\(base)_size_squeeze", Value(.bool, [1], .bools([true]))))
      }
      sizeArgument = append(
        context.operation(
          "slice_by_index", "\(base)_size", inputs, .tensor(.int32, isVector ? [axes.count] : [])))
    }
    let zero = append(context.constant("\(base)_zero", .int32(0)))
    let isPositive = append(
      context.operation(
        "greater_equal", "\(base)_indices_positive", ["x": current, "y": zero],
        ValueType(.tensor(indicesType.with(elementType: .bool)))))
    let fromEnd = append(
      context.operation(
        "add", "\(base)_indices_from_end", ["x": current, "y": sizeArgument], int32Type))
    result.inputs["indices"] = append(
      context.operation(
        "select", "\(base)_indices", ["cond": isPositive, "a": current, "b": fromEnd], int32Type))
    context.note(operation, "a select makes negative indices positive")
    return added + [result]
  }
}

extension Value {
  /// Whether a constant holds a number below zero, or cannot be read.
  var hasNegative: Bool { signedElements?.contains { $0 < 0 } ?? true }

  /// The elements of an int32 or int16 tensor, however many.
  private var signedElements: [Int]? {
    guard let source = tensorSource, let bytes = try? source.bytes() else { return nil }
    return bytes.withUnsafeBytes { raw in
      switch source.elementType {
      case .int32:
        (0..<source.elementCount).map {
          Int(raw.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self))
        }
      case .int16:
        (0..<source.elementCount).map {
          Int(raw.loadUnaligned(fromByteOffset: 2 * $0, as: Int16.self))
        }
      default: intValues
      }
    }
  }

  /// The int32 or int16 tensor with `sizes`, which repeat along the last axis, added to the
  /// elements below zero.
  fileprivate func addingSizes(_ sizes: [Int]) -> Value? {
    guard let tensor = type?.tensor, let element = tensor.elementType, let shape = tensor.shape,
      element == .int32 || element == .int16, let elements = signedElements
    else { return nil }
    var positive: [Int32] = []
    positive.reserveCapacity(elements.count)
    for (index, number) in elements.enumerated() {
      let size = sizes[index % sizes.count]
      guard let sum = Int32(exactly: number < 0 ? number + size : number),
        element == .int32 || Int16(exactly: sum) != nil
      else { return nil }
      positive.append(sum)
    }
    return Value(element, shape, .ints(positive))
  }
}

extension ValueScope {
  /// Whether no element of an integer value can be below zero: sizes, positions, and what is made
  /// of them by moving elements or by arithmetic that keeps the sign.
  ///
  /// The search ends after a fixed number of operations, then the answer is no.
  func isNonNegative(_ name: String) -> Bool {
    var budget = 1000
    return isNonNegative(name, depth: 0, &budget)
  }

  private func isNonNegative(_ name: String, depth: Int, _ budget: inout Int) -> Bool {
    budget -= 1
    guard budget > 0, depth < 64, case .operation(let operation, let output) = producer(name)
    else { return false }
    func isNonNegative(_ input: String) -> Bool {
      guard let argument = operation.inputs[input], !argument.bindings.isEmpty else {
        return false
      }
      return argument.bindings.allSatisfy { binding in
        if let value = binding.value { return !value.hasNegative }
        return binding.name.map { self.isNonNegative($0, depth: depth + 1, &budget) } ?? false
      }
    }
    switch operation.type {
    case "const": return operation.attributes["val"].map { !$0.hasNegative } ?? false
    case "shape", "reduce_argmax", "reduce_argmin", "argsort", "non_zero": return true
    case "topk": return output == 1 || isNonNegative("x")
    case "cast", "expand_dims", "identity", "reshape", "reverse", "slice_by_index",
      "slice_by_size", "split", "squeeze", "tile", "transpose", "gather", "gather_along_axis",
      "gather_nd", "reduce_max", "reduce_min", "sliding_windows", "flatten2d":
      return isNonNegative("x")
    case "concat", "stack": return isNonNegative("values")
    case "add", "mul", "floor_div", "minimum", "mod":
      return isNonNegative("x") && isNonNegative("y")
    case "maximum": return isNonNegative("x") || isNonNegative("y")
    case "range_1d": return isNonNegative("start") && isNonNegative("step")
    case "select": return isNonNegative("a") && isNonNegative("b")
    default: return false
    }
  }
}
