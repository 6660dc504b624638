import ModelCompression
import ModelGraph
import ModelOperations
import ModelTensors

/// Which elements of a weight share a scale.
public enum QuantizationGranularity: Sendable, Hashable {
  case tensor
  /// One scale per output channel.
  case channel
  /// One scale per output channel and block of this many input channels.
  case block(Int)
  /// One scale per block of these sizes, one for each axis; 0 is the whole axis.
  case blocks([Int])
}

/// Linear quantization of weights to 8 or 4 bits.
public struct QuantizePass: CompressionPass {
  /// How weights become codes.
  public var scheme: AffineScheme
  /// What shares a scale or a table.
  public var granularity: QuantizationGranularity
  /// Bits of a code in neural networks, 1…8; nil for those of the scheme.
  public var networkBits: Int?
  /// Whether affine codes may stand for symmetric ones, which neural networks have at 8 bits only.
  public var mayBeAffine: Bool

  /// A pass with this scheme.
  public init(
    scheme: AffineScheme = AffineScheme(), granularity: QuantizationGranularity = .channel,
    networkBits: Int? = nil, mayBeAffine: Bool = true
  ) {
    self.scheme = scheme
    self.granularity = granularity
    self.networkBits = networkBits
    self.mayBeAffine = mayBeAffine
  }

  /// Linear codes; symmetric ones exist at 8 bits only.
  public var neuralNetworks: NeuralNetworkSupport {
    switch granularity {
    case .block, .blocks: return .impossible("neural networks have no scales per block")
    case .tensor, .channel: break
    }
    let bits = networkBits ?? scheme.bits
    let isSymmetric = scheme.mode == .symmetric
    if isSymmetric, bits < 8, !mayBeAffine {
      return .impossible("neural networks have symmetric codes at 8 bits only")
    }
    return .scheme(
      .linear(
        LinearScheme(bits: bits, isSymmetric: isSymmetric && bits == 8, search: scheme.search),
        isPerTensor: granularity == .tensor),
      note: isSymmetric && bits < 8
        ? "neural networks have symmetric codes at 8 bits only, these are affine" : nil)
  }

  /// Widths that only neural networks have.
  public var programRefusal: String? {
    guard let networkBits, networkBits != scheme.bits else { return nil }
    return "\(networkBits) bits are for neural networks; ML Programs take 8, 4 or 16"
  }

  /// Decides on a candidate.
  public func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    if let programRefusal { return .skip(programRefusal) }
    if !constant.encoding.isDense { return composed(constant) }
    let type = constant.elementType
    guard type == .float16 || type == .float32 else {
      return .skip("\(type.rawValue) values have no scale; only fp16 and fp32 are quantized")
    }
    switch groups(of: constant) {
    case .skip(let reason): return .skip(reason)
    case .groups(let groups):
      guard let layout = GroupLayout(shape: constant.shape, scaleShape: groups.scaleShape) else {
        return .skip("its shape \(constant.shape) has no groups \(groups.scaleShape)")
      }
      guard
        storedBytes(count: constant.elementCount, constant, groups.scaleShape)
          < constant.byteCount
      else { return .skip("would not shrink: scales would outweigh what the codes save") }
      return .encode(
        QuantizeRecipe(scheme: scheme, layout: layout, groups: groups, version: version))
    }
  }

  enum GroupDecision {
    case groups(QuantizationGroups)
    case skip(String)
  }

  /// Which elements of the constant share a scale.
  func groups(of constant: ConstantFacts) -> GroupDecision {
    if case .blocks(let sizes) = granularity { return blocks(sizes, of: constant) }
    let axes: ChannelAxes
    switch constant.axes {
    case .disagreement(let text):
      guard case .tensor = granularity else { return .skip("its consumers disagree: \(text)") }
      axes = ChannelAxes(output: 0, input: nil)
    case .axes(let agreed): axes = agreed
    }
    var scaleShape = [Int](repeating: 1, count: constant.shape.count)
    if case .tensor = granularity {
      return .groups(QuantizationGroups(scaleShape: scaleShape, scope: "per tensor"))
    }
    guard constant.shape.indices.contains(axes.output) else {
      return .skip("a scalar has no channels")
    }
    scaleShape[axes.output] = constant.shape[axes.output]
    var groups = QuantizationGroups(
      scaleShape: scaleShape, scope: "per channel (axis \(axes.output))")
    guard case .block(let size) = granularity else { return .groups(groups) }
    groups.isBlock = true
    if let input = axes.input {
      let block = fittingBlock(size, constant, axes: axes, input: input)
      groups.scaleShape[input] = constant.shape[input] / block
      groups.scope = "per block of \(block) (axis \(input)) and channel (axis \(axes.output))"
    }
    return .groups(groups)
  }

  private func blocks(_ sizes: [Int], of constant: ConstantFacts) -> GroupDecision {
    guard sizes.count == constant.shape.count else {
      return .skip("has rank \(constant.shape.count), block_size has \(sizes.count) sizes")
    }
    var scaleShape: [Int] = []
    for (length, size) in zip(constant.shape, sizes) {
      let block = size == 0 ? length : size
      guard block > 0, length % block == 0 else {
        return .skip("blocks of \(sizes) do not divide its shape \(constant.shape)")
      }
      scaleShape.append(length / block)
    }
    return .groups(
      QuantizationGroups(
        scaleShape: scaleShape, scope: "per block of \(sizes)", isBlock: true))
  }

  /// The block itself where it divides the axis, else the largest divisor below it that still
  /// shrinks the weight, else the whole axis.
  private func fittingBlock(
    _ size: Int, _ constant: ConstantFacts, axes: ChannelAxes, input: Int
  ) -> Int {
    let length = constant.shape[input]
    if length <= size || size < 1 { return max(length, 1) }
    var scaleShape = [Int](repeating: 1, count: constant.shape.count)
    scaleShape[axes.output] = constant.shape[axes.output]
    for block in stride(from: size, through: 1, by: -1) where length % block == 0 {
      scaleShape[input] = length / block
      let bytes = storedBytes(count: constant.elementCount, constant, scaleShape)
      if block == size || bytes < constant.byteCount { return block }
    }
    return length
  }

  /// Bytes of `count` codes with the scales and offsets of all groups.
  func storedBytes(count: Int, _ constant: ConstantFacts, _ scaleShape: [Int]) -> Int {
    let groups = Shape.elementCount(scaleShape) ?? 0
    let codes = scheme.codeType.byteCount(of: count) ?? 0
    let scales = constant.elementType.byteCount(of: groups) ?? 0
    return codes + scales + (scheme.hasOffset ? scheme.codeType.byteCount(of: groups) ?? 0 : 0)
  }
}

