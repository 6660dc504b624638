import ModelGraph
import ModelOperations
import ModelTensors

/// What a pass may know of a constant before its values are read.
public struct ConstantFacts: Sendable {
  /// The name.
  public var name: String
  /// The type of the elements.
  public var elementType: ElementType
  /// The sizes of the axes.
  public var shape: [Int]
  /// The number of elements.
  public var elementCount: Int
  /// Stored bytes.
  public var byteCount: Int
  /// How it is stored.
  public var encoding: WeightEncoding
  /// The values as Core ML decodes them.
  public var source: any TensorSource
  /// The channel axes that the consumers agree on.
  public var axes: WeightAxes.Agreement
  /// The operations' inputs that it is bound to.
  public var consumers: [(name: String, type: String, input: String)]
  /// The functions that use it.
  public var functions: [String]
  /// The operations that yield it.
  public var sites: [ConstantSite]
}

extension ConstantFacts {
  /// The name with the functions before it, `encode/weight`: it tells apart weights of one name.
  var key: String { ConstantFacts.key(name, functions) }

  static func key(_ name: String, _ functions: [String]) -> String {
    "\(functions.joined(separator: "+"))/\(name)"
  }
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

/// A specification version with the reason for it.
public struct VersionRequirement: Sendable, Hashable {
  /// The specification version.
  public var version: Int
  /// What needs it.
  public var reason: String

  /// A requirement of this version.
  public init(_ version: Int, _ reason: String) {
    self.version = version
    self.reason = reason
  }

  /// What every ML Program needs.
  public static let program = VersionRequirement(6, "ML Programs need iOS15")
}

/// A pass that encodes weights.
public protocol CompressionPass: Sendable {
  /// The lowest specification version for what the pass does beside its recipes.
  var requirement: VersionRequirement { get }
  /// Whether constants that are no float are candidates.
  var takesIntegers: Bool { get }
  var selection: CandidateSelection { get }

  /// Changes the model before its constants are looked at; returns notes for the ledger.
  ///
  /// - Throws: ``PassError`` when the model cannot be changed.
  mutating func rewrite(_ model: inout Model, settings: CompressionSettings) throws -> [String]

  /// Decides on a candidate for a model of a specification version; a recipe that needs a later
  /// one says so, and the pass is asked again for that version.
  func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision

  /// Whether a refusal is an error even without `strict`, and the hint then.
  var refusalHint: String? { get }

  /// What the pass does with the weights of neural networks.
  var neuralNetworks: NeuralNetworkSupport { get }

  /// Why the pass cannot be asked for on ML Programs alone; nil when it can.
  var programRefusal: String? { get }

  /// What the user should know of a model with these weights.
  func warnings(about weights: [WeightSubject]) -> [String]
}

extension CompressionPass {
  /// Which constants the pass is asked about.
  public var selection: CandidateSelection { .limited }
  /// The hint when a refusal is an error; nil where it is a skip.
  public var refusalHint: String? { nil }
  /// The lowest specification version that can hold the result.
  public var requirement: VersionRequirement { .program }
  /// Whether constants that are no float are candidates.
  public var takesIntegers: Bool { false }
  /// What the pass does with the weights of neural networks.
  public var neuralNetworks: NeuralNetworkSupport {
    .unsupported("this compression is for ML Programs")
  }
  /// Why the pass cannot be asked for on ML Programs; nil when it can.
  public var programRefusal: String? { nil }
  /// What the user should know of a model with these weights.
  public func warnings(about weights: [WeightSubject]) -> [String] { [] }

  /// Changes the model before its constants are looked at; returns notes.
  public mutating func rewrite(
    _ model: inout Model, settings: CompressionSettings
  ) throws -> [String] { [] }
}
