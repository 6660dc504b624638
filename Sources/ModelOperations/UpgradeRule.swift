import ModelGraph

/// What becomes of an operation in the specification version that changed it.
struct UpgradeRule: Sendable {
  typealias Rewrite =
    @Sendable (GraphOperation, inout UpgradeContext) throws(UpgradeRefusal) -> [GraphOperation]

  let type: String
  /// The version that brought the change.
  let version: Int
  /// What changed, and what is done about it.
  let summary: String
  /// nil when every use of the older form means the same in the newer one.
  let rewrite: Rewrite?
}

/// The rules for all operations that a specification version changed.
enum UpgradeRules {
  /// The rule of an operation in a version, or nil when it needs no change.
  static func rewrite(_ type: String, _ version: Int) -> UpgradeRule.Rewrite? {
    rewrites[Key(type: type, version: version)]
  }

  private struct Key: Hashable {
    var type: String
    var version: Int
  }

  private static let rewrites: [Key: UpgradeRule.Rewrite] = {
    var rewrites: [Key: UpgradeRule.Rewrite] = [:]
    for rule in table {
      if let rewrite = rule.rewrite {
        rewrites[Key(type: rule.type, version: rule.version)] = rewrite
      }
    }
    return rewrites
  }()

  /// One rule per operation and version that changed it, by version, then by name.
  static let table: [UpgradeRule] =
    [
      same("crop_resize", 7, "pad_value added, 0 by default"),
      same("gather", 7, "batch_dims added, 0 by default; int16 and uint16 indices"),
      same("gather_along_axis", 7, "int16 and uint16 indices"),
      same("gather_nd", 7, "batch_dims added, 0 by default; int16 and uint16 indices"),
      same("resample", 7, "float16 coordinates"),
      same("topk", 7, "sort and return_indices added, both true by default"),
      same("upsample_bilinear", 7, "half_pixel_centers added, !align_corners by default"),
    ]
    + parameterTypesFreed.map { same($0, 8, "parameters may have another type than x") }
    + typesAdded.map { same($0, 8, "8- and 16-bit integers accepted") }
    + [
      changed(
        "clip", 8, "alpha must be below beta: equal bounds become maximum and minimum",
        UpgradeRules.clip),
      same("conv_transpose", 8, "weight may be computed, parameters of another type than x"),
      changed(
        "crop_resize", 8, "roi split into boxes and box_indices, one axis less",
        UpgradeRules.cropResize),
      changed(
        "gather", 8, "negative indices made positive; validate_indices false by default",
        UpgradeRules.alongAxis),
      changed("gather_along_axis", 8, "as gather", UpgradeRules.alongAxis),
      changed("gather_nd", 8, "as gather, for the leading axes", UpgradeRules.leadingAxes),
      same("gru", 8, "float16 accepted"),
      same("lstm", 8, "float16 accepted"),
      same("matmul", 8, "x and y may have other types when one is constant"),
      changed(
        "non_maximum_suppression", 8, "boxes last, no score_threshold, no count",
        UpgradeRules.nonMaximumSuppression),
      same("reduce_argmax", 8, "output_dtype added, int32 by default"),
      same("reduce_argmin", 8, "output_dtype added, int32 by default"),
      changed(
        "reshape", 8, "zeros align from the right: replaced where the ranks differ",
        UpgradeRules.reshape),
      same("rnn", 8, "float16 accepted"),
      changed("scatter", 8, "as gather", UpgradeRules.alongAxis),
      changed("scatter_along_axis", 8, "as gather", UpgradeRules.alongAxis),
      changed("scatter_nd", 8, "as gather_nd", UpgradeRules.leadingAxes),
      same("topk", 8, "output_indices_dtype added, int32 by default; more types"),
      changed("constexpr_cast", 9, "parameters are inputs", UpgradeRules.constexprCast),
      changed(
        "constexpr_lut_to_dense", 9, "parameters are inputs, indices uintN of full shape",
        UpgradeRules.constexprLookup),
      changed(
        "constexpr_sparse_to_dense", 9, "parameters are inputs, mask uint1 of full shape",
        UpgradeRules.constexprSparse),
      same("gru", 9, "reset_after (false) and input_bias (0) added"),
    ]

  /// Operations whose parameters had to be of the input's type before version 8.
  private static let parameterTypesFreed = [
    "batch_norm", "clamped_relu", "conv", "elu", "instance_norm", "inverse", "l2_norm",
    "layer_norm", "leaky_relu", "linear", "linear_activation", "local_response_norm", "log",
    "prelu", "rsqrt", "scaled_tanh", "sigmoid_hard", "softplus_parametric", "thresholded_relu",
  ]

  /// Operations that version 8 opened to more element types and changed in nothing else.
  private static let typesAdded = [
    "cast", "expand_dims", "resample", "reshape_like", "reverse", "reverse_sequence",
    "slice_by_index", "slice_by_size", "sliding_windows", "squeeze", "transpose",
  ]

  private static func same(_ type: String, _ version: Int, _ summary: String) -> UpgradeRule {
    UpgradeRule(type: type, version: version, summary: summary, rewrite: nil)
  }

  private static func changed(
    _ type: String, _ version: Int, _ summary: String, _ rewrite: @escaping UpgradeRule.Rewrite
  ) -> UpgradeRule {
    UpgradeRule(type: type, version: version, summary: summary, rewrite: rewrite)
  }
}
