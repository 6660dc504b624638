import ModelCompression
import ModelGraph
import ModelTensors

/// A configuration as a pass: every constant gets the scheme of its entry.
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
    let resolution = config.entry(for: constant)
    let note = resolution.note
    guard case .scheme(let scheme) = resolution.entry else {
      return .skip(
        resolution.entry == nil ? "no entry of the configuration matches" : "its entry is null")
    }
    if constant.elementCount <= scheme.weightThreshold {
      return .skip(
        "\(constant.elementCount) elements, not more than weight_threshold "
          + "\(scheme.weightThreshold)")
    }
    if constant.shape.count < 2, !resolution.isOwn {
      return .skip("rank \(constant.shape.count); an entry for its own name takes it")
    }
    switch scheme.pass.decide(constant, version: version) {
    case .skip(let reason): return .skip(note.map { "\(reason); \($0)" } ?? reason)
    case .encode(let recipe):
      return .encode(note.map { NotedRecipe(base: recipe, note: $0) } ?? recipe)
    }
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
