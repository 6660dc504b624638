import ModelCompression
import ModelGraph
import ModelTensors

/// A configuration as a pass: every weight gets the scheme of its entry.
public struct ConfigPass: CompressionPass {
  private let config: CompressionConfig

  /// A pass of one document.
  public init(_ config: CompressionConfig) { self.config = config }

  /// Which constants the pass is asked about.
  public var selection: CandidateSelection { .anySize }
  /// Whether constants that are no float are candidates.
  public var takesIntegers: Bool { true }

  /// Decides on a candidate.
  public func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    switch choice(constant.subject, constant.elementCount, rank: constant.shape.count) {
    case .skip(let reason): return .skip(reason)
    case .scheme(let scheme, let note):
      switch scheme.pass.decide(constant, version: version) {
      case .skip(let reason): return .skip(note.map { "\(reason); \($0)" } ?? reason)
      case .encode(let recipe):
        return .encode(note.map { NotedRecipe(base: recipe, note: $0) } ?? recipe)
      }
    }
  }

  /// Every weight by its entry; nothing when none of the entries can be had.
  public var neuralNetworks: NeuralNetworkSupport {
    let refusals = config.schemes.map(\.pass.neuralNetworks.refusal)
    if let first = refusals.first ?? nil, refusals.allSatisfy({ $0 != nil }) {
      return .impossible(first)
    }
    return .decided { facts in
      switch choice(facts.subject, facts.elementCount, rank: facts.rank) {
      case .skip(let reason): return .skip(reason)
      case .scheme(let scheme, let note):
        let support = scheme.pass.neuralNetworks
        switch support.decide(facts) {
        case .skip(let reason): return .skip(reason)
        case .encode(let form, let own): return .encode(form, note: own ?? support.note ?? note)
        }
      }
    }
  }

  /// Why an entry cannot be had for ML Programs.
  public var programRefusal: String? {
    config.schemes.lazy.compactMap { scheme in
      scheme.pass.programRefusal.map { "\(scheme.place): \($0)" }
    }.first
  }

  /// Entries that match nothing.
  public func warnings(about weights: [WeightSubject]) -> [String] {
    config.unmatched(in: weights)
  }

  private enum Choice {
    case scheme(ConfiguredScheme, note: String?)
    case skip(String)
  }

  private func choice(_ weight: WeightSubject, _ elementCount: Int, rank: Int) -> Choice {
    let resolution = config.entry(for: weight)
    guard case .scheme(let scheme) = resolution.entry else {
      return .skip(
        resolution.entry == nil ? "no entry of the configuration matches" : "its entry is null")
    }
    if elementCount <= scheme.weightThreshold {
      return .skip(
        "\(elementCount) elements, not more than weight_threshold \(scheme.weightThreshold)")
    }
    if rank < 2, !resolution.isOwn {
      return .skip("rank \(rank); an entry for its own name takes it")
    }
    return .scheme(scheme, note: resolution.note)
  }
}

/// A recipe with a remark for the ledger.
private struct NotedRecipe: WeightRecipe {
  var base: any WeightRecipe
  var note: String

  var description: String { base.description }
  var identity: String { base.identity }
  var requirement: VersionRequirement { base.requirement }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    switch try base.prepare(source, parallel: parallel) {
    case .refused(let reason): .refused(reason: reason)
    case .ready(let weight): .ready(NotedWeight(base: weight, remark: note))
    }
  }
}

private struct NotedWeight: PreparedWeight {
  var base: any PreparedWeight
  var remark: String

  var parts: [WeightPart] { base.parts }
  var note: String? { base.note.map { "\($0); \(remark)" } ?? remark }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    try base.encode(parallel: parallel, write: write)
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    base.operations(output: output, name: name, parts: parts)
  }
}
