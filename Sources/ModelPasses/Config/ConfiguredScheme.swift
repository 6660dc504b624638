import ModelCompression

/// One entry of a configuration: a scheme with coremltools' option names, as a pass.
struct ConfiguredScheme: Sendable {
  var pass: any CompressionPass
  /// Weights of at most this many elements stay; 0 when the file says null.
  var weightThreshold: Int
  /// Where the entry stands in the configuration.
  var place: String
  /// Equal for entries that mean the same.
  var identity: String

  static let typeNames = [
    "OpLinearQuantizerConfig", "OpPalettizerConfig", "OpMagnitudePrunerConfig",
    "OpThresholdPrunerConfig",
  ]

  /// - Parameters:
  ///   - type: The class of the entry where it does not name its own.
  ///   - place: For error messages.
  init(_ node: ConfigNode, type: String, place: String) throws(ConfigError) {
    guard case .map(let members) = node else {
      throw ConfigError(message: "\(place) is a mapping of options, or null")
    }
    self.place = place
    var options = SchemeOptions(members, place: place)
    let type = try options.text("config_type") ?? type
    weightThreshold =
      options.isNull("weight_threshold") ? 0 : try options.integer("weight_threshold", 0...) ?? 2048
    switch type {
    case "OpLinearQuantizerConfig": pass = try ConfiguredScheme.quantizer(&options)
    case "OpPalettizerConfig": pass = try ConfiguredScheme.palettizer(&options)
    case "OpMagnitudePrunerConfig": pass = try ConfiguredScheme.magnitudePruner(&options)
    case "OpThresholdPrunerConfig": pass = try ConfiguredScheme.thresholdPruner(&options)
    default:
      throw ConfigError(
        message: "\(place): unknown config_type \"\(type)\"; known are "
          + ConfiguredScheme.typeNames.joined(separator: ", "))
    }
    try options.finish()
    identity = "\(pass) \(weightThreshold)"
  }

  private static func quantizer(
    _ options: inout SchemeOptions
  ) throws(ConfigError) -> any CompressionPass {
    let mode = try options.choice("mode", ["linear_symmetric", "linear"])
    let dtype = try options.choice("dtype", ["int8", "uint8", "int4", "uint4"]) ?? "int8"
    let granularity =
      try options.choice("granularity", ["per_channel", "per_tensor", "per_block"]) ?? "per_channel"
    let search = try options.choice("scale_search", ["none", "mse"]) ?? "none"
    let blocks = try options.integers("block_size") ?? [32]
    let isPerAxis = blocks.count > 1
    return QuantizePass(
      scheme: AffineScheme(
        bits: dtype.hasSuffix("4") ? 4 : 8, signed: !dtype.hasPrefix("u"),
        mode: mode == "linear" ? .affine : .symmetric, search: search == "mse" ? .mse : .none),
      granularity: granularity == "per_tensor"
        ? .tensor
        : granularity != "per_block" ? .channel : isPerAxis ? .blocks(blocks) : .block(blocks[0]),
      mayBeAffine: mode == nil || dtype.hasSuffix("8"))
  }

  private static func palettizer(
    _ options: inout SchemeOptions
  ) throws(ConfigError) -> any CompressionPass {
    let mode = try options.choice("mode", ["kmeans", "uniform", "unique"]) ?? "kmeans"
    let bits = try options.integer("nbits", 1...8)
    if mode == "unique", bits != nil {
      throw ConfigError(message: "\(options.place): mode unique takes no nbits")
    }
    if mode != "unique", bits == nil {
      throw ConfigError(message: "\(options.place): mode \(mode) needs nbits")
    }
    let granularity =
      try options.choice("granularity", ["per_tensor", "per_grouped_channel"]) ?? "per_tensor"
    let group = try options.integer("group_size", 1...) ?? 32
    let axis = try options.integer("channel_axis", Int.min...)
    let vector = try options.integer("cluster_dim", 1...) ?? 1
    let hasScale = try options.flag("enable_per_channel_scale") ?? false
    let tableBits = try options.integer("lut_bits", 8...)
    // Workers are threads here; the result does not depend on them.
    _ = try options.integer("num_kmeans_workers", 1...)
    if try options.text("lut_function") != nil {
      throw ConfigError(message: "\(options.place): a lut_function is Python code")
    }
    return PalettizePass(
      settings: PaletteSettings(
        bits: bits ?? 8, mode: mode == "uniform" ? .uniform : mode == "unique" ? .unique : .kmeans,
        clusterDimension: vector, tableQuantization: tableBits == nil ? nil : .symmetric),
      granularity: granularity == "per_tensor" ? .tensor : .channelGroup(group),
      hasChannelScale: hasScale, channelAxis: axis)
  }

  /// Where coremltools prunes by blocks and ratios.
  private static let structuredTypes: Set<String> = ["conv", "linear"]

