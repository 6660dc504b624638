/// The elements of another tensor under another shape of as many elements.
public struct ReshapedTensor: TensorSource {
  /// The tensor whose elements these are.
  public let base: any TensorSource
  /// The sizes of the axes.
  public let shape: [Int]

  /// The type of the elements.
  public var elementType: ElementType { base.elementType }

  /// - Throws: ``TensorError/malformed(_:)`` when the element counts differ.
  public init(_ base: any TensorSource, shape: [Int]) throws(TensorError) {
    guard Shape.elementCount(shape) == base.elementCount else {
      throw .malformed("\(base.elementCount) elements do not make the shape \(shape)")
    }
    self.base = base
    self.shape = shape
  }

  /// Calls `body` with the packed bytes of the elements in `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    try base.withElements(range, body)
  }

  /// Says that the pages behind `range` are not needed soon.
  public func release(_ range: Range<Int>) { base.release(range) }
}
