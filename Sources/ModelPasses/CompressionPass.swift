import ModelGraph
import ModelOperations
import ModelTensors

/// What a pass may know of a constant before its values are read.
public struct ConstantFacts: Sendable {
  public var name: String
  public var elementType: ElementType
  public var shape: [Int]
  public var elementCount: Int
  /// Stored bytes.
  public var byteCount: Int
  /// The channel axes that the consumers agree on.
  public var axes: WeightAxes.Agreement
  /// The operations' inputs that it is bound to.
  public var consumers: [(type: String, input: String)]
  /// The `const` operations that hold it.
  public var sites: [ConstantSite]
}

/// What a pass wants with a constant.
public enum RecipeDecision: Sendable {
  case encode(any WeightRecipe)
  /// The constant stays; the reason is a clause.
  case skip(String)
}

/// Which constants a pass may be asked about.
public enum CandidateSelection: Sendable {
  /// Constants within the limits on element count and rank that the patterns pick.
  case limited
  /// Constants of any size that the patterns pick.
  case anySize
  /// The pass has chosen for itself while it rewrote the model.
  case own
}

/// A pass that encodes weights.
public protocol CompressionPass: Sendable {
  /// The lowest specification version whose operations can hold the result, and why.
  var minimumVersion: (version: Int, reason: String) { get }
  var selection: CandidateSelection { get }

  /// Changes the model before its constants are looked at; returns notes for the ledger.
  ///
  /// - Throws: ``PassError`` when the model cannot be changed.
  mutating func rewrite(_ model: inout Model, settings: CompressionSettings) throws -> [String]

  /// Decides on a candidate.
  func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision

  /// Whether a refusal is an error even without `strict`, and the hint then.
  var refusalHint: String? { get }
}

extension CompressionPass {
  public var selection: CandidateSelection { .limited }
  public var refusalHint: String? { nil }

  public mutating func rewrite(
    _ model: inout Model, settings: CompressionSettings
  ) throws -> [String] { [] }
}
