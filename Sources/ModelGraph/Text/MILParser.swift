import ModelTensors

/// Reads MIL text, that of Apple's compiler, our own and hand-written one.
///
/// White space and comments (`// …`, `/* … */`) may stand between all parts; scalars may be spelled
/// in either version's way, floats in hexadecimal or decimal.
public struct MILParser: Sendable {
  /// Finds the tensor of an element type and a shape at a place in a weight file.
  public typealias WeightResolver =
    @Sendable (_ reference: BlobReference, _ elementType: ElementType, _ shape: [Int]) throws
    -> any TensorSource

  private let resolver: WeightResolver

  /// A parser whose weights have types but no data.
  public init() {
    resolver = { AbsentTensor(elementType: $1, shape: $2) }
  }

  /// A parser that asks `resolver` for every weight; what it throws becomes the
  /// ``MILTextError/underlying`` error of one with the weight's position.
  public init(resolvingWeights resolver: @escaping WeightResolver) {
    self.resolver = resolver
  }

  /// Reads a text.
  public func parse(_ text: String) throws(MILTextError) -> MILDocument {
    try parse(Array(text.utf8))
  }

  /// Reads a text in UTF-8.
  public func parse(_ text: [UInt8]) throws(MILTextError) -> MILDocument {
    var reader = MILReader(text, resolver)
    return try reader.document()
  }
}
