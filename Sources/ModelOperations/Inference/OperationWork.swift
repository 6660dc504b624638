import ModelGraph
import ModelTensors

/// What one operation computes, moves and holds, from the shapes of its values.
public struct OperationWork: Sendable, Equatable {
  /// Multiplications with addition of matrices, convolutions and recurrent layers.
  public var multiplyAdds = 0.0
  /// Other operations on elements: additions, comparisons, exponentials by their usual cost.
  public var elementOperations = 0.0
  /// Bytes of activations read.
  public var activationsRead = 0.0
  /// Bytes of activations written.
  public var activationsWritten = 0.0
  /// Input channels that each output channel of a convolution sees; nil for other operations.
  public var channelsPerGroup: Int?

  /// No work.
  public init() {}

  /// The work of an operation, or nil where shapes are not known in numbers.
  ///
  /// - Parameter isConstant: Whether a value of this name is a constant, whose bytes are no
  ///   activations.
  public init?(
    _ step: ShapeInference.Step, in inference: ShapeInference, isConstant: (String) -> Bool
  ) {
    let operation = step.operation
    for output in step.outputs {
      guard case .tensor(let tensor) = output else { continue }
      guard let bytes = tensor.byteCount else { return nil }
      activationsWritten += bytes
    }
    for (_, argument) in operation.inputs {
      for (binding, type) in zip(argument.bindings, inference.types(argument)) {
        guard let name = binding.name, !isConstant(name), let tensor = type.tensor else {
          continue
        }
        guard let bytes = tensor.byteCount else { return nil }
        activationsRead += bytes
      }
    }
    let shapes = WorkShapes(step: step, inference: inference)
    guard let elements = shapes.outputElements else { return }
    multiplyAdds = shapes.multiplyAdds(elements)
    elementOperations = multiplyAdds > 0 ? 0 : shapes.elementOperations(elements)
    channelsPerGroup = shapes.channelsPerGroup
  }
}

extension InferredTensor {
  /// Bytes of the packed elements, nothing for strings; nil where a size is not known.
  public var byteCount: Double? {
    guard let shape = fixedShape else { return nil }
    let bits = Double(elementType?.bitWidth ?? 16)
    return shape.reduce(bits / 8) { $0 * Double($1) }
  }
}

/// The shapes that the work of one operation follows from.
private struct WorkShapes {
  let step: ShapeInference.Step
  let inference: ShapeInference

  private var operation: GraphOperation { step.operation }

  private func inputs(_ name: String) -> [InferredType] {
    operation.inputs[name].map { inference.types($0) } ?? []
  }

  private func shape(_ input: String) -> [Int]? { inputs(input).first?.tensor?.fixedShape }

  private func elements(_ input: String) -> Double {
    (shape(input) ?? []).reduce(1) { $0 * Double($1) }
  }

  var outputElements: Double? {
    step.outputs.first?.tensor?.fixedShape.map { $0.reduce(1) { $0 * Double($1) } }
  }

  /// Of a convolution; the weight of a transposed one has its input channels first.
  var channelsPerGroup: Int? {
    guard let weight = shape("weight"), weight.count > 2 else { return nil }
    switch operation.type {
    case "conv", "conv_quantized": return weight[1]
    case "conv_transpose":
      return weight[0] / max(inference.constant(operation, "groups")?.intValue ?? 1, 1)
    default: return nil
    }
  }

  func multiplyAdds(_ elements: Double) -> Double {
    switch operation.type {
    case "conv", "conv_quantized":
      guard let weight = shape("weight"), weight.count > 2 else { return 0 }
      return elements * weight.dropFirst().reduce(1) { $0 * Double($1) }
    case "conv_transpose":
      guard let weight = shape("weight"), weight.count > 2 else { return 0 }
      return self.elements("x") * weight.dropFirst().reduce(1) { $0 * Double($1) }
    case "linear": return elements * Double(shape("weight")?.last ?? 0)
    case "matmul":
      guard let x = shape("x"), !x.isEmpty else { return 0 }
      let isTransposed =
        x.count > 1 && inference.constant(operation, "transpose_x")?.boolValue == true
      return elements * Double(isTransposed ? x[x.count - 2] : x[x.count - 1])
    case "einsum": return einsum() ?? 0
    case "scaled_dot_product_attention":
      guard let query = shape("query"), let key = shape("key"), let value = shape("value"),
        query.count >= 2, key.count >= 2, let width = value.last
      else { return 0 }
      let scores = self.elements("query") * Double(key[key.count - 2])
      return scores + scores / Double(max(query[query.count - 1], 1)) * Double(width)
    case "lstm", "gru", "rnn": return recurrent()
    default: return 0
    }
  }

  /// Every letter of the equation is a loop.
  private func einsum() -> Double? {
    guard let equation = inference.constant(operation, "equation")?.stringValue else { return nil }
    let terms = equation.filter { $0 != " " }.split(separator: "-").first?.split(separator: ",")
    var sizes: [Character: Int] = [:]
    for (term, value) in zip(terms ?? [], inputs("values")) {
      for (letter, size) in zip(term, value.tensor?.fixedShape ?? []) {
        sizes[letter] = max(sizes[letter] ?? 1, size)
      }
    }
    return sizes.values.reduce(1) { $0 * Double($1) }
  }

  /// Both matrices at every step.
  private func recurrent() -> Double {
    guard let x = shape("x"), x.count == 3, let weight = shape("weight_ih"),
      let hidden = shape("weight_hh"), weight.count == 2, hidden.count == 2
    else { return 0 }
    let perStep =
      Double(weight[0]) * Double(weight[1]) + Double(hidden[0]) * Double(hidden[1])
    let directions = inputs("weight_ih_back").isEmpty ? 1.0 : 2.0
    return Double(x[0]) * Double(x[1]) * perStep * directions
  }

  /// Operations on elements by the usual count for each kind.
  func elementOperations(_ elements: Double) -> Double {
    switch operation.type {
    case "softmax", "layer_norm", "instance_norm", "batch_norm", "l2_norm", "gelu", "erf", "silu",
      "local_response_norm", "softplus", "tanh", "sigmoid", "exp", "log", "pow":
      return elements * 8
    case "avg_pool", "max_pool", "l2_pool":
      let kernel = inference.constant(operation, "kernel_sizes")?.intValues ?? []
      return elements * kernel.reduce(1) { $0 * Double($1) }
    case _ where operation.type.hasPrefix("reduce_"): return self.elements("x")
    case "topk", "argsort": return self.elements("x") * 16
    case "non_maximum_suppression": return self.elements("boxes") * 64
    case "resize_bilinear", "upsample_bilinear", "crop_resize", "resample", "affine", "resize":
      return elements * 8
    case "reshape", "expand_dims", "squeeze", "identity", "flatten2d", "shape": return 0
    default: return elements
    }
  }
}
