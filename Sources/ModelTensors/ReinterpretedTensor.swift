/// The bytes of another tensor under another type and shape: flat packed indices as a tensor of
/// `uint4`, a flat mask as one of `uint1`.
public struct ReinterpretedTensor: TensorSource {
  /// The type of the elements.
  public let elementType: ElementType
  /// The sizes of the axes.
  public let shape: [Int]
  /// The tensor whose bytes these are; elements of at least a byte.
  public let base: any TensorSource

  /// - Throws: ``TensorError/malformed(_:)`` unless the new type and shape take exactly the bytes
  ///   of `base`.
  public init(
    _ base: any TensorSource, as elementType: ElementType, shape: [Int]
  ) throws(TensorError) {
    guard let count = Shape.elementCount(shape), let size = elementType.byteCount(of: count),
      !base.elementType.isSubByte, base.elementType.bitWidth == 8, size == base.byteCount
    else {
      throw .malformed(
        "\(base.byteCount) bytes of \(base.elementType.rawValue) do not make a "
          + "\(elementType.rawValue) tensor of shape \(shape)")
    }
    self.base = base
    self.elementType = elementType
    self.shape = shape
  }

  /// Calls `body` with the packed bytes of the elements in `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    try base.withElements(byteRange(range), body)
  }

  /// Says that the pages behind `range` are not needed soon.
  public func release(_ range: Range<Int>) { base.release(byteRange(range)) }

  private func byteRange(_ range: Range<Int>) -> Range<Int> {
    let bits = elementType.bitWidth
    return (range.lowerBound * bits / 8)..<((range.upperBound * bits + 7) / 8)
  }
}
