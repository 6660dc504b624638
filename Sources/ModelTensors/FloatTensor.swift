/// Singles held in memory, without a copy of their array.
public struct FloatTensor: TensorSource {
  /// The sizes of the axes.
  public let shape: [Int]
  /// The elements, row-major.
  public let values: [Float]

  /// fp32.
  public var elementType: ElementType { .float32 }

  /// - Throws: ``TensorError/malformed(_:)`` when there are not as many values as the shape says.
  public init(shape: [Int], values: [Float]) throws(TensorError) {
    guard Shape.elementCount(shape) == values.count else {
      throw .malformed("\(values.count) values for the shape \(shape)")
    }
    self.shape = shape
    self.values = values
  }

  /// Calls `body` with the bytes of the elements in `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    try values.withUnsafeBufferPointer {
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: $0[range])))
    }
  }
}
