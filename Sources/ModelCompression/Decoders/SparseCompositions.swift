import ModelTensors

/// A mask and the values of its set elements: the two outputs of the operations that decode sparse
/// data to sparse values, and the inputs of ``SparseTensor``.
public struct SparsePair: Sendable {
  /// uint1, of the dense shape.
  public let mask: any TensorSource
  /// The values in scan order.
  public let values: any TensorSource

  /// The outputs of `constexpr_lut_to_sparse`.
  ///
  /// - Parameters:
  ///   - mask: uint1: which indices are stored.
  ///   - indices: The stored indices in scan order.
  ///   - lut: As for ``LookupTensor``.
  /// - Throws: ``TensorError/malformed(_:)`` when types or shapes disagree.
  public static func lookup(
    mask: any TensorSource, indices: any TensorSource, lut: any TensorSource, vectorAxis: Int? = nil
  ) throws(TensorError) -> SparsePair {
    let dense = try LookupTensor(
      indices: SparseTensor(values: indices, mask: mask), lut: lut, vectorAxis: vectorAxis)
    var wide = mask
    if let axis = dense.vectorAxis {
      wide = RepeatedMask(mask, axis: axis, times: dense.vectorSize, shape: dense.shape)
    }
    let values = try GatheredTensor(
      dense: dense, mask: wide, count: indices.elementCount * dense.vectorSize)
    return SparsePair(mask: wide, values: values)
  }

  /// The outputs of `constexpr_sparse_blockwise_shift_scale`.
  ///
  /// - Parameters:
  ///   - mask: uint1: which elements are stored.
  ///   - data: The stored codes in scan order.
  ///   - scale: In the dense layout, as for ``BlockwiseTensor``; so is `offset`.
  /// - Throws: ``TensorError/malformed(_:)`` when types or shapes disagree.
  public static func blockwise(
    mask: any TensorSource, data: any TensorSource, scale: any TensorSource,
    offset: (any TensorSource)?
  ) throws(TensorError) -> SparsePair {
    let dense = try BlockwiseTensor(
      data: SparseTensor(values: data, mask: mask), scale: scale, offset: offset)
    let values = try GatheredTensor(dense: dense, mask: mask, count: data.elementCount)
    return SparsePair(mask: mask, values: values)
  }

  /// The dense tensor of the pair.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` when types or shapes disagree.
  public func dense() throws(TensorError) -> SparseTensor {
    try SparseTensor(values: values, mask: mask)
  }
}

/// A mask each of whose elements stands for several consecutive ones along an axis.
struct RepeatedMask: TensorSource {
  let source: any TensorSource
  let shape: [Int]
  let times: Int
  private let inner: Int
  var elementType: ElementType { .uint1 }

  init(_ source: any TensorSource, axis: Int, times: Int, shape: [Int]) {
    self.source = source
    self.shape = shape
    self.times = times
    inner = shape[(axis + 1)...].reduce(1, *)
  }

  func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    try withDecoded(
      .uint1, range,
      fill: { out in
        let bytes = out.assumingMemoryBound(to: UInt8.self)
        bytes.update(repeating: 0, count: (range.count + 7) / 8)
        var start = range.lowerBound
        while start < range.upperBound {
          // A row of the result is `inner` elements of a row of the source.
          let row = start / inner
          let column = start - row * inner
          let count = min(inner - column, range.upperBound - start, 1 << 16)
          let first = row / times * inner + column
          let lead = first & 7
          try source.withElements(first - lead..<first + count) { mask in
            for offset in 0..<count {
              let bit = lead + offset
              if mask[bit >> 3] >> UInt8(bit & 7) & 1 == 1 {
                let place = start - range.lowerBound + offset
                bytes[place >> 3] |= 1 << UInt8(place & 7)
              }
            }
          }
          start += count
        }
      }, body)
  }
}
