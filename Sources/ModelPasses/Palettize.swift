import ModelCompression
import ModelGraph
import ModelOperations
import ModelTensors

/// Which elements of a weight share a table.
public enum PalettizationGranularity: Sendable, Hashable {
  case tensor
  /// One table per this many channels.
  case channelGroup(Int)
}

/// Palettization: indices into tables of few values.
public struct PalettizePass: CompressionPass {
  /// Bits, mode, vectors and table of a weight; axes are filled in per weight.
  public var settings: PaletteSettings
  /// What shares a scale or a table.
  public var granularity: PalettizationGranularity
  /// Whether every output channel gets a scale.
  ///
  /// Core ML takes it as a part of a table per channel, which is chosen freely then.
  public var hasChannelScale: Bool
  /// The axis of the channels; nil for that of the consumers.
  public var channelAxis: Int?

  /// A pass with these settings.
  public init(
    settings: PaletteSettings = PaletteSettings(),
    granularity: PalettizationGranularity = .tensor, hasChannelScale: Bool = false,
    channelAxis: Int? = nil
  ) {
    self.settings = settings
    self.granularity = granularity
    self.hasChannelScale = hasChannelScale
    self.channelAxis = channelAxis
  }

  /// Whether constants that are no float are candidates.
  public var takesIntegers: Bool { true }

  /// Decides on a candidate.
  public func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    if let programRefusal { return .skip(programRefusal) }
    switch constant.elementType {
    case .float16, .float32, .int8, .uint8: break
    default:
      return .skip("tables hold fp16, fp32, int8 or uint8, not \(constant.elementType.rawValue)")
    }
    let encoding = constant.encoding
    switch encoding.core {
    case .values: break
    case .lookup: return .skip("is palettized already (\(encoding.name))")
    case .codes:
      return .skip("is quantized (\(encoding.name)): palettize first, then quantize the table")
    case .cast: return .skip("is stored in fp16 (constexpr_cast); decompress it first")
    }
    if settings.tableQuantization != nil, !constant.elementType.isFloat {
      return .skip("a table of \(constant.elementType.rawValue) has no scale")
    }
    let axis: Int
    switch (channelAxis, constant.axes) {
    case (let given?, _):
      guard let place = Shape.normalized(axis: given, rank: constant.shape.count) else {
        return .skip("channel axis \(given) is outside rank \(constant.shape.count)")
      }
      axis = place
    case (nil, .axes(let axes)): axis = axes.output
    case (nil, .disagreement(let text)):
      guard !needsAxis else { return .skip("its consumers disagree: \(text)") }
      axis = 0
    }
    return decide(constant, axis: axis, version: version)
  }

  private var needsAxis: Bool {
    if case .channelGroup = granularity { return true }
    return hasChannelScale || settings.clusterDimension > 1
  }

  private func decide(_ constant: ConstantFacts, axis: Int, version: Int) -> RecipeDecision {
    var settings = settings
    guard !needsAxis || constant.shape.indices.contains(axis) else {
      return .skip("a scalar has no channels")
    }
    let channels = constant.shape.indices.contains(axis) ? constant.shape[axis] : 1
    let vector = settings.clusterDimension
    if vector > 1 {
      guard channels % vector == 0 else {
        return .skip("\(channels) channels (axis \(axis)) do not divide into vectors of \(vector)")
      }
      if constant.encoding.mask != nil {
        return .skip("is sparse: only scalars are palettized there")
      }
      settings.vectorAxis = axis
      // Small weights can afford more starts, and their luck matters more.
      let starts = 1 << 21
      settings.restarts = max(settings.restarts, min(24, starts / max(1, constant.elementCount)))
    }
    var grouping = PaletteGrouping.tensor
    var scope = "per tensor"
    if hasChannelScale {
      guard vector == 1 else { return .skip("tables of vectors have no scale per channel") }
      grouping = .channels(axis: axis, size: 1)
      scope = "per channel, a scale per channel (axis \(axis)) included"
    } else if case .channelGroup(let size) = granularity {
      guard let fitting = fittingGroup(size, channels: channels, constant) else {
        return .skip("would not shrink: tables of groups along axis \(axis) outweigh the savings")
      }
      grouping = .channels(axis: axis, size: fitting)
      scope = "per \(fitting) channels (axis \(axis))"
    }
    let recipe = PalettizeRecipe(
      settings: settings, grouping: grouping, scope: scope, mask: constant.encoding.mask,
      version: version)
    guard settings.mode == .unique || recipe.leastBytes(constant) < constant.byteCount else {
      return .skip("would not shrink: tables outweigh what the indices save")
    }
    return .encode(recipe)
  }

  /// The size itself where it divides the channels, else the largest divisor below it that still
  /// shrinks the weight, else all channels; nil when nothing shrinks it.
  private func fittingGroup(_ size: Int, channels: Int, _ constant: ConstantFacts) -> Int? {
    let shrinks = { (group: Int) in
      let tables = max(1, channels / group) << settings.bits
      let indices = constant.elementCount / settings.clusterDimension * settings.bits / 8
      let entry = constant.elementType.bitWidth / 8 * settings.clusterDimension
      return settings.mode == .unique || indices + tables * entry < constant.byteCount
    }
    let fits = { (group: Int) in
      channels % group == 0 && group % settings.clusterDimension == 0
    }
    if channels <= size { return channels > 0 ? channels : nil }
    for group in stride(from: size, through: 1, by: -1) where fits(group) && shrinks(group) {
      return group
    }
    return shrinks(channels) ? channels : nil
  }
}

