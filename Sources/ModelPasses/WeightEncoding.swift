import ModelCompression
import ModelGraph
import ModelOperations
import ModelTensors

/// How a weight is stored: plain, or by `constexpr` operations that decode it.
public struct WeightEncoding: Sendable {
  /// Integer codes with scales and offsets of the codes' rank.
  public struct Codes: Sendable {
    /// int4, uint4, int8 or uint8: of the dense shape, or the kept codes in scan order.
    public var data: any TensorSource
    /// The scales, of the rank of the codes.
    public var scale: any TensorSource
    /// The offsets, of the shape of the scales; nil for none.
    public var offset: (any TensorSource)?
  }

  /// Indices into tables.
  public struct Lookup: Sendable {
    /// Of the dense shape (divided by the vector size), or the kept indices in scan order.
    public var indices: any TensorSource
    /// The tables as decoded, `[g…, entries, vector size]`.
    public var tables: any TensorSource
    /// The tables' own codes where they are quantized.
    public var tableCodes: Codes?
    /// The axis along which vectors lie; nil for tables of scalars.
    public var vectorAxis: Int?
  }

  /// What is stored for the dense or the kept values.
  public enum Core: Sendable {
    case values(any TensorSource)
    case codes(Codes)
    case lookup(Lookup)
    case cast(any TensorSource)
  }

  /// uint1, of the shape of what the core stores densely; nil when everything is kept.
  public var mask: (any TensorSource)?
  /// What is stored for the dense or the kept values.
  public var core: Core

  /// Whether the weight is a plain constant.
  public var isDense: Bool {
    if case .values = core { return mask == nil }
    return false
  }

  /// The name in text and JSON, outermost first: `dense`, `blockwise`, `sparse+lut` and so on.
  public var name: String {
    let inner =
      switch core {
      case .values: mask == nil ? "dense" : ""
      case .codes: "blockwise"
      case .lookup(let lookup): lookup.tableCodes == nil ? "lut" : "lut+blockwise"
      case .cast: "cast"
      }
    if mask == nil { return inner }
    return inner.isEmpty ? "sparse" : "sparse+\(inner)"
  }
}

/// Reads how the constants of a block are encoded.
struct EncodingReader {
  private var producers: [String: (operation: GraphOperation, path: OperationPath)] = [:]
  private var operations: [OperationPath: GraphOperation] = [:]
  private let evaluator: ConstantEvaluator

  init(_ block: Block) {
    evaluator = ConstantEvaluator(block)
    block.forEachOperation { operation, path in
      guard operation.isConst || operation.isConstexpr else { return }
      operations[path] = operation
      for output in operation.outputs { producers[output.name] = (operation, path) }
    }
  }

  /// The encoding of what an operation yields and its decoded values; nil for an operation that is
  /// not known or whose inputs are no constants.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` when the inputs disagree.
  func read(
    _ operation: GraphOperation
  ) throws(TensorError) -> (encoding: WeightEncoding, decoded: any TensorSource)? {
    guard let decoded = try evaluator.tensor(of: operation),
      let encoding = try encoding(of: operation)
    else { return nil }
    return (encoding, decoded)
  }

  /// Operations that feed `operation`, itself left out.
  func upstream(of operation: GraphOperation) -> [OperationPath] {
    var paths: [OperationPath] = []
    var pending = operation.inputs.values.flatMap { $0.bindings.compactMap(\.name) }
    while let name = pending.popLast() {
      guard let (producer, path) = producers[name], !paths.contains(path) else { continue }
      paths.append(path)
      pending += producer.inputs.values.flatMap { $0.bindings.compactMap(\.name) }
    }
    return paths
  }

  /// The constants that an encoded value is stored in: parameters of `operation` and of what feeds
  /// it that hold tensors; axes, shapes and names of types are left out.
  func parameters(of operation: GraphOperation) -> [Value] {
    let chain = [operation] + upstream(of: operation).compactMap { operations[$0] }
    return chain.flatMap { operation in
      var values: [Value] = []
      operation.forEachValue { values.append($0) }
      return values.filter { value in
        switch value.type?.tensor?.elementType {
        case .string, .int32, .uint32, nil: false
        default: true
        }
      }
    }
  }

  private func encoding(of operation: GraphOperation) throws(TensorError) -> WeightEncoding? {
    switch operation.type {
    case "constexpr_cast":
      guard let source = try tensor(operation, "source_val") else { return nil }
      return WeightEncoding(core: .cast(source))
    case "constexpr_affine_dequantize":
      guard let codes = try affineCodes(operation) else { return nil }
      return WeightEncoding(core: .codes(codes))
    case "constexpr_blockwise_shift_scale":
      guard let codes = try codes(operation, data: "data") else { return nil }
      return WeightEncoding(core: .codes(codes))
    case "constexpr_lut_to_dense":
      guard let lookup = try lookup(operation, indices: "indices") else { return nil }
      return WeightEncoding(core: .lookup(lookup))
    case "constexpr_sparse_to_dense": return try sparse(operation)
    default: return nil
    }
  }

