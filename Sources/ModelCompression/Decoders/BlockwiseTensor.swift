import ModelTensors

/// The result of `constexpr_blockwise_shift_scale` (iOS 18): scale·(data − offset) in the
/// arithmetic of the scale's type, data cast to it first, every step rounded.
///
/// An fp32 offset beside an fp16 scale makes both steps single precision; the result is rounded to
/// the scale's type.
public struct BlockwiseTensor: TensorSource {
  /// The sizes of the axes.
  public let shape: [Int]
  /// The type of the elements.
  public let elementType: ElementType
  /// The codes.
  public let data: any TensorSource
  /// The scales.
  public let scale: any TensorSource
  /// The offsets.
  public let offset: (any TensorSource)?
  private let decoder: ShiftScale

  /// - Parameters:
  ///   - data: int4, uint4, int8, uint8, fp16 or fp32, rank 1 or more.
  ///   - scale: fp16 or fp32, of the data's rank; each size divides the data's.
  ///   - offset: Of the scale's shape, and of the data's type or a float type.
  /// - Throws: ``TensorError/malformed(_:)`` when types or shapes disagree.
  public init(
    data: any TensorSource, scale: any TensorSource, offset: (any TensorSource)?
  ) throws(TensorError) {
    switch data.elementType {
    case .int4, .uint4, .int8, .uint8, .float16, .float32: break
    default: throw .malformed("data is \(data.elementType.rawValue), which has no scale")
    }
    try require(
      scale.elementType == .float16 || scale.elementType == .float32,
      "scale is \(scale.elementType.rawValue), not fp16 or fp32")
    try require(!data.shape.isEmpty, "data is a scalar")
    guard let layout = GroupLayout(shape: data.shape, scaleShape: scale.shape) else {
      throw .malformed(
        "scale of shape \(scale.shape) does not divide data of shape \(data.shape)")
    }
    if let offset {
      try require(
        offset.shape == scale.shape,
        "offset has shape \(offset.shape), scale \(scale.shape)")
      try require(
        offset.elementType == data.elementType || offset.elementType == .float16
          || offset.elementType == .float32,
        "offset is \(offset.elementType.rawValue), data \(data.elementType.rawValue)")
    }
    shape = data.shape
    elementType = scale.elementType
    self.data = data
    self.scale = scale
    self.offset = offset
    let isHalf = scale.elementType == .float16
    decoder = ShiftScale(
      data: data, layout: layout, type: scale.elementType,
      narrowsData: isHalf && data.elementType == .float32,
      roundsDifference: isHalf && offset?.elementType != .float32,
      parameters: Lazily {
        (try offset.map { try CodeReader.floats($0) }, try CodeReader.floats(scale))
      })
  }

  /// Decodes the elements of `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    try withDecoded(elementType, range, fill: { try decoder.decode(range, into: $0) }, body)
  }

  /// Releases the pages behind `range` of the data decoded.
  public func release(_ range: Range<Int>) { data.release(range) }
}
