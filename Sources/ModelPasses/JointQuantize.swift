import ModelCompression
import ModelGraph
import ModelOperations
import ModelTensors

extension QuantizePass {
  /// Quantization of what is compressed already: the kept values of a sparse weight, the table of a
  /// palettized one, sparse or not.
  func composed(_ constant: ConstantFacts) -> RecipeDecision {
    let encoding = constant.encoding
    switch encoding.core {
    case .values(let values):
      guard let mask = encoding.mask else { return .skip("is not compressed") }
      guard values.elementType.isFloat else {
        return .skip("holds \(values.elementType.rawValue) values, which have no scale")
      }
      switch groups(of: constant) {
      case .skip(let reason): return .skip(reason)
      case .groups(let groups):
        guard
          storedBytes(count: values.elementCount, constant, groups.scaleShape)
            < values.byteCount
        else { return .skip("would not shrink: scales would outweigh what the codes save") }
        return .encode(
          SparseQuantizeRecipe(scheme: scheme, groups: groups, mask: mask, kept: values))
      }
    case .lookup(let lookup):
      if lookup.tableCodes != nil { return .skip("has a quantized table already") }
      guard scheme.bits == 8 else {
        return .skip("is palettized: only its table can be quantized, to 8 bits")
      }
      guard lookup.tables.elementType.isFloat else {
        return .skip("has a table of \(lookup.tables.elementType.rawValue), which has no scale")
      }
      let recipe = TableQuantizeRecipe(scheme: scheme, lookup: lookup, mask: encoding.mask)
      guard recipe.tableBytes < lookup.tables.byteCount else {
        return .skip("would not shrink: its table is smaller than codes with a scale")
      }
      return .encode(recipe)
    case .codes: return .skip("is quantized already (\(encoding.name))")
    case .cast: return .skip("is stored in fp16 (constexpr_cast); decompress it first")
    }
  }
}

/// What joint forms need of the version.
let jointRequirement = VersionRequirement(
  9, "joint compression needs the sparse and blockwise constexpr operations (iOS18)")

/// Quantization of the kept values of a sparse weight.
struct SparseQuantizeRecipe: WeightRecipe {
  var scheme: AffineScheme
  var groups: QuantizationGroups
  var mask: any TensorSource
  var kept: any TensorSource

  var description: String {
    "sparse + \(scheme.codeType.rawValue) \(scheme.modeName) \(groups.scope)"
  }
  var identity: String { "\(description) \(scheme.search) \(groups.scaleShape)" }
  var requirement: VersionRequirement { jointRequirement }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    guard let layout = GroupLayout(shape: source.shape, scaleShape: groups.scaleShape) else {
      return .refused(reason: "its shape has no groups \(groups.scaleShape)")
    }
    switch try AffineQuantizer.prepare(
      source: source, layout: layout, scheme: scheme, parallel: parallel)
    {
    case .refused(let reason): return .refused(reason: reason)
    case .ready(let quantizer):
      return .ready(SparseQuantizedWeight(quantizer: quantizer, mask: mask, kept: kept))
    }
  }
}

/// A sparse weight whose kept values are about to be quantized.
struct SparseQuantizedWeight: PreparedWeight {
  var quantizer: AffineQuantizer
  var mask: any TensorSource
  var kept: any TensorSource

  var parts: [WeightPart] {
    let layout = quantizer.layout
    var parts = [
      WeightPart(.uint1, layout.shape),
      WeightPart(quantizer.scheme.codeType, [kept.elementCount]),
      WeightPart(quantizer.source.elementType, layout.scaleShape),
    ]
    if quantizer.scheme.hasOffset {
      parts.append(WeightPart(quantizer.scheme.codeType, layout.scaleShape))
    }
    return parts
  }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    try copyPart(mask, to: 0, parallel, write)
    let dense = PartBuffer(count: quantizer.codeBytes)
    let result = try quantizer.encode(parallel: parallel) { offset, bytes in
      try dense.write(bytes, at: offset)
    }
    let codes = try MemoryTensor(
      elementType: quantizer.scheme.codeType, shape: quantizer.layout.shape, bytes: dense.bytes)
    try writeKept(of: codes, mask: mask, count: kept.elementCount, to: 1, write)
    try result.scales.withUnsafeBytes { try write(2, 0, $0) }
    if let offsets = result.offsets { try offsets.withUnsafeBytes { try write(3, 0, $0) } }
    return result.sums
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    var inputs: NamedList<Argument> = [
      "data_mask": .value(parts[0]), "nonzero_data": .value(parts[1]), "scale": .value(parts[2]),
    ]
    if parts.count > 3 { inputs["offset"] = .value(parts[3]) }
    return SparseOperations.chain(
      type: "constexpr_sparse_blockwise_shift_scale", suffix: "quantized", inputs: inputs,
      mask: parts[0], elementType: quantizer.source.elementType, shape: quantizer.layout.shape,
      kept: kept.elementCount, output: output, name: name)
  }
}

