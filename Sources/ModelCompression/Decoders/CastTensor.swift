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