/// Palettization of one weight: of all its values, or of the kept ones of a sparse one.
struct PalettizeRecipe: WeightRecipe {
  var settings: PaletteSettings
  var grouping: PaletteGrouping
  var scope: String
  var mask: (any TensorSource)?
  /// The specification version, which decides between the iOS16 and the iOS18 operation.
  var version: Int

  var description: String {
    let mode =
      switch settings.mode {
      case .kmeans: "k-means"
      case .uniform: "uniform"
      case .unique: "unique"
      }
    var text = mask == nil ? "" : "sparse + "
    text += settings.mode == .unique ? "lut unique" : "lut\(settings.bits) \(mode)"
    if settings.clusterDimension > 1 { text += ", vectors of \(settings.clusterDimension)" }
    if settings.tableQuantization != nil { text += ", int8 table" }
    return "\(text) \(scope)"
  }

  var identity: String { "\(description) \(settings) \(grouping)" }

  var requirement: VersionRequirement {
    if mask != nil || settings.tableQuantization != nil { return jointRequirement }
    if settings.mode != .unique, settings.bits == 3 {
      return VersionRequirement(9, "3-bit indices need the iOS18 constexpr_lut_to_dense")
    }
    if settings.clusterDimension > 1 {
      return VersionRequirement(9, "vector tables need the iOS18 constexpr_lut_to_dense")
    }
    if case .channels = grouping {
      return VersionRequirement(9, "grouped tables need the iOS18 constexpr_lut_to_dense")
    }
    return VersionRequirement(7, "tables need constexpr_lut_to_dense (iOS16)")
  }

  /// Stored bytes at the settings' bits.
  func leastBytes(_ constant: ConstantFacts) -> Int {
    let kept =
      switch constant.encoding.core {
      case .values(let values): values.elementCount
      default: constant.elementCount
      }
    let indices = (kept / settings.clusterDimension * settings.bits + 7) / 8
    let maskBytes = constant.encoding.mask?.byteCount ?? 0
    var tables = 1
    if case .channels(let axis, let size) = grouping {
      tables = constant.shape[axis] / max(1, size)
    }
    let width =
      settings.tableQuantization == nil ? constant.elementType.bitWidth / 8 : 1
    return indices + maskBytes + (tables << settings.bits) * settings.clusterDimension * width
  }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    switch try Palettizer.prepare(
      source: source, grouping: grouping, settings: settings, restrictedTo: mask,
      parallel: parallel)
    {
    case .refused(let reason): return .refused(reason: reason)
    case .ready(let palettizer):
      if palettizer.bits == 3, version < 9 {
        // The iOS16 form has no 3 bits; few values fit into 16 entries without loss.
        var wider = self
        wider.settings.mode = .kmeans
        wider.settings.bits = 4
        return try wider.prepare(source, parallel: parallel)
      }
      let weight = PalettizedWeight(palettizer: palettizer, version: version)
      let bytes = weight.parts.reduce(0) { $0 + $1.byteCount }
      guard bytes < source.byteCount else {
        return .refused(reason: "would not shrink: \(bytes) bytes with tables")
      }
      return .ready(weight)
    }
  }
}

