/// What an operation is about, for its colour.
enum OperationFamily: String, CaseIterable {
  case matrix
  case elements
  case reduction
  case layout
  case other

  init(type: String) {
    let has = { (parts: [String]) in parts.contains { type.contains($0) } }
    switch type {
    case _ where has(["conv", "linear", "matmul", "einsum", "attention", "lstm", "gru", "rnn"]):
      self = type == "linear_activation" ? .elements : .matrix
    case _ where has(["norm", "softmax", "reduce", "pool", "topk", "argsort", "cumsum"]):
      self = .reduction
    case _
    where has([
      "reshape", "transpose", "concat", "split", "slice", "gather", "scatter", "expand_dims",
      "squeeze", "stack", "pad", "tile", "shape", "space", "pixel", "resize", "upsample", "crop",
      "cast", "reverse", "state",
    ]):
      self = .layout
    case _
    where has([
      "add", "sub", "mul", "div", "relu", "elu", "sig", "tanh", "exp", "log", "sqrt", "abs", "sq",
      "pow", "clip", "silu", "softplus", "erf", "equal", "less", "greater", "select", "max", "min",
      "sin", "cos", "round", "floor", "ceil", "identity",
    ]):
      self = .elements
    default: self = .other
    }
  }

  var title: String {
    switch self {
    case .matrix: "convolutions and matrices"
    case .elements: "elementwise"
    case .reduction: "normalisation, pooling, reduction"
    case .layout: "layout"
    case .other: "other"
    }
  }
}