/// Which elements of one weight share a scale.
struct QuantizationGroups: Sendable {
  var scaleShape: [Int]
  /// For the ledger, `per channel (axis 0)`.
  var scope: String
  /// Whether blocks were asked for, which only the iOS18 operation has.
  var isBlock = false
}

extension AffineScheme {
  /// `symmetric` or `affine`.
  var modeName: String { mode == .symmetric ? "symmetric" : "affine" }
}

/// Linear quantization of one plain weight.
struct QuantizeRecipe: WeightRecipe {
  var scheme: AffineScheme
  var layout: GroupLayout
  var groups: QuantizationGroups
  /// The specification version, which decides between the iOS16 and the iOS18 operation.
  var version: Int

  var description: String {
    "\(scheme.codeType.rawValue) \(scheme.modeName) \(groups.scope)"
  }

  /// 7 for 8 bits per tensor or channel, 9 for 4 bits and for blocks (the iOS18 operation).
  var requirement: VersionRequirement {
    if scheme.bits < 8 {
      return VersionRequirement(
        9, "\(scheme.codeType.rawValue) weights need constexpr_blockwise_shift_scale (iOS18)")
    }
    if groups.isBlock {
      return VersionRequirement(
        9, "scales per block need constexpr_blockwise_shift_scale (iOS18)")
    }
    return VersionRequirement(7, "8-bit weights need constexpr_affine_dequantize (iOS16)")
  }

  var identity: String { "\(description) \(scheme.search) \(layout.scaleShape)" }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    switch try AffineQuantizer.prepare(
      source: source, layout: layout, scheme: scheme, parallel: parallel)
    {
    case .refused(let reason): .refused(reason: reason)
    case .ready(let quantizer): .ready(QuantizedWeight(quantizer: quantizer, version: version))
    }
  }
}

/// A weight that is about to be quantized.
struct QuantizedWeight: PreparedWeight {
  var quantizer: AffineQuantizer
  var version: Int

  private var isBlockwise: Bool { version >= 9 }
  private var layout: GroupLayout { quantizer.layout }

  /// Codes, scales and, where the form has them, zero points.
  ///
  /// The iOS18 operation keeps scales at
  /// the weight's rank, the iOS16 one wants a vector or a scalar and always zero points.
  var parts: [WeightPart] {
    let shape = isBlockwise ? layout.scaleShape : vectorShape
    var parts = [
      WeightPart(quantizer.scheme.codeType, layout.shape),
      WeightPart(quantizer.source.elementType, shape),
    ]
    if quantizer.scheme.hasOffset || !isBlockwise {
      parts.append(WeightPart(quantizer.scheme.codeType, shape))
    }
    return parts
  }

  private var vectorShape: [Int] {
    layout.groupCount == 1 ? [] : [layout.groupCount]
  }

  /// The axis of the scales' vector; 0 for a scalar.
  private var axis: Int { layout.scaleShape.firstIndex { $0 > 1 } ?? 0 }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    let result = try quantizer.encode(parallel: parallel) { offset, bytes in
      try write(0, offset, bytes)
    }
    try result.scales.withUnsafeBytes { try write(1, 0, $0) }
    if let offsets = result.offsets {
      try offsets.withUnsafeBytes { try write(2, 0, $0) }
    } else if !isBlockwise {
      let zeros = [UInt8](repeating: 0, count: parts[2].byteCount)
      try zeros.withUnsafeBytes { try write(2, 0, $0) }
    }
    return result.sums
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    let result = [
      NamedValueType(output, .tensor(quantizer.source.elementType, layout.shape))
    ]
    if isBlockwise {
      var inputs: NamedList<Argument> = ["data": .value(parts[0]), "scale": .value(parts[1])]
      if parts.count > 2 { inputs["offset"] = .value(parts[2]) }
      return [
        GraphOperation(
          type: "constexpr_blockwise_shift_scale", inputs: inputs, outputs: result,
          attributes: ["name": .string(name)])
      ]
    }
    return [
      GraphOperation(
        type: "constexpr_affine_dequantize", outputs: result,
        attributes: [
          "name": .string(name), "quantized_data": parts[0], "scale": parts[1],
          "zero_point": parts[2], "axis": .int32(Int32(truncatingIfNeeded: axis)),
        ])
    ]
  }
}
