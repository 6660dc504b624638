import ModelCompression
import ModelGraph
import ModelTensors

/// Back to plain weights: every encoded constant becomes a `const` of its decoded values.
public struct DecompressPass: CompressionPass {
  /// A pass.
  public init() {}

  /// Which constants the pass is asked about.
  public var selection: CandidateSelection { .anySize }
  /// Whether constants that are no float are candidates.
  public var takesIntegers: Bool { true }

  /// Decides on a candidate.
  public func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    guard !constant.encoding.isDense else { return .skip("is not compressed") }
    return .encode(DenseRecipe(encoding: constant.encoding.name))
  }
}

/// Stores the decoded values of a weight.
struct DenseRecipe: WeightRecipe {
  /// The encoding that is undone.
  var encoding: String

  var description: String { "dense (was \(encoding))" }
  var identity: String { "dense" }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    .ready(DenseWeight(source: source))
  }
}

/// A weight that is about to be stored as it is decoded.
struct DenseWeight: PreparedWeight {
  var source: any TensorSource

  var parts: [WeightPart] { [WeightPart(source.elementType, source.shape)] }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    try copyPart(source, to: 0, parallel, write)
    return ErrorSums()
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    var constant = GraphOperation.const(output, parts[0])
    constant.attributes["name"] = .string(name)
    return [constant]
  }
}
