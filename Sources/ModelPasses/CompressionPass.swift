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
}

/// What a pass wants with a constant.
public enum RecipeDecision: Sendable {
  case encode(any WeightRecipe)
  /// The constant stays; the reason is a clause.
  case skip(String)
}

/// A pass that encodes weights.
public protocol CompressionPass: Sendable {
  /// The lowest specification version whose operations can hold the result, and why.
  var minimumVersion: (version: Int, reason: String) { get }
  /// Whether integer constants are candidates.
  var takesIntegers: Bool { get }
  /// Whether the limits on element count and rank do not hold.
  var takesAllSizes: Bool { get }

  /// Decides on a candidate.
  func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision
}

extension CompressionPass {
  public var takesIntegers: Bool { false }
  public var takesAllSizes: Bool { false }
}
