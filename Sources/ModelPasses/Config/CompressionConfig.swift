/// Which scheme goes to which weight, as coremltools' `OptimizationConfig` says it.
public struct CompressionConfig: Sendable {
  /// What an entry says: a scheme, or that the weight stays.
  enum Entry: Sendable {
    case scheme(ConfiguredScheme)
    case keep
  }

  var global: Entry?
  var byType = NamedEntries<Entry>()
  var byName = NamedEntries<Entry>()

  /// The documents of a YAML or JSON file, in the order in which they apply: one mapping, a list of
  /// mappings, or several YAML documents.
  ///
  /// - Throws: ``ConfigError``.
  public static func documents(_ text: [UInt8]) throws(ConfigError) -> [CompressionConfig] {
    var configs: [CompressionConfig] = []
    for document in try ConfigReader.documents(text) {
      if case .list(let items) = document {
        for item in items { configs.append(try CompressionConfig(item)) }
      } else {
        configs.append(try CompressionConfig(document))
      }
    }
    if configs.isEmpty { throw ConfigError(message: "the configuration is empty") }
    return configs
  }

  init(_ node: ConfigNode) throws(ConfigError) {
    guard case .map(let members) = node else {
      throw ConfigError(message: "a configuration is a mapping with config_type")
    }
    let known = ["config_type", "global_config", "op_type_configs", "op_name_configs"]
    for (key, _) in members where !known.contains(key) {
      throw ConfigError(
        message: "unknown key \"\(key)\"; known are \(known.joined(separator: ", "))")
    }
    let member = { (name: String) in members.first { $0.key == name }?.value }
    guard case .string(let type) = member("config_type") else {
      throw ConfigError(
        message: "config_type is missing: \(ConfiguredScheme.typeNames.joined(separator: ", "))")
    }
    // A global entry of null is the same as none, as coremltools has it.
    if let node = member("global_config"), node != .null {
      global = .scheme(try ConfiguredScheme(node, type: type, place: "global_config"))
    }
    byType = try CompressionConfig.entries(member("op_type_configs"), type, "op_type_configs")
    byName = try CompressionConfig.entries(member("op_name_configs"), type, "op_name_configs")
  }

  private static func entries(
    _ node: ConfigNode?, _ type: String, _ place: String
  ) throws(ConfigError) -> NamedEntries<Entry> {
    var entries = NamedEntries<Entry>()
    guard let node, node != .null else { return entries }
    guard case .map(let members) = node else {
      throw ConfigError(message: "\(place) is a mapping")
    }
    for (name, value) in members {
      let entry: Entry =
        value == .null
        ? .keep : .scheme(try ConfiguredScheme(value, type: type, place: "\(place).\(name)"))
      try entries.add(name, entry)
    }
    return entries
  }

  /// The entry that holds for a weight.
  struct Resolution {
    var entry: Entry?
    /// Whether the weight itself is named, not one of its consumers.
    var isOwn = false
    var note: String?
  }

  /// The entry for a weight, and a note where its consumers ask for different ones.
  ///
  /// The rule: an entry for the weight's own name; else the entries of its consumers by name,
  /// then by type, then the global one. Of several consumers the first in file order that has an
  /// entry of the closest kind decides.
  func entry(for weight: WeightSubject) -> Resolution {
    if let own = byName.exact(weight.key) ?? byName[weight.name] ?? byName[weight.ownName] {
      return Resolution(entry: own, isOwn: true)
    }
    let named = weight.consumers.map { byName[$0.name] }
    if let first = named.firstIndex(where: { $0 != nil }) {
      return Resolution(entry: named[first], note: note(weight, named, first))
    }
    let typed = weight.consumers.map { byType[$0.type] }
    if let first = typed.firstIndex(where: { $0 != nil }) {
      return Resolution(entry: typed[first], note: note(weight, typed, first))
    }
    return Resolution(entry: global)
  }

  private func note(_ weight: WeightSubject, _ entries: [Entry?], _ first: Int) -> String? {
    let deciding = entries[first].map(CompressionConfig.identity)
    let differs = entries.contains { $0.map(CompressionConfig.identity) != deciding }
    guard differs else { return nil }
    return "its consumers match different entries; that of \(weight.consumers[first].name) holds"
  }

  /// The schemes of all entries, the global one first.
  var schemes: [ConfiguredScheme] {
    ([global].compactMap { $0 } + byType.all + byName.all).compactMap { entry in
      if case .scheme(let scheme) = entry { return scheme }
      return nil
    }
  }

  /// Warnings of entries that match none of the weights and none of their consumers.
  func unmatched(in weights: [WeightSubject]) -> [String] {
    let consumers = weights.flatMap(\.consumers)
    let names = Set(
      weights.flatMap { [$0.name, $0.ownName, $0.key] } + consumers.map(\.name))
    return byType.unmatched(in: Set(consumers.map(\.type))).map {
      "op_type_configs: no operation of type \"\($0)\" uses a weight"
    }
      + byName.unmatched(in: names).map {
        "op_name_configs: \"\($0)\" matches no weight and no operation that uses one"
      }
  }

  private static func identity(_ entry: Entry) -> String {
    switch entry {
    case .keep: "null"
    case .scheme(let scheme): scheme.identity
    }
  }
}
