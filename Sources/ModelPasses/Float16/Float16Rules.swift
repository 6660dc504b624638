import ModelGraph
import ModelOperations
import ModelTensors

/// What happens to constants that float16 cannot hold, per operation.
enum Float16Rules {
  /// What is to be done with the constants of an input.
  enum Outcome {
    /// They survive.
    case fine
    /// Values beyond the range become ±65504; small constants that would vanish ±2⁻²⁴.
    case saturated(note: String?)
    /// The input, and what shares its type, stays float32.
    case keep(note: String)
  }

  /// Operations that keep their types: those of control flow and lists, whose parts would have to
  /// change together, those that name a type, and ranges, which would skip integers above 2048.
  static let unchanged: Set<String> = [
    "cond", "while_loop", "make_list", "list_gather", "list_scatter", "list_read",
    "list_write", "list_length", "read_state", "write_state", "coreml_update_state", "classify",
    "quantize", "dequantize", "range_1d",
  ]

  /// Operations in which a bound or a mask may saturate without changing the meaning.
  private static let saturating: Set<String> = [
    "add", "sub", "select", "maximum", "minimum", "clip", "clamped_relu", "pad", "fill",
    "fill_like", "one_hot", "threshold", "thresholded_relu", "greater", "greater_equal", "less",
    "less_equal", "scaled_dot_product_attention", "non_maximum_suppression",
  ]

  private static let largest = Float(HalfFloat.greatestFinite)
  private static let smallest: Float = 0x1p-24

  /// Looks at the constants that an input is bound to.
  static func constants(
    _ argument: Argument, of operation: GraphOperation, input: String,
    constants: [String: Value]
  ) -> Outcome {
    let mayStretch = saturating.contains(operation.type)
    guard argument.bindings.count == 1, let binding = argument.bindings.first,
      let value = binding.value ?? binding.name.flatMap({ constants[$0] }),
      value.type?.tensor?.elementType == .float32, let source = value.tensorSource
    else { return .fine }
    // Large constants are weights: the recipe converts them, and only masks may saturate.
    guard source.elementCount < WeightAssembly.smallestBlob else {
      return mayStretch ? .saturated(note: nil) : .fine
    }
    guard let values = try? source.elements(as: Float.self) else { return .fine }
    let isBeyond = values.contains(where: exceeds)
    if !isBeyond && !values.contains(where: vanishes) { return .fine }
    let text = values.count == 1 ? "\(input) = \(values[0])" : input
    guard mayStretch else {
      let fault = isBeyond ? "exceeds" : "vanishes in"
      return .keep(note: "\(text) \(fault) fp16: the operation or the parameter stays fp32")
    }
    let what =
      values.count == 1 ? "stored as \(stretched(values[0]))" : "stored within fp16's range"
    return .saturated(note: "\(text) \(what)")
  }

  /// A small constant in fp16: beyond the range ±65504, never zero unless it is.
  static func converted(_ value: Value) -> Value? {
    guard value.type?.tensor?.elementType == .float32, let source = value.tensorSource,
      let values = try? source.elements(as: Float.self)
    else { return nil }
    let bytes = values.map { HalfFloat.bits(stretched($0)) }.withUnsafeBytes { Array($0) }
    return Value(.float16, source.shape, packed: bytes)
  }

  private static func exceeds(_ value: Float) -> Bool {
    value.isFinite && HalfFloat.bits(value) & 0x7FFF >= HalfFloat.infinityBits
  }

  private static func vanishes(_ value: Float) -> Bool {
    value != 0 && HalfFloat.bits(value) & 0x7FFF == 0
  }

  private static func stretched(_ value: Float) -> Float {
    if exceeds(value) { return value < 0 ? -largest : largest }
    if vanishes(value) { return value < 0 ? -smallest : smallest }
    return value
  }
}