/// Quantization of the table of a palettized weight to 8 bits; indices stay.
struct TableQuantizeRecipe: WeightRecipe {
  var scheme: AffineScheme
  var lookup: WeightEncoding.Lookup
  var mask: (any TensorSource)?

  var description: String {
    "\(mask == nil ? "" : "sparse + ")lut\(lookup.indices.elementType.bitWidth) with "
      + "\(scheme.codeType.rawValue) \(scheme.modeName) table"
  }
  var identity: String { "\(description) \(scheme.search) \(lookup.tables.shape)" }
  var requirement: VersionRequirement { jointRequirement }

  /// Bytes of the codes with scale and offset.
  var tableBytes: Int {
    lookup.tables.elementCount + lookup.tables.elementType.bitWidth / 8 + (scheme.hasOffset ? 1 : 0)
  }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    let ones = [Int](repeating: 1, count: lookup.tables.shape.count)
    guard let layout = GroupLayout(shape: lookup.tables.shape, scaleShape: ones) else {
      return .refused(reason: "has tables of shape \(lookup.tables.shape)")
    }
    switch try AffineQuantizer.prepare(
      source: lookup.tables, layout: layout, scheme: scheme, parallel: parallel)
    {
    case .refused(let reason): return .refused(reason: "has a table that \(reason)")
    case .ready(let quantizer):
      return .ready(
        TableQuantizedWeight(source: source, quantizer: quantizer, lookup: lookup, mask: mask))
    }
  }
}

/// A palettized weight whose table is about to be quantized.
struct TableQuantizedWeight: PreparedWeight {
  var source: any TensorSource
  var quantizer: AffineQuantizer
  var lookup: WeightEncoding.Lookup
  var mask: (any TensorSource)?

  var parts: [WeightPart] {
    var parts = [
      WeightPart(lookup.indices.elementType, lookup.indices.shape),
      WeightPart(quantizer.scheme.codeType, lookup.tables.shape),
      WeightPart(lookup.tables.elementType, quantizer.layout.scaleShape),
    ]
    if quantizer.scheme.hasOffset {
      parts.append(WeightPart(quantizer.scheme.codeType, quantizer.layout.scaleShape))
    }
    if let mask { parts.append(WeightPart(.uint1, mask.shape)) }
    return parts
  }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    try copyPart(lookup.indices, to: 0, parallel, write)
    let codes = PartBuffer(count: quantizer.codeBytes)
    let result = try quantizer.encode(parallel: parallel) { offset, bytes in
      try codes.write(bytes, at: offset)
    }
    try codes.bytes.withUnsafeBytes { try write(1, 0, $0) }
    try result.scales.withUnsafeBytes { try write(2, 0, $0) }
    if let offsets = result.offsets { try offsets.withUnsafeBytes { try write(3, 0, $0) } }
    if let mask { try copyPart(mask, to: parts.count - 1, parallel, write) }
    return try errorSums(
      of: try decoded(codes: codes.bytes, result), against: source, parallel: parallel)
  }

  private func decoded(codes: [UInt8], _ result: AffineResult) throws -> any TensorSource {
    let scaleShape = quantizer.layout.scaleShape
    let type = quantizer.scheme.codeType
    let tables = try BlockwiseTensor(
      data: MemoryTensor(elementType: type, shape: lookup.tables.shape, bytes: codes),
      scale: MemoryTensor(
        elementType: lookup.tables.elementType, shape: scaleShape, bytes: result.scales),
      offset: result.offsets.map {
        try MemoryTensor(elementType: type, shape: scaleShape, bytes: $0)
      })
    guard let mask else {
      return try LookupTensor(
        indices: lookup.indices, lut: tables, vectorAxis: lookup.vectorAxis)
    }
    return try SparsePair.lookup(
      mask: mask, indices: lookup.indices, lut: tables, vectorAxis: lookup.vectorAxis
    ).dense()
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    let table = "\(output)_lut"
    var inputs: NamedList<Argument> = ["data": .value(parts[1]), "scale": .value(parts[2])]
    if quantizer.scheme.hasOffset { inputs["offset"] = .value(parts[3]) }
    let dequantize = GraphOperation(
      type: "constexpr_blockwise_shift_scale", inputs: inputs,
      outputs: [
        NamedValueType(table, .tensor(lookup.tables.elementType, lookup.tables.shape))
      ], attributes: ["name": .string(table)])
    return [dequantize]
      + LookupOperations.chain(
        indices: parts[0], lut: .name(table), vectorSize: lookup.tables.shape.last ?? 1,
        vectorAxis: lookup.vectorAxis, mask: mask == nil ? nil : parts.last,
        kept: lookup.indices.elementCount, elementType: source.elementType, shape: source.shape,
        output: output, name: name)
  }
}
