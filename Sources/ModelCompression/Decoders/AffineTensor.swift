import ModelTensors

/// The result of `constexpr_affine_dequantize` (iOS 16): (data − zero point)·scale computed in
/// single precision and then cast to the scale's type.
public struct AffineTensor: TensorSource {
  /// The sizes of the axes.
  public let shape: [Int]
  /// The type of the elements.
  public let elementType: ElementType
  /// The codes.
  public let data: any TensorSource
  /// The zero points.
  public let zeroPoint: any TensorSource
  /// The scales.
  public let scale: any TensorSource
  private let decoder: ShiftScale

  /// - Parameters:
  ///   - data: int8 or uint8, rank 1 or more.
  ///   - zeroPoint: Of the data's type or fp32: a scalar, or a vector as long as `axis`.
  ///   - scale: fp16 or fp32: a scalar, or a vector as long as `axis`.
  ///   - axis: That of the vectors, counted from the end when negative.
  /// - Throws: ``TensorError/malformed(_:)`` when types or shapes disagree.
  public init(
    data: any TensorSource, zeroPoint: any TensorSource, scale: any TensorSource, axis: Int
  ) throws(TensorError) {
    try require(
      data.elementType == .int8 || data.elementType == .uint8,
      "quantized_data is \(data.elementType.rawValue), not int8 or uint8")
    try require(!data.shape.isEmpty, "quantized_data is a scalar")
    try require(
      zeroPoint.elementType == data.elementType || zeroPoint.elementType == .float32,
      "zero_point is \(zeroPoint.elementType.rawValue), quantized_data \(data.elementType.rawValue)"
    )
    try require(
      scale.elementType == .float16 || scale.elementType == .float32,
      "scale is \(scale.elementType.rawValue), not fp16 or fp32")
    guard let axis = Shape.normalized(axis: axis, rank: data.shape.count) else {
      throw .malformed("axis \(axis) is outside the rank \(data.shape.count)")
    }
    let size = data.shape[axis]
    for (name, input) in [("zero_point", zeroPoint), ("scale", scale)] {
      try require(
        input.shape.isEmpty || input.shape == [1] || input.shape == [size],
        "\(name) has shape \(input.shape), axis \(axis) of quantized_data has \(size) elements")
    }
    let isVector = scale.shape == [size] || zeroPoint.shape == [size]
    var scaleShape = [Int](repeating: 1, count: data.shape.count)
    if isVector { scaleShape[axis] = size }
    guard let layout = GroupLayout(shape: data.shape, scaleShape: scaleShape) else {
      throw .malformed("the shape \(data.shape) has too many elements")
    }
    shape = data.shape
    elementType = scale.elementType
    self.data = data
    self.zeroPoint = zeroPoint
    self.scale = scale
    let groups = scaleShape.reduce(1, *)
    decoder = ShiftScale(
      data: data, layout: layout, type: scale.elementType, narrowsData: false,
      roundsDifference: false,
      parameters: Lazily {
        func all(_ source: any TensorSource) throws -> [Float] {
          let values = try CodeReader.floats(source)
          return values.count == groups || values.isEmpty
            ? values : [Float](repeating: values[0], count: groups)
        }
        return (try all(zeroPoint), try all(scale))
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
