import ModelCompression
import ModelGraph
import ModelOperations
import ModelTensors

/// Magnitude pruning: the values of least magnitude become zero, the others are stored with a mask.
public struct PrunePass: CompressionPass {
  /// Which values become zero.
  ///
  /// `dim` 0 is the axis of the output channels, 1 that of the input
  /// channels, as the consumers of a weight see them.
  public enum Rule: Sendable, Hashable {
    /// A share of the values of each weight.
    case sparsity(Double)
    /// Values of at most a magnitude; weights where fewer than a share become zero stay.
    case threshold(Double, minimumSparsity: Double)
    /// So many of every `of` consecutive values.
    case ratio(zeros: Int, of: Int, dim: Int)
    /// A share of the blocks of `size` consecutive values.
    case blocks(sparsity: Double, size: Int, dim: Int)
  }

  /// Which values become zero.
  public var rule: Rule
  /// Only weights whose consumers are all of these types; nil for all.
  public var consumerTypes: Set<String>?

  /// A pass with this rule.
  public init(rule: Rule, consumerTypes: Set<String>? = nil) {
    self.rule = rule
    self.consumerTypes = consumerTypes
  }

  /// Nothing: there is no sparse form.
  public var neuralNetworks: NeuralNetworkSupport {
    .unsupported("neural networks have no sparse form")
  }

  /// Decides on a candidate.
  public func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    guard constant.elementType == .float16 || constant.elementType == .float32 else {
      return .skip("\(constant.elementType.rawValue) values are not pruned")
    }
    if let types = consumerTypes,
      let other = constant.consumers.first(where: { !types.contains($0.type) })
    {
      return .skip(
        "this rule is for \(types.sorted().joined(separator: " and ")), not \(other.type)")
    }
    switch constant.encoding.core {
    case .cast: return .skip("is stored in fp16 (constexpr_cast); decompress it first")
    case .lookup(let lookup) where lookup.vectorAxis != nil:
      return .skip("has tables of vectors, whose values cannot be dropped one by one")
    case .values, .lookup, .codes: break
    }
    var minimum = 0.0
    let kernelRule: PruneRule
    switch rule {
    case .sparsity(let share): kernelRule = .sparsity(share)
    case .threshold(let limit, let share):
      kernelRule = .threshold(limit)
      minimum = share
    case .ratio(let zeros, let count, let dim):
      switch axis(dim, of: constant, length: count) {
      case .skip(let reason): return .skip(reason)
      case .axis(let axis): kernelRule = .nOfM(zeros: zeros, count: count, axis: axis)
      }
    case .blocks(let share, let size, let dim):
      switch axis(dim, of: constant, length: size) {
      case .skip(let reason): return .skip(reason)
      case .axis(let axis): kernelRule = .blocks(share, size: size, axis: axis)
      }
    }
    return .encode(
      PruneRecipe(
        rule: kernelRule, minimumSparsity: minimum, encoding: constant.encoding,
        storedBytes: constant.byteCount, version: version))
  }

  private enum AxisDecision {
    case axis(Int)
    case skip(String)
  }

  private func axis(_ dim: Int, of constant: ConstantFacts, length: Int) -> AxisDecision {
    switch constant.axes {
    case .disagreement(let text): return .skip("its consumers disagree: \(text)")
    case .axes(let axes):
      guard let axis = dim == 0 ? axes.output : axes.input, constant.shape.indices.contains(axis)
      else { return .skip("it has no axis for --dim \(dim)") }
      guard length <= constant.shape[axis] else {
        return .skip("axis \(axis) has \(constant.shape[axis]) elements, fewer than \(length)")
      }
      return .axis(axis)
    }
  }
}

/// Pruning of one weight, plain or encoded.
struct PruneRecipe: WeightRecipe {
  var rule: PruneRule
  /// Weights that would have a smaller share of zeros stay.
  var minimumSparsity: Double
  var encoding: WeightEncoding
  /// Bytes as stored now.
  var storedBytes: Int
  /// The specification version, which decides between the iOS16 and the iOS18 operation.
  var version: Int

