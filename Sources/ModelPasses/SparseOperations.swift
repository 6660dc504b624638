import ModelCompression
import ModelGraph
import ModelTensors

/// The iOS18 operations of sparse weights.
enum SparseOperations {
  /// `constexpr_sparse_to_dense` behind an operation that yields mask and kept values.
  ///
  /// - Parameters:
  ///   - type: The inner operation, with its `inputs`.
  ///   - mask: Of the inner operation's result.
  static func chain(
    type: String, suffix: String, inputs: NamedList<Argument>, mask: Value,
    elementType: ElementType, shape: [Int], kept: Int, output: String, name: String
  ) -> [GraphOperation] {
    let innerName = "\(output)_nonzero_data_\(suffix)"
    let maskName = "\(innerName)_0"
    let valuesName = "\(innerName)_1"
    let inner = GraphOperation(
      type: type, inputs: inputs,
      outputs: [
        NamedValueType(maskName, .tensor(.uint1, shape)),
        NamedValueType(valuesName, .tensor(elementType, [kept])),
      ], attributes: ["name": .string(innerName)])
    return [
      inner,
      toDense(
        values: .name(valuesName), mask: .name(maskName), elementType: elementType, shape: shape,
        output: output, name: name),
    ]
  }

  /// `constexpr_sparse_to_dense`.
  static func toDense(
    values: Argument, mask: Argument, elementType: ElementType, shape: [Int], output: String,
    name: String
  ) -> GraphOperation {
    GraphOperation(
      type: "constexpr_sparse_to_dense", inputs: ["nonzero_data": values, "mask": mask],
      outputs: [NamedValueType(output, .tensor(elementType, shape))],
      attributes: ["name": .string(name)])
  }
}

/// The iOS18 operations of palettized weights.
enum LookupOperations {
  /// `constexpr_lut_to_dense`, or with a mask `constexpr_lut_to_sparse` and
  /// `constexpr_sparse_to_dense`.
  ///
  /// - Parameter kept: The number of indices of a sparse weight.
  static func chain(
    indices: Value, lut: Argument, vectorSize: Int, vectorAxis: Int?, mask: Value?, kept: Int,
    elementType: ElementType, shape: [Int], output: String, name: String
  ) -> [GraphOperation] {
    var inputs: NamedList<Argument> = ["lut": lut]
    if let axis = vectorAxis {
      inputs["vector_axis"] = .value(.int32(Int32(truncatingIfNeeded: axis)))
    }
    guard let mask else {
      inputs["indices"] = .value(indices)
      return [
        GraphOperation(
          type: "constexpr_lut_to_dense", inputs: inputs,
          outputs: [NamedValueType(output, .tensor(elementType, shape))],
          attributes: ["name": .string(name)])
      ]
    }
    inputs["indices_mask"] = .value(mask)
    inputs["indices_nonzero_data"] = .value(indices)
    return SparseOperations.chain(
      type: "constexpr_lut_to_sparse", suffix: "palettized", inputs: inputs, mask: mask,
      elementType: elementType, shape: shape, kept: kept * vectorSize,
      output: output, name: name)
  }
}

/// Writes the codes of `dense` where `mask` is set, in scan order, packed in their type.
func writeKept(
  of dense: any TensorSource, mask: any TensorSource, count: Int, to part: Int,
  _ write: @escaping PartWriter
) throws {
  let bits = dense.elementType.bitWidth
  let bytes = try dense.elementType.isSubByte ? widened(dense) : dense
  let kept = try GatheredTensor(dense: bytes, mask: mask, count: count)
  for range in pieces(of: kept, bytes: 1 << 20) {
    try kept.withElements(range) { raw in
      if bits >= 8 {
        try write(part, range.lowerBound * bits / 8, raw)
        return
      }
      var packed = [UInt8](repeating: 0, count: (range.count * bits + 7) / 8)
      packed.withUnsafeMutableBytes { target in
        BitPacking.pack(raw.bindMemory(to: UInt8.self), bits: bits, into: target)
      }
      try packed.withUnsafeBytes { try write(part, range.lowerBound * bits / 8, $0) }
    }
  }
}

/// The codes of a tensor narrower than a byte, one byte each.
private func widened(_ source: any TensorSource) throws -> any TensorSource {
  let codes = try CodeReader.codes(source, 0..<source.elementCount)
  return try MemoryTensor(elementType: .uint8, shape: source.shape, bytes: codes)
}

/// The error of `decoded` against the values that it stands for, both fp16, fp32 or narrow integers.
func errorSums(
  of decoded: any TensorSource, against source: any TensorSource, parallel: Parallel
) throws -> ErrorSums {
  let ranges = pieces(of: source, bytes: 1 << 18)
  let sums = SumsByPiece(count: ranges.count)
  try parallel.forEach(ranges.count) { index in
    let range = ranges[index]
    let left = try floats(source, range)
    let right = try floats(decoded, range)
    var piece = ErrorSums()
    for position in 0..<range.count {
      piece.add(Double(left[position]), decoded: Double(right[position]))
    }
    source.release(range)
    decoded.release(range)
    sums.set(piece, at: index)
  }
  return sums.total
}

private func floats(_ source: any TensorSource, _ range: Range<Int>) throws -> [Float] {
  var values = [Float](repeating: 0, count: range.count)
  try values.withUnsafeMutableBufferPointer { try CodeReader.readFloats(source, range, into: $0) }
  return values
}
