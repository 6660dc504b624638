import ModelTensors

/// The result of `constexpr_lut_to_dense`: for every index the entry of its group's table.
public struct LookupTensor: TensorSource {
  /// The sizes of the axes.
  public let shape: [Int]
  /// The type of the elements.
  public let elementType: ElementType
  /// The indices.
  public let indices: any TensorSource
  /// The tables.
  public let lut: any TensorSource
  /// The axis along which the components of an entry lie; nil for tables of scalars.
  public let vectorAxis: Int?
  /// Components of an entry.
  public let vectorSize: Int
  /// Entries of a table.
  public let entryCount: Int
  private let layout: GroupLayout
  /// Elements after the vector axis.
  private let inner: Int
  private let table: Lazily<[UInt8]>

  private static let tile = 4096

  /// The grouped and vector form of iOS 18.
  ///
  /// - Parameters:
  ///   - indices: uint1, uint2, uint3, uint4, uint6 or uint8, rank 1 or more.
  ///   - lut: int8, uint8, fp16 or fp32, of shape [g₀ … gₖ₋₁, 2ⁿ, V] for n-bit indices; each g
  ///     divides the indices' size.
  ///   - vectorAxis: Needed when V > 1; counted from the end when negative.
  /// - Throws: ``TensorError/malformed(_:)`` when types or shapes disagree.
  public init(
    indices: any TensorSource, lut: any TensorSource, vectorAxis: Int? = nil
  ) throws(TensorError) {
    let bits = indices.elementType.bitWidth
    switch indices.elementType {
    case .uint1, .uint2, .uint3, .uint4, .uint6, .uint8: break
    default: throw .malformed("indices are \(indices.elementType.rawValue), not uint1 … uint8")
    }
    switch lut.elementType {
    case .int8, .uint8, .float16, .float32: break
    default: throw .malformed("lut is \(lut.elementType.rawValue), not int8, uint8, fp16 or fp32")
    }
    let rank = indices.shape.count
    try require(rank > 0, "indices are a scalar")
    try require(
      lut.shape.count == rank + 2,
      "lut of shape \(lut.shape) for indices of shape \(indices.shape), expected rank \(rank + 2)")
    entryCount = lut.shape[rank]
    vectorSize = lut.shape[rank + 1]
    try require(
      entryCount == 1 << bits,
      "lut has \(entryCount) entries for \(bits)-bit indices, expected \(1 << bits)")
    try require(vectorSize > 0, "lut of shape \(lut.shape) has empty entries")
    guard
      let layout = GroupLayout(shape: indices.shape, scaleShape: Array(lut.shape.prefix(rank)))
    else {
      throw .malformed(
        "lut of shape \(lut.shape) does not divide indices of shape \(indices.shape)")
    }
    self.layout = layout
    var shape = indices.shape
    var axis: Int?
    if let given = vectorAxis {
      guard let normal = Shape.normalized(axis: given, rank: rank) else {
        throw .malformed("vector_axis \(given) is outside the rank \(rank)")
      }
      axis = normal
    }
    if vectorSize > 1 {
      guard let axis else {
        throw .malformed("vector_axis is missing for \(vectorSize) components")
      }
      let (size, overflow) = shape[axis].multipliedReportingOverflow(by: vectorSize)
      try require(!overflow, "the shape \(shape) has too many elements")
      shape[axis] = size
      inner = shape[(axis + 1)...].reduce(1, *)
    } else {
      inner = 1
    }
    try require(Shape.elementCount(shape) != nil, "the shape \(shape) has too many elements")
    self.shape = shape
    self.vectorAxis = vectorSize > 1 ? axis : nil
    elementType = lut.elementType
    self.indices = indices
    self.lut = lut
    table = Lazily { try lut.bytes() }
  }

  /// The flat form of iOS 16: one table of scalars and packed indices.
  ///
  /// - Parameters:
  ///   - packedIndices: uint8 bytes that hold n-bit indices, lowest bit first.
  ///   - lut: A vector of 2, 4, 16, 64 or 256 entries.
  ///   - shape: That of the result.
  /// - Throws: ``TensorError/malformed(_:)`` when types or sizes disagree.
  public init(
    packedIndices: any TensorSource, lut: any TensorSource, shape: [Int]
  ) throws(TensorError) {
    let entries = lut.elementCount
    let bits = entries > 1 ? entries.trailingZeroBitCount : 0
    guard lut.shape.count == 1, bits <= 8, entries == 1 << bits,
      let type = ElementType.unsigned(bits: bits)
    else { throw .malformed("lut of shape \(lut.shape) is no vector of 2, 4, 16, 64 or 256") }
    let flat = try ReshapedTensor(
      lut, shape: [Int](repeating: 1, count: shape.count) + [entries, 1])
    try self.init(
      indices: ReinterpretedTensor(packedIndices, as: type, shape: shape), lut: flat)
  }