  private var isPlain: Bool {
    if case .values = encoding.core { return true }
    return false
  }

  /// How many values, codes or indices are stored.
  private var keptCount: Int {
    switch encoding.core {
    case .values(let kept), .cast(let kept): kept.elementCount
    case .codes(let codes): codes.data.elementCount
    case .lookup(let lookup): lookup.indices.elementCount
    }
  }

  var description: String {
    let what =
      switch rule {
      case .sparsity(let share): "\(percent(share)) % zeros"
      case .threshold(let limit): "zeros up to \(limit)"
      case .nOfM(let zeros, let count, let axis): "\(zeros):\(count) zeros (axis \(axis))"
      case .blocks(let share, let size, let axis):
        "\(percent(share)) % zero blocks of \(size) (axis \(axis))"
      }
    return isPlain ? "sparse, \(what)" : "sparse + \(encoding.name), \(what)"
  }

  private func percent(_ share: Double) -> String {
    let value = share * 100
    return value == value.rounded() ? "\(Int(value))" : "\(value)"
  }

  var identity: String { "\(description) \(rule) \(minimumSparsity) \(encoding.name)" }

  var requirement: VersionRequirement {
    isPlain
      ? VersionRequirement(7, "sparse weights need constexpr_sparse_to_dense (iOS16)")
      : jointRequirement
  }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    switch try Pruner.prepare(source: source, rule: rule, parallel: parallel) {
    case .refused(let reason): return .refused(reason: reason)
    case .ready(let pruner):
      if pruner.sparsity < minimumSparsity {
        return .refused(
          reason: "would have only \(pruner.zeroCount) zeros of \(source.elementCount)")
      }
      if encoding.mask != nil, pruner.keptCount == keptCount {
        return .refused(reason: "is as sparse already")
      }
      let weight: any PreparedWeight =
        isPlain
        ? PrunedWeight(pruner: pruner, version: version)
        : PrunedCodes(
          pruner: pruner, mask: try pruner.mask(parallel: parallel), encoding: encoding)
      let bytes = weight.parts.reduce(0) { $0 + $1.byteCount }
      if try bytes >= storedBytes && !isChange(pruner, of: source, parallel) {
        return .refused(reason: "would stay as it is: no value is to become zero")
      }
      return .ready(weight)
    }
  }

  /// Whether some value becomes zero that is not.
  private func isChange(
    _ pruner: Pruner, of source: any TensorSource, _ parallel: Parallel
  ) throws -> Bool {
    guard
      case .ready(let present) = try Pruner.prepare(
        source: source, rule: .threshold(0), parallel: parallel)
    else { return true }
    return pruner.zeroCount > present.zeroCount
  }
}

/// A plain weight that is about to be pruned: sparse, or with zeros where that is not smaller.
struct PrunedWeight: PreparedWeight {
  var pruner: Pruner
  var version: Int

  private var source: any TensorSource { pruner.source }
  /// Whether the sparse form would not be smaller.
  var isDense: Bool { pruner.maskBytes + pruner.valueBytes >= pruner.denseBytes }

  var note: String? {
    isDense
      ? "stays dense with its \(pruner.zeroCount) zeros: the sparse form would not be smaller" : nil
  }

  /// Mask and kept values, or the dense weight.
  var parts: [WeightPart] {
    if isDense { return [WeightPart(source.elementType, source.shape)] }
    let mask =
      version < 9
      ? WeightPart(.uint8, [pruner.maskBytes]) : WeightPart(.uint1, source.shape)
    return [mask, WeightPart(source.elementType, [pruner.keptCount])]
  }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    if isDense {
      return try pruner.encodeDense(parallel: parallel) { try write(0, $0, $1) }
    }
    return try pruner.encode(
      parallel: parallel, mask: { try write(0, $0, $1) }, values: { try write(1, $0, $1) })
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    if isDense {
      var constant = GraphOperation.const(output, parts[0])
      constant.attributes["name"] = .string(name)
      return [constant]
    }
    if version >= 9 {
      return [
        SparseOperations.toDense(
          values: .value(parts[1]), mask: .value(parts[0]), elementType: source.elementType,
          shape: source.shape, output: output, name: name)
      ]
    }
    return [
      GraphOperation(
        type: "constexpr_sparse_to_dense",
        outputs: [NamedValueType(output, .tensor(source.elementType, source.shape))],
        attributes: [
          "name": .string(name), "nonzero_data": parts[1], "mask": parts[0],
          "shape": .uint32s(source.shape),
        ])
    ]
  }
}

