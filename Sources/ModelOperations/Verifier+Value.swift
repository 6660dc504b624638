import ModelGraph
import ModelTensors

extension BlockVerifier {
  /// Checks that a constant holds what its type says.
  mutating func check(_ value: Value, _ operation: GraphOperation, _ name: String) {
    guard let type = value.type else {
      report(.missingType, .error, operation, name, "The constant has no type.")
      return
    }
    if let message = type.inconsistency { report(.rank, .error, operation, name, message) }
    if let number = type.unknownDataType {
      report(.elementType, .warning, operation, name, "\(number) is no known element type.")
    }
    switch value.content {
    case .absent:
      report(.literalCount, .error, operation, name, "The constant has no content.")
    case .weight(let weight):
      check(weight, type, operation, name)
    case .immediate(let immediate):
      switch immediate.kind {
      case .tensor(let literal): check(literal, type, operation, name)
      case .list(let values), .tuple(let values):
        for value in values { check(value, operation, name) }
      case .dictionary(let pairs):
        for pair in pairs {
          if let key = pair.key { check(key, operation, name) }
          if let value = pair.value { check(value, operation, name) }
        }
      case .absent:
        report(.literalCount, .error, operation, name, "The constant has no content.")
      }
    }
  }

  private mutating func check(
    _ weight: Weight, _ type: ValueType, _ operation: GraphOperation, _ name: String
  ) {
    let source = weight.source
    guard let tensor = type.tensor, let element = tensor.elementType, let shape = tensor.shape,
      let count = Shape.elementCount(shape)
    else {
      report(
        .blobType, .error, operation, name, "A weight must be a tensor of fixed shape.")
      return
    }
    if source.elementType != element || source.elementCount != count {
      report(
        .blobType, .error, operation, name,
        "The type is \(type.summary), the weight file has \(source.elementCount) elements of "
          + "\(source.elementType.rawValue).")
    }
  }

  private mutating func check(
    _ literal: TensorLiteral, _ type: ValueType, _ operation: GraphOperation, _ name: String
  ) {
    guard let tensor = type.tensor else {
      report(
        .literalCount, .error, operation, name, "The constant is a tensor, its type is not.")
      return
    }
    guard let shape = tensor.shape, let count = Shape.elementCount(shape) else {
      report(.literalCount, .error, operation, name, "The shape of the constant is not fixed.")
      return
    }
    guard let element = tensor.elementType else { return }
    let expected = literal.isBytes ? element.byteCount(of: count) ?? 0 : count
    if literal.count != expected {
      report(
        .literalCount, .error, operation, name,
        "The type is \(type.summary), the constant holds \(literal.count) of \(expected) "
          + (literal.isBytes ? "bytes." : "elements."))
    } else if !literal.matches(element) {
      report(
        .literalCount, .error, operation, name,
        "\(element.rawValue) elements do not stand in this list.")
    }
  }
}

extension TensorLiteral {
  fileprivate var isBytes: Bool {
    if case .bytes = self { return true }
    return false
  }

  /// Whether elements of `type` are stored in this list.
  fileprivate func matches(_ type: ElementType) -> Bool {
    switch self {
    case .floats: type == .float32
    case .doubles: type == .float64
    case .bools: type == .bool
    case .strings: type == .string
    case .longInts: type == .int64 || type == .uint64
    case .ints: [.int8, .uint8, .int16, .uint16, .int32, .uint32].contains(type)
    case .bytes: type != .string
    case .absent: true
    }
  }
}

extension ValueType {
  /// Why the type contradicts itself, or nil.
  var inconsistency: String? {
    switch kind {
    case .tensor(let tensor):
      if tensor.hasFixedRank, tensor.rank != Int64(tensor.dimensions.count) {
        return "The rank is \(tensor.rank), there are \(tensor.dimensions.count) dimensions."
      }
      let isDimensionAbsent = tensor.dimensions.contains { $0.kind == .absent }
      return isDimensionAbsent ? "A dimension is neither a size nor unknown." : nil
    case .list(let element, _): return element?.inconsistency
    case .tuple(let types): return types.lazy.compactMap(\.inconsistency).first
    case .dictionary(let key, let value): return key?.inconsistency ?? value?.inconsistency
    case .state(let wrapped): return wrapped?.inconsistency
    case .absent: return "The type is none."
    }
  }

  /// The number of a tensor's element type that has no name here, or nil.
  var unknownDataType: Int32? {
    guard let type = tensorOrStateTensor?.dataType, type.elementType == nil else { return nil }
    return type.rawValue
  }

  /// Whether both are tensors of the same element type and sizes, or neither is a tensor.
  func describesSameTensor(as other: ValueType) -> Bool {
    switch (tensor, other.tensor) {
    case (let left?, let right?):
      return left.dataType == right.dataType
        && left.dimensions.map(\.kind) == right.dimensions.map(\.kind)
    case (nil, nil): return true
    default: return false
    }
  }

  /// The type in short form: `fp16[1, 3, ?]`.
  var summary: String {
    switch kind {
    case .tensor(let tensor):
      let sizes = tensor.dimensions.map { $0.size.map(String.init) ?? "?" }
      return "\(tensor.elementType?.rawValue ?? "?")[\(sizes.joined(separator: ", "))]"
    case .list: return "a list"
    case .tuple: return "a tuple"
    case .dictionary: return "a dictionary"
    case .state(let wrapped): return "a state of \(wrapped?.summary ?? "?")"
    case .absent: return "none"
    }
  }
}
