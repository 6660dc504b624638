import ModelCompression
import ModelGraph
import ModelTensors

/// One tensor of an encoded weight: codes, scales, a table, a mask.
public struct WeightPart: Sendable, Equatable {
  /// The type of the elements.
  public var elementType: ElementType
  /// The sizes of the axes.
  public var shape: [Int]

  /// A tensor of this type and shape.
  public init(_ elementType: ElementType, _ shape: [Int]) {
    self.elementType = elementType
    self.shape = shape
  }

  /// The number of elements.
  public var count: Int { Shape.elementCount(shape) ?? 0 }
  /// Bytes as stored.
  public var byteCount: Int { elementType.byteCount(of: count) ?? 0 }
}

/// Takes pieces of the parts while a weight is encoded: part, byte offset in it, bytes.
public typealias PartWriter =
  @Sendable (_ part: Int, _ byteOffset: Int, _ bytes: UnsafeRawBufferPointer) throws -> Void

/// How one weight is to be encoded.
public protocol WeightRecipe: Sendable {
  /// The scheme for the ledger.
  var description: String { get }
  /// Recipes of equal identity encode equal weights equally.
  var identity: String { get }
  /// The lowest specification version whose operations can hold the result.
  var requirement: VersionRequirement { get }

  /// Looks at the values.
  ///
  /// - Throws: What reading the source throws.
  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation
}

extension WeightRecipe {
  /// Recipes of equal identity encode equal weights equally.
  public var identity: String { description }
  /// The lowest specification version that can hold the result.
  public var requirement: VersionRequirement { .program }
}

/// What a recipe says about a weight after it has seen the values.
public enum RecipePreparation: Sendable {
  /// The weight stays as it is; the reason is a clause, `holds 3 infinite values`.
  case refused(reason: String)
  case ready(any PreparedWeight)
}

/// A weight whose parts' sizes are known.
public protocol PreparedWeight: Sendable {
  /// The parts in the order in which they are stored.
  var parts: [WeightPart] { get }
  /// What else the ledger says about the weight.
  var note: String? { get }

  /// Writes all parts, from any thread, each byte once.
  ///
  /// - Returns: The error of the weight as Core ML decodes it.
  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums

  /// The operations that take the place of the constant; the last one yields a value named
  /// `output`.
  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation]
}

extension PreparedWeight {
  /// What else the ledger says about the weight.
  public var note: String? { nil }
}
