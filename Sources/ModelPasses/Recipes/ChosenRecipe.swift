/// A scheme per weight.
public struct ChosenRecipe: Sendable {
  /// One weight.
  public struct Entry: Sendable {
    /// The name of the weight.
    public var name: String
    /// The functions that use it.
    public var functions: [String]
    /// Nil for a weight that stays as it is.
    public var scheme: MenuScheme?
    /// Stored bytes in this form.
    public var bytes: Int
    /// The squared error of this form.
    public var error: Double

    /// The name that tells the weight from those of other functions.
    var key: String { ConstantFacts.key(name, functions) }
  }

  /// One entry per weight.
  public var entries: [Entry]

  /// Bytes of all entries.
  public var bytes: Int { entries.reduce(0) { $0 + $1.bytes } }
  /// The squared error of all entries.
  public var error: Double { entries.reduce(0) { $0 + $1.error } }

  /// The recipe as a pass.
  public var pass: any CompressionPass { RecipePass(self) }

  /// A configuration file that reproduces the recipe.
  public var configuration: String {
    var lines = ["# Schemes chosen per weight by their measured error."]
    lines += ["config_type: OpLinearQuantizerConfig", "op_name_configs:"]
    let shared = Dictionary(grouping: entries, by: \.name)
    for entry in entries {
      let name = NamePattern.exactly(
        (shared[entry.name]?.count ?? 0) > 1 ? entry.key : entry.name)
      guard let scheme = entry.scheme else {
        lines.append("  \(ChosenRecipe.quoted(name)): null")
        continue
      }
      lines.append("  \(ChosenRecipe.quoted(name)):")
      lines += (scheme.options + [("weight_threshold", "0")]).map { "    \($0.key): \($0.value)" }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ name: String) -> String {
    var text = "\""
    for scalar in name.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { text += "\\" }
      if (0x20..<0x7F).contains(scalar.value) {
        text.unicodeScalars.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16)
        text += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
      }
    }
    return text + "\""
  }
}

/// A recipe as a pass.
private struct RecipePass: CompressionPass {
  private static let leaves = "the recipe leaves it"

  private let schemes: [String: MenuScheme]

  init(_ recipe: ChosenRecipe) {
    schemes = Dictionary(
      recipe.entries.compactMap { entry in entry.scheme.map { (entry.key, $0) } },
      uniquingKeysWith: { first, _ in first })
  }

  func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    guard let scheme = schemes[constant.key] else { return .skip(RecipePass.leaves) }
    return scheme.pass.decide(constant, version: version)
  }

  var neuralNetworks: NeuralNetworkSupport {
    .decided { facts in
      schemes[facts.key]?.pass.neuralNetworks.decide(facts) ?? .skip(RecipePass.leaves)
    }
  }
}
