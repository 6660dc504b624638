import ModelGraph
import ModelTensors

/// What is known of a tensor before it is computed.
public struct InferredTensor: Sendable, Equatable {
  /// The type of the elements; nil where it is not known.
  public var elementType: ElementType?
  /// The sizes of the axes; nil where even the rank is not known.
  public var shape: [SymbolicSize]?
  /// The elements of a small integer tensor that sizes are computed from; nil where they are not
  /// known or not of interest.
  public var integers: [SymbolicSize]?

  /// A tensor of this type.
  public init(
    _ elementType: ElementType?, _ shape: [SymbolicSize]?, integers: [SymbolicSize]? = nil
  ) {
    self.elementType = elementType
    self.shape = shape
    self.integers = integers
  }

  /// The sizes where all of them are numbers.
  public var fixedShape: [Int]? {
    guard let shape else { return nil }
    let sizes = shape.compactMap(\.value)
    return sizes.count == shape.count ? sizes : nil
  }

  /// The number of elements where all sizes are numbers and their product is one.
  public var elementCount: Int? { fixedShape.flatMap { Shape.elementCount($0) } }
}

/// What is known of a value before it is computed.
public indirect enum InferredType: Sendable, Equatable {
  case tensor(InferredTensor)
  case list(element: InferredTensor, length: SymbolicSize?)
  case state(InferredTensor)
  /// A tuple, a dictionary, or nothing that is known.
  case other

  /// The tensor, that of a state included; nil for another kind.
  public var tensor: InferredTensor? {
    switch self {
    case .tensor(let tensor), .state(let tensor): tensor
    case .list, .other: nil
    }
  }
}

extension InferredType {
  /// The type that a program declares; unknown sizes become new symbols.
  init(_ type: ValueType?, _ symbols: inout SymbolSource) {
    switch type?.kind {
    case .tensor(let tensor): self = .tensor(InferredTensor(tensor, &symbols))
    case .state(let wrapped):
      self = wrapped?.tensor.map { .state(InferredTensor($0, &symbols)) } ?? .other
    case .list(let element, let length):
      let inner =
        element?.tensor.map { InferredTensor($0, &symbols) } ?? InferredTensor(nil, nil)
      self = .list(element: inner, length: length?.size.map(SymbolicSize.known))
    case .tuple, .dictionary, .absent, nil: self = .other
    }
  }
}

extension InferredTensor {
  init(_ type: TensorType, _ symbols: inout SymbolSource) {
    var shape: [SymbolicSize]? = []
    for dimension in type.dimensions {
      if case .unknown(variadic: true) = dimension.kind { shape = nil }
      let size = symbols.size(dimension.size)
      shape?.append(size)
    }
    if type.rank < 0 { shape = nil }
    self.init(type.elementType, shape)
  }
}
