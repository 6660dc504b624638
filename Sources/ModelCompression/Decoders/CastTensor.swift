import CKernels
import ModelTensors

/// The result of `constexpr_cast`: fp16 as fp32, or fp32 as fp16 rounded half to even.
public struct CastTensor: TensorSource {
  /// The type of the elements.
  public let elementType: ElementType
  /// The values before the cast.
  public let source: any TensorSource
  /// The sizes of the axes.
  public var shape: [Int] { source.shape }

  /// - Throws: ``TensorError/malformed(_:)`` for other types.
  public init(_ source: any TensorSource, to elementType: ElementType) throws(TensorError) {
    let types: Set<ElementType> = [.float16, .float32]
    try require(
      types.contains(source.elementType) && types.contains(elementType),
      "no cast from \(source.elementType.rawValue) to \(elementType.rawValue)")
    self.source = source
    self.elementType = elementType
  }

  /// Decodes the elements of `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    if source.elementType == elementType { return try source.withElements(range, body) }
    let level = KernelLevel.current.rawValue
    return try withDecoded(
      elementType, range,
      fill: { out in
        try source.withElements(range) { bytes in
          guard let base = bytes.baseAddress else { return }
          if elementType == .float32 {
            mlt_widen_half(
              level, base.assumingMemoryBound(to: UInt16.self), range.count,
              out.assumingMemoryBound(to: Float.self))
          } else {
            mlt_narrow(
              level, base.assumingMemoryBound(to: Float.self), range.count,
              out.assumingMemoryBound(to: UInt16.self))
          }
        }
      }, body)
  }

  /// Releases the pages behind `range` of the data decoded.
  public func release(_ range: Range<Int>) { source.release(range) }
}

/// Bytes of one tensor seen as elements of another type, as packed forms of iOS 16 need it.
public struct ReinterpretedTensor: TensorSource {
  /// The type of the elements.
  public let elementType: ElementType
  /// The sizes of the axes.
  public let shape: [Int]
  /// The bytes.
  public let source: any TensorSource

  /// - Parameter source: uint8 or int8, exactly the bytes that the elements take.
  /// - Throws: ``TensorError/malformed(_:)`` when the number of bytes is another.
  public init(
    _ source: any TensorSource, as elementType: ElementType, shape: [Int]
  ) throws(TensorError) {
    try require(
      source.elementType.bitWidth == 8,
      "packed data are \(source.elementType.rawValue), not uint8")
    guard let count = Shape.elementCount(shape), let size = elementType.byteCount(of: count) else {
      throw .malformed("the shape \(shape) has too many elements")
    }
    try require(
      size == source.elementCount,
      "\(source.elementCount) bytes for \(count) elements of \(elementType.rawValue), "
        + "expected \(size)")
    self.source = source
    self.elementType = elementType
    self.shape = shape
  }

  /// Decodes the elements of `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    try source.withElements(bytes(range), body)
  }

  /// Releases the pages behind `range` of the data decoded.
  public func release(_ range: Range<Int>) { source.release(bytes(range)) }

  private func bytes(_ range: Range<Int>) -> Range<Int> {
    let bits = elementType.bitWidth
    return range.lowerBound * bits / 8..<(range.upperBound * bits + 7) / 8
  }
}
