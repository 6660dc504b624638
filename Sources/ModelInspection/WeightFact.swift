import ModelGraph
import ModelTensors

/// A weight: a constant in a file, a compressed one, an immediate of 10 elements or more, or a
/// `WeightParams` of a neural network.
public struct WeightFact: Sendable, Equatable {
  /// A use of the weight.
  public struct Consumer: Sendable, Hashable {
    /// The function in which it stands.
    public var function: String
    /// The operation's or layer's name; the function's where the weight is an output.
    public var operation: String
    /// The operation's type, `output` where the weight is an output of a block.
    public var type: String
    /// The name of the input.
    public var input: String
  }

  /// The name of the value; under `child/` in a pipeline.
  public var name: String
  /// The functions that use it, in file order.
  public var functions: [String]
  /// The operations that take it.
  public var consumers: [Consumer]
  /// The decoded shape.
  public var shape: [Int]
  /// The decoded type, or nil when the file gives none that is known.
  public var elementType: ElementType?
  /// The name of the encoding.
  ///
  /// `dense`, `cast`, `affine`, `blockwise`, `lut`, `sparse`, chains outermost first (`sparse+lut`);
  /// for neural networks `fp32`, `fp16`, `linear8`, `lut4` and so on.
  public var encoding: String
  /// The number of decoded elements.
  public var parameters: Int
  /// Bytes of data, tables, scales, offsets and masks.
  public var storedBytes: Int
  /// What the values are like; nil until they were read.
  public var statistics: TensorStatistics?

  /// The name of the decoded type.
  public var dtype: String { elementType?.rawValue ?? "unknown" }
  /// Bytes of the decoded elements.
  public var denseBytes: Int { elementType?.byteCount(of: parameters) ?? 0 }
  /// Stored bits for each parameter, or nil without parameters.
  public var bitsPerParameter: Double? {
    parameters > 0 ? Double(storedBytes) * 8 / Double(parameters) : nil
  }
}