/// A weight that is about to be palettized.
struct PalettizedWeight: PreparedWeight {
  var palettizer: Palettizer
  var version: Int

  private var isFlat: Bool { version < 9 }
  private var source: any TensorSource { palettizer.source }

  /// Indices, then the table or its codes with scale and zero point, then the mask.
  var parts: [WeightPart] {
    if isFlat {
      return [
        WeightPart(.uint8, [palettizer.indexBytes]),
        WeightPart(source.elementType, [1 << palettizer.bits]),
      ]
    }
    var parts = [WeightPart(palettizer.indexType, palettizer.indexShape)]
    if let table = palettizer.quantizedTable {
      let ones = [Int](repeating: 1, count: palettizer.tableShape.count)
      parts.append(WeightPart(.int8, palettizer.tableShape))
      parts.append(WeightPart(source.elementType, ones))
      if table.zeroPoint != nil { parts.append(WeightPart(.int8, ones)) }
    } else {
      parts.append(WeightPart(source.elementType, palettizer.tableShape))
    }
    if let mask = palettizer.mask { parts.append(WeightPart(.uint1, mask.shape)) }
    return parts
  }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    let sums = try palettizer.encode(parallel: parallel) { offset, bytes in
      try write(0, offset, bytes)
    }
    if let table = palettizer.quantizedTable, !isFlat {
      try table.codes.withUnsafeBytes { try write(1, 0, $0) }
      try table.scale.withUnsafeBytes { try write(2, 0, $0) }
      if let zeroPoint = table.zeroPoint {
        try withUnsafeBytes(of: zeroPoint) { try write(3, 0, $0) }
      }
    } else {
      try palettizer.tables.withUnsafeBytes { try write(1, 0, $0) }
    }
    if let mask = palettizer.mask, !isFlat {
      try copyPart(mask, to: parts.count - 1, parallel, write)
    }
    return sums
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    if isFlat {
      return [
        GraphOperation(
          type: "constexpr_lut_to_dense",
          outputs: [NamedValueType(output, .tensor(source.elementType, source.shape))],
          attributes: [
            "name": .string(name), "indices": parts[0], "lut": parts[1],
            "shape": .uint32s(source.shape),
          ])
      ]
    }
    var chain: [GraphOperation] = []
    var lut = Argument.value(parts[1])
    if let table = palettizer.quantizedTable {
      let tableName = "\(output)_lut"
      var inputs: NamedList<Argument> = ["data": .value(parts[1]), "scale": .value(parts[2])]
      if table.zeroPoint != nil { inputs["offset"] = .value(parts[3]) }
      chain.append(
        GraphOperation(
          type: "constexpr_blockwise_shift_scale", inputs: inputs,
          outputs: [
            NamedValueType(tableName, .tensor(source.elementType, palettizer.tableShape))
          ], attributes: ["name": .string(tableName)]))
      lut = .name(tableName)
    }
    let vector = palettizer.settings.clusterDimension
    return chain
      + LookupOperations.chain(
        indices: parts[0], lut: lut, vectorSize: vector,
        vectorAxis: vector > 1 ? palettizer.settings.vectorAxis : nil,
        mask: palettizer.mask == nil ? nil : parts.last, kept: palettizer.indexCount,
        elementType: source.elementType, shape: source.shape, output: output, name: name)
  }
}