  /// Decodes the elements of `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    let table = try table.value()
    return try withDecoded(
      elementType, range,
      fill: { out in
        try table.withUnsafeBytes { table in
          guard let base = table.baseAddress else { return }
          switch elementType.bitWidth {
          case 8: try decode(range, base, out, as: UInt8.self)
          case 16: try decode(range, base, out, as: UInt16.self)
          default: try decode(range, base, out, as: UInt32.self)
          }
        }
      }, body)
  }

  /// Releases the pages behind `range` of the data decoded.
  public func release(_ range: Range<Int>) {
    if vectorSize == 1 { indices.release(range) }
  }

  private func decode<T: BitwiseCopyable>(
    _ range: Range<Int>, _ table: UnsafeRawPointer, _ out: UnsafeMutableRawPointer, as type: T.Type
  ) throws {
    let table = table.assumingMemoryBound(to: T.self)
    let out = out.assumingMemoryBound(to: T.self)
    try withScratch(UInt8.self, LookupTensor.tile) { codes in
      guard let codes = codes.baseAddress else { return }
      if vectorSize == 1 {
        try decodeScalars(range, table, out, codes)
      } else {
        try decodeVectors(range, table, out, codes)
      }
    }
  }

  private func decodeScalars<T: BitwiseCopyable>(
    _ range: Range<Int>, _ table: UnsafePointer<T>, _ out: UnsafeMutablePointer<T>,
    _ codes: UnsafeMutablePointer<UInt8>
  ) throws {
    var start = range.lowerBound
    while start < range.upperBound {
      let count = min(LookupTensor.tile, range.upperBound - start)
      let tile = start..<start + count
      try CodeReader.read(
        indices, tile, into: UnsafeMutableBufferPointer(start: codes, count: count))
      let part = out + (start - range.lowerBound)
      layout.map.withUnsafeBufferPointer { map in
        layout.forEachStretch(tile) { stretch, slab, position in
          let first = table + slab * layout.groupsPerSlab * entryCount
          let offset = stretch.lowerBound - start
          let codes = codes + offset
          let part = part + offset
          if layout.isContiguous {
            for index in 0..<stretch.count { part[index] = first[Int(codes[index])] }
          } else {
            for index in 0..<stretch.count {
              part[index] = first[Int(map[position + index]) * entryCount + Int(codes[index])]
            }
          }
        }
      }
      start += count
    }
  }

  /// The result is rows of `inner` elements; component v of index row r is row r·V + v.
  private func decodeVectors<T: BitwiseCopyable>(
    _ range: Range<Int>, _ table: UnsafePointer<T>, _ out: UnsafeMutablePointer<T>,
    _ codes: UnsafeMutablePointer<UInt8>
  ) throws {
    var start = range.lowerBound
    var out = out
    while start < range.upperBound {
      let row = start / inner
      let column = start - row * inner
      let firstIndex = row / vectorSize * inner + column
      if inner == 1 {
        // Whole entries lie in a row: read many indices at once.
        let end = min(range.upperBound, (firstIndex + LookupTensor.tile) * vectorSize)
        let last = (end + vectorSize - 1) / vectorSize
        try CodeReader.read(
          indices, firstIndex..<last,
          into: UnsafeMutableBufferPointer(start: codes, count: last - firstIndex))
        var component = start - firstIndex * vectorSize
        var index = firstIndex
        for _ in start..<end {
          let entry = layout.group(of: index) * entryCount + Int(codes[index - firstIndex])
          out.pointee = table[entry * vectorSize + component]
          out += 1
          component += 1
          if component == vectorSize {
            component = 0
            index += 1
          }
        }
        start = end
      } else {
        let count = min(LookupTensor.tile, inner - column, range.upperBound - start)
        let component = row % vectorSize
        try CodeReader.read(
          indices, firstIndex..<firstIndex + count,
          into: UnsafeMutableBufferPointer(start: codes, count: count))
        layout.map.withUnsafeBufferPointer { map in
          layout.forEachStretch(firstIndex..<firstIndex + count) { stretch, slab, position in
            let first = slab * layout.groupsPerSlab
            for offset in 0..<stretch.count {
              let code = codes[stretch.lowerBound - firstIndex + offset]
              let group = layout.isContiguous ? first : first + Int(map[position + offset])
              out.pointee = table[(group * entryCount + Int(code)) * vectorSize + component]
              out += 1
            }
          }
        }
        start += count
      }
    }
  }
}
