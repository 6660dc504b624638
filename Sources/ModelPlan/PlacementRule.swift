import ModelGraph
import ModelOperations
import ModelTensors

/// Why an operation does not run on a unit.
public struct PlacementRule: Sendable, Equatable {
  /// A short name, for findings.
  public var name: String
  /// The reason in a few words, completing "not on the Neural Engine: …".
  public var reason: String
  /// What it rests on.
  public var source: String
  /// How sure it is.
  public var confidence: Confidence
  /// What a model's author can do about it.
  public var hint: String?

  init(
    _ name: String, _ reason: String, _ source: String, _ confidence: Confidence,
    hint: String? = nil
  ) {
    self.name = name
    self.reason = reason
    self.source = source
    self.confidence = confidence
    self.hint = hint
  }
}

/// The rules of placement; Apple publishes none, so each answer is a statement with a confidence.
enum PlacementRules {
  /// What the rules see beside an operation.
  struct Context: Sendable {
    /// ``Chip/ruleGeneration``.
    var generation: Int
    var isPhone: Bool
    /// Whether an input of the function has several shapes.
    var isFlexible = false
    /// Whether those are enumerated.
    var isEnumerated = false
    /// Bytes of all weights as stored.
    var modelBytes = 0.0
  }

  private static let reports = "reports of public projects"

  /// The first rule that keeps an operation off a unit; nil where none does.
  static func obstacle(
    _ node: PlanGraph.Node, on unit: ComputeUnit, _ context: Context
  ) -> PlacementRule? {
    if node.rank > 5 {
      return PlacementRule(
        "rank", "rank \(node.rank), Core ML takes 5 at most", "Apple's documentation",
        .documented, hint: "reshape to rank 5 or less")
    }
    switch unit {
    case .cpu: return nil
    case .gpu: return graphics(node)
    case .ne: return neural(node, context)
    }
  }

  // MARK: GPU

  private static let hostOnly: Set<String> = [
    "cond", "while_loop", "make_list", "list_read", "list_write", "list_gather", "list_scatter",
    "list_length", "non_zero", "non_maximum_suppression", "classify", "shape",
  ]

  private static func graphics(_ node: PlanGraph.Node) -> PlacementRule? {
    let type = node.operation.type
    if OperationTable.definitions(of: type).isEmpty { return unknown(type) }
    if hostOnly.contains(type) {
      return PlacementRule(
        "host-only", "\(type) depends on data or is no tensor operation", reports, .derived)
    }
    return nil
  }

  private static func unknown(_ type: String) -> PlacementRule {
    PlacementRule(
      "unknown-operation", "\(type) is no operation that is known", "the table of operations",
      .derived, hint: "custom operations run on the CPU")
  }

  // MARK: Neural Engine

  private static let noPath: Set<String> = [
    "scatter", "scatter_nd", "scatter_along_axis", "lstm", "gru", "rnn", "reduce_prod", "mod",
    "logical_and", "logical_or", "logical_xor", "non_zero", "one_hot", "shape", "band_part",
    "reverse_sequence", "sliding_windows", "argsort", "random_normal", "random_uniform",
    "random_bernoulli", "random_categorical", "range_1d", "fill",
  ]
  private static let since14: Set<String> = ["crop_resize", "resample", "affine", "gather"]
  private static let since15: Set<String> = ["sin", "cos", "reduce_argmin"]

  private static func neural(_ node: PlanGraph.Node, _ context: Context) -> PlacementRule? {
    let type = node.operation.type
    if OperationTable.definitions(of: type).isEmpty { return unknown(type) }
    if hostOnly.contains(type) && type != "shape" {
      return PlacementRule(
        "no-ne-path", "\(type) has no path to it", reports, .reported,
        hint: ["cond", "while_loop"].contains(type)
          ? "unroll it, or compute both branches and select" : nil)
    }
    if noPath.contains(type) {
      return PlacementRule(
        "no-ne-path", "\(type) has no path to it", reports, .reported, hint: hints[type])
    }
    if let rule = generation(type, context) ?? elementType(node) ?? limits(node, context) {
      return rule
    }
    return flexibility(node, context) ?? size(context)
  }