  private static func magnitudePruner(
    _ options: inout SchemeOptions
  ) throws(ConfigError) -> any CompressionPass {
    let sparsity = try options.number("target_sparsity", 0...1)
    let ratio = try options.pair("n_m_ratio")
    let block = try options.integer("block_size", 2...)
    let dim = try options.integer("dim", 0...1)
    if (sparsity == nil) == (ratio == nil) {
      throw ConfigError(
        message: "\(options.place): one of target_sparsity and n_m_ratio is needed")
    }
    if ratio != nil, block != nil {
      throw ConfigError(message: "\(options.place): block_size does not go with n_m_ratio")
    }
    if dim != nil, ratio == nil, block == nil {
      throw ConfigError(message: "\(options.place): dim goes with block_size or n_m_ratio")
    }
    if let (n, m) = ratio {
      guard n >= 0, m >= 1, n <= m else {
        throw ConfigError(message: "\(options.place): n_m_ratio is [n, m] with n ≤ m")
      }
      return PrunePass(
        rule: .ratio(zeros: n, of: m, dim: dim ?? 1), consumerTypes: structuredTypes)
    }
    if let block {
      return PrunePass(
        rule: .blocks(sparsity: sparsity ?? 0, size: block, dim: dim ?? 0),
        consumerTypes: structuredTypes)
    }
    return PrunePass(rule: .sparsity(sparsity ?? 0))
  }

  private static func thresholdPruner(
    _ options: inout SchemeOptions
  ) throws(ConfigError) -> any CompressionPass {
    let threshold = try options.number("threshold", 0...Double.infinity) ?? 1e-12
    let share = try options.number("minimum_sparsity_percentile", 0...1) ?? 0.5
    return PrunePass(rule: .threshold(threshold, minimumSparsity: share))
  }
}

/// The options of an entry, each read once.
struct SchemeOptions {
  let place: String
  private var members: [(key: String, value: ConfigNode)]

  init(_ members: [(key: String, value: ConfigNode)], place: String) {
    self.members = members
    self.place = place
  }

  /// Throws when an option was not asked for.
  func finish() throws(ConfigError) {
    if let (key, _) = members.first {
      throw ConfigError(message: "\(place): unknown option \"\(key)\"")
    }
  }

  /// Whether the option is there as null, which takes it.
  mutating func isNull(_ name: String) -> Bool {
    guard let index = members.firstIndex(where: { $0.key == name && $0.value == .null }) else {
      return false
    }
    members.remove(at: index)
    return true
  }

  private mutating func take(_ name: String) -> ConfigNode? {
    guard let index = members.firstIndex(where: { $0.key == name }) else { return nil }
    let value = members.remove(at: index).value
    return value == .null ? nil : value
  }

  mutating func text(_ name: String) throws(ConfigError) -> String? {
    switch take(name) {
    case nil: return nil
    case .string(let text): return text
    default: throw ConfigError(message: "\(place): \(name) is a text")
    }
  }

  mutating func choice(_ name: String, _ choices: [String]) throws(ConfigError) -> String? {
    guard let text = try text(name)?.lowercased() else { return nil }
    guard choices.contains(text) else {
      throw ConfigError(
        message: "\(place): \(name) is \(choices.joined(separator: ", ")), not \"\(text)\"")
    }
    return text
  }

  mutating func integer(
    _ name: String, _ range: PartialRangeFrom<Int>
  ) throws(ConfigError) -> Int? {
    guard let node = take(name) else { return nil }
    guard case .integer(let number) = node, range.contains(number) else {
      throw ConfigError(
        message: "\(place): \(name) is a whole number of at least \(range.lowerBound)")
    }
    return number
  }

  mutating func integer(_ name: String, _ range: ClosedRange<Int>) throws(ConfigError) -> Int? {
    guard let number = try integer(name, range.lowerBound...) else { return nil }
    guard range.contains(number) else {
      throw ConfigError(message: "\(place): \(name) is at most \(range.upperBound)")
    }
    return number
  }

  mutating func number(_ name: String, _ range: ClosedRange<Double>) throws(ConfigError) -> Double?
  {
    let value: Double
    switch take(name) {
    case nil: return nil
    case .integer(let number): value = Double(number)
    case .number(let number): value = number
    default: throw ConfigError(message: "\(place): \(name) is a number")
    }
    guard range.contains(value) else {
      throw ConfigError(
        message: "\(place): \(name) is from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  mutating func flag(_ name: String) throws(ConfigError) -> Bool? {
    switch take(name) {
    case nil: return nil
    case .bool(let flag): return flag
    default: throw ConfigError(message: "\(place): \(name) is true or false")
    }
  }

  /// One whole number of at least 1, or a list of numbers of at least 0.
  mutating func integers(_ name: String) throws(ConfigError) -> [Int]? {
    switch take(name) {
    case nil: return nil
    case .integer(let number) where number >= 1: return [number]
    case .list(let items) where items.count > 1:
      let numbers = items.compactMap { item -> Int? in
        if case .integer(let number) = item, number >= 0 { return number }
        return nil
      }
      if numbers.count == items.count { return numbers }
    default: break
    }
    throw ConfigError(
      message: "\(place): \(name) is a whole number of at least 1, or a list of one per axis")
  }

  /// Two whole numbers.
  mutating func pair(_ name: String) throws(ConfigError) -> (Int, Int)? {
    switch take(name) {
    case nil: return nil
    case .list(let items):
      if items.count == 2, case .integer(let first) = items[0],
        case .integer(let second) = items[1]
      {
        return (first, second)
      }
    default: break
    }
    throw ConfigError(message: "\(place): \(name) is a list of two whole numbers")
  }
}
