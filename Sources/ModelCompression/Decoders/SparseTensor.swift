import ModelTensors

/// The result of `constexpr_sparse_to_dense`: the values where the mask is set, zero elsewhere.
public struct SparseTensor: TensorSource {
  /// The sizes of the axes.
  public let shape: [Int]
  /// The type of the elements.
  public var elementType: ElementType { values.elementType }
  /// The values in scan order.
  public let values: any TensorSource
  /// The mask.
  public let mask: any TensorSource
  private let index: MaskIndex

  /// - Parameters:
  ///   - values: A vector of any type of fixed size, in row-major order of the set mask elements.
  ///   - mask: uint1, of the shape of the result; as many set elements as there are values, which
  ///     is checked when elements are read.
  /// - Throws: ``TensorError/malformed(_:)`` when types or ranks are others.
  public init(values: any TensorSource, mask: any TensorSource) throws(TensorError) {
    try require(mask.elementType == .uint1, "mask is \(mask.elementType.rawValue), not uint1")
    try require(
      values.shape.count == 1, "nonzero_data has shape \(values.shape), expected a vector")
    try require(values.elementType.bitWidth > 0, "nonzero_data are strings")
    try require(
      values.elementCount <= mask.elementCount,
      "\(values.elementCount) nonzero values for \(mask.elementCount) elements")
    shape = mask.shape
    self.values = values
    self.mask = mask
    index = MaskIndex(mask)
  }

  /// The flat form of iOS 16: the mask as uint8 bytes, lowest bit first.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` when types or sizes disagree.
  public init(
    values: any TensorSource, packedMask: any TensorSource, shape: [Int]
  ) throws(TensorError) {
    try self.init(
      values: values, mask: ReinterpretedTensor(packedMask, as: .uint1, shape: shape))
  }

  /// Decodes the elements of `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    let total = try index.total()
    guard total == values.elementCount else {
      throw TensorError.malformed(
        "the mask has \(total) set elements, nonzero_data \(values.elementCount)")
    }
    return try withDecoded(
      elementType, range,
      fill: { out in
        switch elementType.bitWidth {
        case 8: try scatter(range, out, as: UInt8.self)
        case 16: try scatter(range, out, as: UInt16.self)
        case 32: try scatter(range, out, as: UInt32.self)
        case 64: try scatter(range, out, as: UInt64.self)
        default: try scatterCodes(range, out)
        }
      }, body)
  }

  private func scatter<T: FixedWidthInteger & BitwiseCopyable>(
    _ range: Range<Int>, _ out: UnsafeMutableRawPointer, as type: T.Type
  ) throws {
    let out = out.assumingMemoryBound(to: T.self)
    out.update(repeating: 0, count: range.count)
    let first = try index.rank(of: range.lowerBound)
    let last = try index.rank(of: range.upperBound)
    if first == last { return }
    try values.withElements(first..<last) { bytes in
      guard let base = bytes.baseAddress else { return }
      var next = base.assumingMemoryBound(to: T.self)
      try index.forEachSet(range) { position in
        out[position] = next.pointee
        next += 1
      }
    }
  }

  private func scatterCodes(_ range: Range<Int>, _ out: UnsafeMutableRawPointer) throws {
    let first = try index.rank(of: range.lowerBound)
    let last = try index.rank(of: range.upperBound)
    var dense = [UInt8](repeating: 0, count: range.count)
    let codes = try CodeReader.codes(values, first..<last)
    var next = 0
    try index.forEachSet(range) { position in
      dense[position] = codes[next]
      next += 1
    }
    let size = elementType.byteCount(of: range.count) ?? 0
    dense.withUnsafeBufferPointer {
      BitPacking.pack(
        $0, bits: elementType.bitWidth,
        into: UnsafeMutableRawBufferPointer(start: out, count: size))
    }
  }
}

/// The elements of a dense tensor where a mask is set, in scan order: the inverse of
/// ``SparseTensor``.
public struct GatheredTensor: TensorSource {
  /// The sizes of the axes.
  public let shape: [Int]
  /// The type of the elements.
  public var elementType: ElementType { dense.elementType }
  /// The tensor gathered from.
  public let dense: any TensorSource
  /// The mask.
  public let mask: any TensorSource
  private let index: MaskIndex

  private static let piece = 1 << 15

  /// - Parameters:
  ///   - dense: Of a type of whole bytes.
  ///   - mask: uint1, of the same shape.
  ///   - count: The number of set elements, checked when elements are read.
  /// - Throws: ``TensorError/malformed(_:)`` when types or shapes disagree.
  public init(
    dense: any TensorSource, mask: any TensorSource, count: Int
  ) throws(TensorError) {
    try require(mask.elementType == .uint1, "mask is \(mask.elementType.rawValue), not uint1")
    try require(
      dense.shape == mask.shape, "mask has shape \(mask.shape), the data \(dense.shape)")
    try require(
      dense.elementType.bitWidth > 0 && dense.elementType.bitWidth % 8 == 0,
      "values of type \(dense.elementType.rawValue) are not gathered")
    try require(
      count >= 0 && count <= mask.elementCount,
      "\(count) nonzero values for \(mask.elementCount) elements")
    shape = [count]
    self.dense = dense
    self.mask = mask
    index = MaskIndex(mask)
  }

  /// Decodes the elements of `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    let total = try index.total()
    guard total == shape[0] else {
      throw TensorError.malformed("the mask has \(total) set elements, nonzero_data \(shape[0])")
    }
    let size = elementType.bitWidth / 8
    return try withDecoded(
      elementType, range,
      fill: { out in
        var start = try index.select(range.lowerBound)
        let end = try index.select(range.upperBound - 1) + 1
        var out = out
        while start < end {
          let piece = start..<min(start + GatheredTensor.piece, end)
          try dense.withElements(piece) { bytes in
            guard let base = bytes.baseAddress else { return }
            try index.forEachSet(piece) { position in
              memoryCopy(out, base + position * size, size)
              out += size
            }
          }
          start = piece.upperBound
        }
      }, body)
  }
}