  private static let hints = [
    "lstm": "unroll short sequences, or use convolutions or attention",
    "gru": "unroll short sequences, or use convolutions or attention",
    "one_hot": "compare with a constant range instead",
    "band_part": "multiply with a constant mask instead",
    "argsort": "topk has a path in some forms",
    "reduce_prod": "sum logarithms instead, or multiply slices",
    "fill": "make it a constant",
  ]

  private static func generation(_ type: String, _ context: Context) -> PlacementRule? {
    let first = since15.contains(type) ? 15 : since14.contains(type) ? 14 : 0
    if context.generation >= first { return nil }
    return PlacementRule(
      "generation", "\(type) needs a Neural Engine of A\(first) or later", reports, .reported)
  }

  private static func elementType(_ node: PlanGraph.Node) -> PlacementRule? {
    guard let type = node.elementType, type != .float16 else { return nil }
    // Casts at the borders and 8-bit activations between them are part of its path.
    if ["cast", "quantize", "dequantize"].contains(node.operation.type) { return nil }
    if type == .int8 || type == .uint8 { return nil }
    if type == .float32 {
      return PlacementRule(
        "fp16-only", "it computes in fp16 only, this is fp32", reports, .reported,
        hint: "mlt quantize --bits 16 turns the arithmetic to fp16")
    }
    return PlacementRule(
      "fp16-only", "it computes in fp16 only, this is \(type.rawValue)", reports, .reported)
  }

  private static func limits(_ node: PlanGraph.Node, _ context: Context) -> PlacementRule? {
    let limit = context.generation >= 16 ? 65536 : 16384
    if node.largestSize > limit {
      return PlacementRule(
        "axis-limit", "an axis of \(node.largestSize), the limit is \(limit)", reports, .reported,
        hint: "split the axis")
    }
    let type = node.operation.type
    if type == "reduce_argmax" || type == "reduce_argmin", node.largestSize > 2048 {
      return PlacementRule(
        "arg-reduce-axis", "an axis of \(node.largestSize) for \(type), the limit is 2048", reports,
        .reported, hint: "reduce in two steps")
    }
    if type == "conv", let width = node.kernelWidth {
      let most = context.generation >= 14 ? 16 : 13
      if width > most {
        return PlacementRule(
          "kernel-width", "a kernel \(width) wide, the limit is \(most)", reports, .reported,
          hint: "two narrower convolutions in turn")
      }
    }
    if type == "read_state" || type == "write_state",
      let size = node.outputs.first?.tensor?.fixedShape?.last, size % 32 != 0
    {
      return PlacementRule(
        "state-width", "a state \(size) wide, its width must be a multiple of 32",
        "measurements published by others", .measured, hint: "pad the state to a multiple of 32")
    }
    return nil
  }

  private static func flexibility(
    _ node: PlanGraph.Node, _ context: Context
  ) -> PlacementRule? {
    guard context.isFlexible else { return nil }
    if context.isEnumerated {
      guard node.operation.type == "layer_norm" else { return nil }
      return PlacementRule(
        "enumerated-layer-norm", "layer_norm with enumerated shapes leaves it",
        "measurements published by others", .measured,
        hint: "a fixed or range shape keeps it there")
    }
    return PlacementRule(
      "flexible-shapes", "inputs of a range of shapes leave it", "measurements published by others",
      .measured, hint: "fix the shape, or enumerate a few")
  }

  private static func size(_ context: Context) -> PlacementRule? {
    guard context.isPhone, context.modelBytes > 1e9 else { return nil }
    return PlacementRule(
      "model-size", "the model is larger than 1 GB, the limit on iPhones",
      "Apple's documentation", .documented, hint: "compress it, or split it into parts")
  }
}

extension PlanGraph.Node {
  /// The width of a convolution's kernel.
  var kernelWidth: Int? { kernel?.last }
}
