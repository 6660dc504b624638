/// A network of layers, with weights inside the specification.
///
/// The message is kept as it stands; layers and weights are a view of it.
public struct NeuralNetwork: Sendable {
  /// `neuralNetwork`, `neuralNetworkClassifier` or `neuralNetworkRegressor`.
  public var typeName: String
  /// The serialized message of that field.
  public var payload: [UInt8]
  /// The layers, those of branches and loops included, outer ones first.
  public var layers: [NeuralNetworkLayer]

  /// A network of this content.
  public init(typeName: String, payload: [UInt8], layers: [NeuralNetworkLayer]) {
    self.typeName = typeName
    self.payload = payload
    self.layers = layers
  }
}

/// One layer of a neural network.
public struct NeuralNetworkLayer: Sendable, Equatable {
  /// The name.
  public var name: String
  /// The field that holds its parameters, `convolution`, `innerProduct`, `custom` and so on.
  public var type: String
  /// The inputs.
  public var inputs: [String]
  /// The outputs.
  public var outputs: [String]
  /// Whether it can be trained on the device.
  public var isUpdatable: Bool
  /// Branches and loops around the layer, outermost first; empty at the top.
  public var enclosing: [String]
  /// The weights of the layer.
  public var weights: [NeuralNetworkWeight]
  /// The class that implements a `custom` layer.
  public var customClassName: String?

  /// A layer with these parts.
  public init(
    name: String, type: String, inputs: [String], outputs: [String], isUpdatable: Bool,
    enclosing: [String], weights: [NeuralNetworkWeight], customClassName: String? = nil
  ) {
    self.name = name
    self.type = type
    self.inputs = inputs
    self.outputs = outputs
    self.isUpdatable = isUpdatable
    self.enclosing = enclosing
    self.weights = weights
    self.customClassName = customClassName
  }
}

/// A `WeightParams` message of a layer.
public struct NeuralNetworkWeight: Sendable, Equatable {
  /// How the values are stored.
  public enum Storage: Sendable, Equatable {
    case float32
    case float16
    /// Codes of this many bits with scale and bias.
    case linear(bits: Int)
    /// Codes of this many bits into a table.
    case lookup(bits: Int)
    /// Bytes that are multiplied as they are.
    case int8
    case empty

    /// The name in text and JSON output: `fp32`, `fp16`, `linear8`, `lut4` and so on.
    public var name: String {
      switch self {
      case .float32: "fp32"
      case .float16: "fp16"
      case .linear(let bits): "linear\(bits)"
      case .lookup(let bits): "lut\(bits)"
      case .int8: "int8"
      case .empty: "empty"
      }
    }
  }

  /// The field in the layer's parameters, `weights`, `bias`, `weightParams.inputGateWeightMatrix` and so on.
  public var path: String
  /// How the values are stored.
  public var storage: Storage
  /// The number of values; for codes that do not fill their last byte, the most that fit.
  public var count: Int
  /// Bytes of values, codes, tables, scales and biases.
  public var storedBytes: Int
  /// Whether it can be trained on the device.
  public var isUpdatable: Bool
  /// Where the message lies in the network's payload, in bytes.
  public var range: Range<Int>

  /// A weight with these parts.
  public init(
    path: String, storage: Storage, count: Int, storedBytes: Int, isUpdatable: Bool,
    range: Range<Int>
  ) {
    self.path = path
    self.storage = storage
    self.count = count
    self.storedBytes = storedBytes
    self.isUpdatable = isUpdatable
    self.range = range
  }
}
