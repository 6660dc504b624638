import ModelGraph

/// The names under which Apple's compiler counts operations in `metadata.json`, such as
/// `Ios16.reduceArgmax`: the opset that last changed the operation, not later than the function's,
/// and the operation's name in camel case; operations that no opset has changed have no prefix.
///
/// Which opset changed which operation is observed for the operations of ``observed``, in files of
/// Apple's compiler; of the others it is taken from the family that they belong to.
enum OperationNames {
  /// The name, and whether it rests on a file of Apple's compiler.
  static func name(
    of type: String, opset: String
  ) -> (name: String, isObserved: Bool) {
    let version = Opset.specificationVersion(opset) ?? 6
    let observed = self.observed[type]
    let changes = observed ?? families.first { $0.types.contains(type) }?.changes ?? []
    let words = type.split(separator: "_")
    let tail = words.dropFirst().map(capitalized).joined()
    guard let change = changes.last(where: { $0 <= version }) else {
      return ((words.first.map(capitalized) ?? "") + tail, observed != nil)
    }
    return ("Ios\(change + 9).\(words.first ?? "")\(tail)", observed != nil)
  }

  private static func capitalized(_ word: Substring) -> String {
    word.prefix(1).uppercased() + word.dropFirst()
  }

  /// Specification versions whose opsets changed an operation.
  private static let observed: [String: [Int]] = {
    let text = """
      789 add sub mul conv linear matmul cast reshape
      79 relu silu gelu softmax leaky_relu
      7 sigmoid einsum reduce_mean reduce_max constexpr_affine_dequantize upsample_bilinear
      78 reduce_argmax
      8 floor_div less logical_and logical_not lstm squeeze gather_along_axis topk
      89 layer_norm transpose expand_dims slice_by_index gather
      9 pow greater_equal conv_transpose batch_norm tanh rsqrt concat
      9 scaled_dot_product_attention constexpr_blockwise_shift_scale
      79 constexpr_lut_to_dense
      - select pad split tile
      """
    var changes: [String: [Int]] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      for word in words.dropFirst() {
        changes[String(word)] = words[0].compactMap(\.wholeNumberValue)
      }
    }
    return changes
  }()

  private static let families: [(types: Set<String>, changes: [Int])] = [
    (
      [
        "real_div", "maximum", "minimum", "mod", "equal", "not_equal", "greater", "less_equal",
        "logical_or", "logical_xor",
      ], [7, 8, 9]
    ),
    (
      [
        "elu", "clamped_relu", "linear_activation", "prelu", "relu6", "scaled_tanh",
        "sigmoid_hard", "softplus", "softplus_parametric", "softsign", "thresholded_relu", "exp",
        "exp2", "log", "sqrt", "square", "inverse", "abs", "ceil", "floor", "round", "sign", "erf",
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "atanh", "clip", "threshold",
        "instance_norm", "l2_norm", "local_response_norm",
      ], [7, 9]
    ),
    (
      [
        "reduce_sum", "reduce_prod", "reduce_min", "reduce_l1_norm", "reduce_l2_norm",
        "reduce_sum_square", "reduce_log_sum", "reduce_log_sum_exp", "avg_pool", "max_pool",
        "l2_pool", "resize_bilinear", "upsample_nearest_neighbor", "resize_nearest_neighbor",
        "crop_resize", "resample", "affine", "constexpr_sparse_to_dense", "constexpr_cast",
        "pixel_unshuffle", "gru", "rnn",
      ], [7]
    ),
    (
      ["reduce_argmin", "argsort", "scatter", "scatter_nd", "scatter_along_axis", "gather_nd"],
      [7, 8]
    ),
    (
      [
        "constexpr_lut_to_sparse", "constexpr_sparse_blockwise_shift_scale", "read_state",
        "write_state", "slice_update",
      ], [9]
    ),
  ]
}
