import ModelGraph
import ModelTensors

/// Answers every blob reference with its type only, for reading a specification alone.
public struct UnopenedWeights: WeightResolver {
  /// A resolver that opens no file.
  public init() {}

  /// A tensor without bytes.
  public func source(
    for reference: BlobReference, elementType: ElementType, shape: [Int]
  ) throws -> any TensorSource {
    AbsentTensor(elementType: elementType, shape: shape)
  }
}