/// A palettized or quantized weight that is about to be pruned: its indices or codes are kept where
/// the mask says so, tables and scales stay.
struct PrunedCodes: PreparedWeight {
  var pruner: Pruner
  var mask: any TensorSource
  var encoding: WeightEncoding

  private var source: any TensorSource { pruner.source }

  /// What is kept, mask, then what stays: the table, or its codes with scale and offset; the
  /// scales and offsets of quantized weights.
  private var stored: (codes: any TensorSource, others: [any TensorSource])? {
    switch encoding.core {
    case .values, .cast: return nil
    case .codes(let codes):
      return (codes.data, [codes.scale] + (codes.offset.map { [$0] } ?? []))
    case .lookup(let lookup):
      guard let table = lookup.tableCodes else { return (lookup.indices, [lookup.tables]) }
      return (lookup.indices, [table.data, table.scale] + (table.offset.map { [$0] } ?? []))
    }
  }

  var parts: [WeightPart] {
    guard let stored else { return [] }
    return [
      WeightPart(stored.codes.elementType, [pruner.keptCount]), WeightPart(.uint1, source.shape),
    ] + stored.others.map { WeightPart($0.elementType, $0.shape) }
  }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    guard let stored else { return ErrorSums() }
    var dense = stored.codes
    if let old = encoding.mask { dense = try SparseTensor(values: stored.codes, mask: old) }
    try writeKept(of: dense, mask: mask, count: pruner.keptCount, to: 0, write)
    try copyPart(mask, to: 1, parallel, write)
    for (index, other) in stored.others.enumerated() {
      try copyPart(other, to: index + 2, parallel, write)
    }
    return try pruner.encode(parallel: parallel, mask: { _, _ in }, values: { _, _ in })
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    let type = source.elementType
    switch encoding.core {
    case .values, .cast: return []
    case .codes:
      var inputs: NamedList<Argument> = [
        "data_mask": .value(parts[1]), "nonzero_data": .value(parts[0]),
        "scale": .value(parts[2]),
      ]
      if parts.count > 3 { inputs["offset"] = .value(parts[3]) }
      return SparseOperations.chain(
        type: "constexpr_sparse_blockwise_shift_scale", suffix: "quantized", inputs: inputs,
        mask: parts[1], elementType: type, shape: source.shape, kept: pruner.keptCount,
        output: output, name: name)
    case .lookup(let lookup):
      var chain: [GraphOperation] = []
      var lut = Argument.value(parts[2])
      if lookup.tableCodes != nil {
        let table = "\(output)_lut"
        var inputs: NamedList<Argument> = ["data": .value(parts[2]), "scale": .value(parts[3])]
        if parts.count > 4 { inputs["offset"] = .value(parts[4]) }
        chain.append(
          GraphOperation(
            type: "constexpr_blockwise_shift_scale", inputs: inputs,
            outputs: [NamedValueType(table, .tensor(type, lookup.tables.shape))],
            attributes: ["name": .string(table)]))
        lut = .name(table)
      }
      return chain
        + LookupOperations.chain(
          indices: parts[0], lut: lut, vectorSize: 1, vectorAxis: nil, mask: parts[1],
          kept: pruner.keptCount, elementType: type, shape: source.shape, output: output,
          name: name)
    }
  }
}

extension Value {
  /// A vector of uint32, as the iOS16 constexpr operations want shapes.
  static func uint32s(_ numbers: [Int]) -> Value {
    let words = numbers.map { UInt32(truncatingIfNeeded: $0) }
    return Value(.uint32, [numbers.count], .bytes(words.withUnsafeBytes { Array($0) }))
  }
}
