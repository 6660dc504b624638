/// A Core ML model: interface and one of the model kinds.
public struct Model: Sendable {
  /// The specification version.
  public var specificationVersion: Int
  /// The interface; nil when the file has none.
  public var description: ModelDescription?
  /// Whether parts of the model can be trained on the device.
  public var isUpdatable: Bool
  /// Which alternative it is.
  public var kind: ModelKind
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A model with these parts.
  public init(
    specificationVersion: Int, description: ModelDescription?, isUpdatable: Bool = false,
    kind: ModelKind
  ) {
    self.specificationVersion = specificationVersion
    self.description = description
    self.isUpdatable = isUpdatable
    self.kind = kind
  }

  /// The program, or nil for another kind.
  public var program: Program? {
    get {
      if case .program(let program) = kind { return program }
      return nil
    }
    set { if let newValue { kind = .program(newValue) } }
  }
}

/// The kinds of model that the toolchain tells apart.
public enum ModelKind: Sendable {
  case program(Program)
  case neuralNetwork(NeuralNetwork)
  case pipeline(Pipeline)
  /// Kept whole: trees, GLM, SVM, feature engineering, text, sound and vision models and so on.
  case other(OpaqueModel)
  /// The file names no kind.
  case absent

  /// The name of the field in `Model`, `mlProgram`, `neuralNetworkClassifier` and so on.
  public var typeName: String {
    switch self {
    case .program: "mlProgram"
    case .neuralNetwork(let network): network.typeName
    case .pipeline(let pipeline): pipeline.typeName
    case .other(let model): model.typeName
    case .absent: "none"
    }
  }
}

/// A model kind kept as the bytes of its message.
public struct OpaqueModel: Sendable {
  /// The name of the field in `Model`.
  public var typeName: String
  /// The serialized message of that field.
  public var payload: [UInt8]

  /// A model of this kind and content.
  public init(typeName: String, payload: [UInt8]) {
    self.typeName = typeName
    self.payload = payload
  }
}

/// Models run one after the other.
public struct Pipeline: Sendable {
  /// `pipeline`, `pipelineClassifier` or `pipelineRegressor`.
  public var typeName: String
  /// The children in order.
  public var models: [Model]
  /// Names of the children; may be fewer than they are.
  public var names: [String]
  /// Unknown fields of the pipeline message.
  public var unknownFields = UnknownFields()
  /// Unknown fields of the classifier or regressor message around it.
  public var wrapperUnknownFields = UnknownFields()
  /// Whether the classifier or regressor message holds a pipeline at all.
  public var isPresent = true

  /// A pipeline of these models.
  public init(typeName: String, models: [Model], names: [String]) {
    self.typeName = typeName
    self.models = models
    self.names = names
  }

  /// The name of a child: its own, else `model` and its number.
  public func name(of index: Int) -> String {
    index < names.count && !names[index].isEmpty ? names[index] : "model\(index)"
  }
}
