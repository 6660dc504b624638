import ModelGraph
import ModelTensors

/// The types that operations yield, from those of their inputs.
///
/// The rules follow the documentation of coremltools' MIL operations, corrected by what its own type
/// inference does; the conformance data holds a program for nearly every rule.
enum InferenceRules {
  typealias Rule = @Sendable (OperationCall) throws(InferenceFault) -> [InferredType]

  /// The types of an operation's outputs; nil for an operation without a rule.
  ///
  /// - Throws: ``InferenceFault`` when the inputs do not fit.
  static func infer(_ call: OperationCall) throws(InferenceFault) -> [InferredType]? {
    try all[call.operation.type]?(call)
  }

  /// Whether an operation has a rule.
  static func hasRule(_ type: String) -> Bool { all[type] != nil }

  private static let all: [String: Rule] = {
    var rules: [String: Rule] = [:]
    for group in [elementwise, reductions, layers, spatial, layout, indexing, constants, others] {
      rules.merge(group) { first, _ in first }
    }
    return rules
  }()

  /// One tensor.
  static func tensor(
    _ elementType: ElementType?, _ shape: [SymbolicSize]?, integers: [SymbolicSize]? = nil
  ) -> [InferredType] {
    [.tensor(InferredTensor(elementType, shape, integers: integers))]
  }

  /// A tensor like the input `x`.
  static let same: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    return tensor(x.elementType, x.shape)
  }

  private static func all(
    _ types: String, _ rule: @escaping Rule
  ) -> [(String, Rule)] {
    types.split(separator: " ").map { (String($0), rule) }
  }

  static func table(_ rows: (String, Rule)...) -> [String: Rule] {
    Dictionary(rows.flatMap { all($0.0, $0.1) }) { first, _ in first }
  }

  // MARK: Elementwise

  private static let elementwise = table(
    (
      """
      abs acos asin atan atanh ceil clamped_relu clip cos cosh elu erf exp exp2 floor gelu \
      identity inverse leaky_relu linear_activation log prelu relu relu6 round rsqrt scaled_tanh \
      sigmoid sigmoid_hard sign silu sin sinh softmax softplus softplus_parametric softsign sqrt \
      square tan tanh threshold thresholded_relu batch_norm instance_norm l2_norm layer_norm \
      local_response_norm band_part cumsum reverse reverse_sequence
      """, same
    ), ("logical_not", { call throws(InferenceFault) in tensor(.bool, try call.shape("x")) }),
    ("add sub mul floor_div real_div maximum minimum mod pow", arithmetic),
    (
      "equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor",
      { call throws(InferenceFault) in
        let (x, y) = (try call.tensor("x"), try call.tensor("y"))
        return tensor(.bool, try call.broadcast(x.shape, y.shape))
      }
    ),
    (
      "select",
      { call throws(InferenceFault) in
        let (a, b) = (try call.tensor("a"), try call.tensor("b"))
        let shape = try call.broadcast(a.shape, b.shape)
        return tensor(a.elementType, try call.broadcast(try call.tensor("cond").shape, shape))
      }
    ),
    (
      "cast",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let type = call.elementType("dtype", default: nil)
        let integers = type?.isInteger == true ? x.integers : nil
        return tensor(type, x.shape, integers: integers)
      }
    ),
    (
      "quantize",
      { call throws(InferenceFault) in
        tensor(call.elementType("output_dtype", default: nil), try call.shape("input"))
      }
    ),
    (
      "dequantize",
      { call throws(InferenceFault) in
        tensor(try call.tensor("scale").elementType, try call.shape("input"))
      }
    ))

  private static let arithmetic: Rule = { call throws(InferenceFault) in
    let (x, y) = (try call.tensor("x"), try call.tensor("y"))
    let shape = try call.broadcast(x.shape, y.shape)
    return tensor(
      x.elementType ?? y.elementType, shape, integers: computed(call, x, y, shape))
  }

  /// The sizes that an operation on sizes yields.
  private static func computed(
    _ call: OperationCall, _ x: InferredTensor, _ y: InferredTensor, _ shape: [SymbolicSize]?
  ) -> [SymbolicSize]? {
    guard let left = x.integers, let right = y.integers,
      let count = shape.flatMap({ InferredTensor(nil, $0).elementCount }), count <= 64,
      [1, count].contains(left.count), [1, count].contains(right.count)
    else { return nil }
    return (0..<count).map { index in
      let (one, two) = (left[left.count == 1 ? 0 : index], right[right.count == 1 ? 0 : index])
      switch call.operation.type {
      case "add": return call.symbols.sum(one, two)
      case "sub": return call.symbols.difference(one, two)
      case "mul": return call.symbols.product(one, two)
      case "floor_div", "real_div": return call.symbols.quotient(one, two)
      case "maximum", "minimum":
        guard let left = one.value, let right = two.value else {
          return one == two ? one : call.symbols.next()
        }
        return .known(call.operation.type == "maximum" ? max(left, right) : min(left, right))
      case "mod":
        guard let left = one.value, let right = two.value, right > 0 else {
          return call.symbols.next()
        }
        return .known((left % right + right) % right)
      default: return call.symbols.next()
      }
    }
  }

  // MARK: Reductions

  private static let reductions = table(
    (
      """
      reduce_l1_norm reduce_l2_norm reduce_log_sum reduce_log_sum_exp reduce_max reduce_mean \
      reduce_min reduce_prod reduce_sum reduce_sum_square
      """,
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        let axes = Set(try call.axes("axes", rank: shape.count))
        let result = reduced(shape, axes, keepsAxes: call.flag("keep_dims"))
        if call.operation.type == "reduce_prod", let integers = x.integers, result.isEmpty {
          return tensor(x.elementType, result, integers: [call.symbols.product(integers)])
        }
        return tensor(x.elementType, result)
      }
    ),
    (
      "reduce_argmax reduce_argmin",
      { call throws(InferenceFault) in
        let shape = try call.shape("x")
        let axis = try call.axis(try call.number("axis", default: -1), rank: shape.count)
        return tensor(
          call.elementType("output_dtype", default: .int32),
          reduced(shape, [axis], keepsAxes: call.flag("keep_dims")))
      }
    ),
    ("argsort", { call throws(InferenceFault) in tensor(.int32, try call.shape("x")) }),
    (
      "topk",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        var shape = try call.shape("x")
        let axis = try call.axis(try call.number("axis", default: -1), rank: shape.count)
        let count = call.has("k") ? call.integers("k")?.first ?? call.symbols.next() : 1
        if count != -1 { shape[axis] = count }
        let values = tensor(x.elementType, shape)
        if !call.flag("return_indices", default: true) { return values }
        return values
          + tensor(call.elementType("output_indices_dtype", default: .int32), shape)
      }
    ))

  private static func reduced(
    _ shape: [SymbolicSize], _ axes: Set<Int>, keepsAxes: Bool
  ) -> [SymbolicSize] {
    shape.enumerated().compactMap { axis, size in
      axes.contains(axis) ? (keepsAxes ? 1 : nil) : size
    }
  }
}