  private func sparse(_ operation: GraphOperation) throws(TensorError) -> WeightEncoding? {
    guard operation.parameter("shape") == nil else {
      // The flat iOS16 form.
      guard let dense = try evaluator.tensor(of: operation),
        let values = try tensor(operation, "nonzero_data"),
        let packed = try tensor(operation, "mask")
      else { return nil }
      let mask = try ReinterpretedTensor(packed, as: .uint1, shape: dense.shape)
      return WeightEncoding(mask: mask, core: .values(values))
    }
    if let name = operation.inputs["nonzero_data"]?.name, let (inner, _) = producers[name],
      inner.isConstexpr
    {
      switch inner.type {
      case "constexpr_lut_to_sparse":
        guard let lookup = try lookup(inner, indices: "indices_nonzero_data"),
          let mask = try tensor(inner, "indices_mask")
        else { return nil }
        return WeightEncoding(mask: mask, core: .lookup(lookup))
      case "constexpr_sparse_blockwise_shift_scale":
        guard let codes = try codes(inner, data: "nonzero_data"),
          let mask = try tensor(inner, "data_mask")
        else { return nil }
        return WeightEncoding(mask: mask, core: .codes(codes))
      default: return nil
      }
    }
    guard let values = try tensor(operation, "nonzero_data"),
      let mask = try tensor(operation, "mask")
    else { return nil }
    return WeightEncoding(mask: mask, core: .values(values))
  }

  private func lookup(
    _ operation: GraphOperation, indices name: String
  ) throws(TensorError) -> WeightEncoding.Lookup? {
    guard let decoded = try evaluator.tensor(of: operation),
      let tables = try tensor(operation, "lut"), let indices = try tensor(operation, name)
    else { return nil }
    if operation.parameter("shape") != nil {
      // The flat iOS16 form: one table of scalars.
      let bits = tables.elementCount.trailingZeroBitCount
      guard let type = ElementType.unsigned(bits: bits) else { return nil }
      let rank = decoded.shape.count
      return WeightEncoding.Lookup(
        indices: try ReinterpretedTensor(indices, as: type, shape: decoded.shape),
        tables: try ReshapedTensor(
          tables, shape: [Int](repeating: 1, count: rank) + [tables.elementCount, 1]))
    }
    var lookup = WeightEncoding.Lookup(indices: indices, tables: tables)
    if let axis = try tensor(operation, "vector_axis"),
      let values = try? CodeReader.integers(axis, 0..<1)
    {
      lookup.vectorAxis = values.first.map(Int.init)
    }
    if let bound = operation.inputs["lut"]?.name, let (inner, _) = producers[bound],
      inner.type == "constexpr_blockwise_shift_scale"
    {
      lookup.tableCodes = try codes(inner, data: "data")
    }
    return lookup
  }

  private func codes(
    _ operation: GraphOperation, data: String
  ) throws(TensorError) -> WeightEncoding.Codes? {
    guard let data = try tensor(operation, data), let scale = try tensor(operation, "scale")
    else { return nil }
    return WeightEncoding.Codes(
      data: data, scale: scale, offset: try tensor(operation, "offset"))
  }

  /// The iOS16 form with scales and zero points at the rank of the data.
  private func affineCodes(_ operation: GraphOperation) throws(TensorError) -> WeightEncoding.Codes?
  {
    guard let data = try tensor(operation, "quantized_data"),
      let scale = try tensor(operation, "scale"),
      let zeroPoint = try tensor(operation, "zero_point")
    else { return nil }
    let rank = data.shape.count
    let axis = operation.parameter("axis")?.intValue ?? 0
    func spread(_ parameter: any TensorSource) throws(TensorError) -> any TensorSource {
      var shape = [Int](repeating: 1, count: rank)
      if parameter.elementCount > 1 {
        guard let place = Shape.normalized(axis: axis, rank: rank) else {
          throw .malformed("axis \(axis) is outside rank \(rank)")
        }
        shape[place] = parameter.elementCount
      }
      return try ReshapedTensor(parameter, shape: shape)
    }
    return WeightEncoding.Codes(
      data: data, scale: try spread(scale), offset: try spread(zeroPoint))
  }

  private func tensor(
    _ operation: GraphOperation, _ input: String
  ) throws(TensorError) -> (any TensorSource)? {
    if let value = operation.parameter(input) { return value.tensorSource }
    guard let name = operation.inputs[input]?.name else { return nil }
    return try evaluator.tensor(named: name)
  }
}
