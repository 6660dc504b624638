/// The interface of a model: features by name, functions, metadata.
public struct ModelDescription: Sendable, Equatable {
  /// The inputs.
  public var inputs: [FeatureDescription] = []
  /// The outputs.
  public var outputs: [FeatureDescription] = []
  /// The states.
  public var states: [FeatureDescription] = []
  /// The inputs of training.
  public var trainingInputs: [FeatureDescription] = []
  /// The output that is the class label, or empty.
  public var predictedFeatureName = ""
  /// The output that holds the class probabilities, or empty.
  public var predictedProbabilitiesName = ""
  /// One entry per function of a multi-function program.
  public var functions: [FunctionDescription] = []
  /// The function that is called when none is named.
  public var defaultFunctionName = ""
  /// What the author says; nil when the file has none.
  public var metadata: Metadata?
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// An empty description.
  public init() {}
}

/// The interface of one function of a multi-function program.
public struct FunctionDescription: Sendable, Equatable {
  /// The name.
  public var name = ""
  /// The inputs.
  public var inputs: [FeatureDescription] = []
  /// The outputs.
  public var outputs: [FeatureDescription] = []
  /// The states.
  public var states: [FeatureDescription] = []
  /// The output that is the class label, or empty.
  public var predictedFeatureName = ""
  /// The output that holds the class probabilities, or empty.
  public var predictedProbabilitiesName = ""
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// An empty description.
  public init() {}
}

/// What the author says about a model.
public struct Metadata: Sendable, Equatable {
  /// What the author says about it.
  public var shortDescription = ""
  /// The version that the author gives.
  public var version = ""
  /// The author.
  public var author = ""
  /// The license.
  public var license = ""
  /// Entries of the author, in file order.
  public var userDefined: NamedList<String> = [:]
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// Empty metadata.
  public init() {}
}

/// One input, output or state.
public struct FeatureDescription: Sendable, Equatable {
  /// The name.
  public var name: String
  /// What the author says about it.
  public var shortDescription = ""
  /// The type; nil when the file has none.
  public var type: FeatureType?
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A feature of this name and type.
  public init(name: String, type: FeatureType?) {
    self.name = name
    self.type = type
  }
}

/// The type of a feature.
public struct FeatureType: Sendable, Equatable {
  /// The alternatives of `FeatureType`.
  public enum Kind: Sendable, Equatable {
    case int64
    case double
    case string
    case image(ImageType)
    case multiArray(ArrayType)
    case dictionary(KeyType)
    case sequence(KeyType, size: SizeRange?)
    case state(ArrayType?)
    /// None is set in the file.
    case absent
  }

  /// The type of a dictionary's keys or of a sequence's elements.
  public enum KeyType: Sendable, Equatable {
    case int64
    case string
    case absent
  }

  /// Which alternative it is.
  public var kind: Kind
  /// Whether the input may be left out.
  public var isOptional = false
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()
  /// Unknown fields of the message of the alternative, where that has no value of its own.
  public var kindUnknownFields = UnknownFields()
  /// Unknown fields of the message of a dictionary's keys or of a sequence's elements.
  public var keyUnknownFields = UnknownFields()

  /// A type of this kind.
  public init(_ kind: Kind) { self.kind = kind }
}

/// Bounds of a size; an upper bound below zero means none.
public struct SizeRange: Sendable, Equatable {
  /// The least size.
  public var lowerBound: UInt64
  /// The greatest size; below zero for none.
  public var upperBound: Int64
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A range of these bounds.
  public init(lowerBound: UInt64, upperBound: Int64) {
    self.lowerBound = lowerBound
    self.upperBound = upperBound
  }
}

/// The type of a multi-array feature.
public struct ArrayType: Sendable, Equatable {
  /// The element type by its number in the file.
  public struct DataType: RawRepresentable, Sendable, Hashable {
    /// The number in the file.
    public var rawValue: Int32
    /// A value of this content.
    public init(rawValue: Int32) { self.rawValue = rawValue }
    /// Single precision.
    public static let float32 = DataType(rawValue: 65568)
    /// Double precision.
    public static let float64 = DataType(rawValue: 65600)
    /// Half precision.
    public static let float16 = DataType(rawValue: 65552)
    /// 32-bit integers.
    public static let int32 = DataType(rawValue: 131104)
    /// 8-bit integers.
    public static let int8 = DataType(rawValue: 131080)

    /// The name in text and JSON output: `fp32`, `fp64`, `fp16`, `int32`, `int8`, or the number.
    public var name: String {
      switch self {
      case .float32: "fp32"
      case .float64: "fp64"
      case .float16: "fp16"
      case .int32: "int32"
      case .int8: "int8"
      default: "unknown(\(rawValue))"
      }
    }
  }

  /// One of the shapes that an input may take.
  public struct EnumeratedShape: Sendable, Equatable {
    /// The sizes of the axes.
    public var sizes: [Int64]
    /// Fields that the schema does not name, carried along.
    public var unknownFields = UnknownFields()

    /// A shape of these sizes.
    public init(sizes: [Int64]) { self.sizes = sizes }
  }

  /// Which shapes are allowed beside the default one.
  public enum Flexibility: Sendable, Equatable {
    case fixed
    case enumerated([EnumeratedShape])
    case range([SizeRange])
  }

  /// The value of an optional input that is not given.
  public enum DefaultValue: Sendable, Equatable {
    case none
    case int(Int32)
    case float(Float)
    case double(Double)
  }

  /// The default shape.
  public var shape: [Int64]
  /// The element type by its number in the file.
  public var dataType: DataType
  /// What is allowed beside the default.
  public var flexibility = Flexibility.fixed
  /// The value of an input that is not given.
  public var defaultValue = DefaultValue.none
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()
  /// Unknown fields of the flexibility's message.
  public var flexibilityUnknownFields = UnknownFields()

  /// An array type of fixed shape.
  public init(shape: [Int64], dataType: DataType) {
    self.shape = shape
    self.dataType = dataType
  }
}

/// The type of an image feature; sizes in pixels.
public struct ImageType: Sendable, Equatable {
  /// The colour space by its number in the file.
  public struct ColorSpace: RawRepresentable, Sendable, Hashable {
    /// The number in the file.
    public var rawValue: Int32
    /// A value of this content.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The name in text and JSON output: `grayscale`, `rgb`, `bgr`, `grayscale_fp16`.
    public var name: String {
      switch rawValue {
      case 10: "grayscale"
      case 20: "rgb"
      case 30: "bgr"
      case 40: "grayscale_fp16"
      default: "unknown(\(rawValue))"
      }
    }
  }

  /// One of the sizes that an image may have.
  public struct Size: Sendable, Equatable {
    /// The width in pixels.
    public var width: UInt64
    /// The height in pixels.
    public var height: UInt64
    /// Fields that the schema does not name, carried along.
    public var unknownFields = UnknownFields()

    /// A size in pixels.
    public init(width: UInt64, height: UInt64) {
      self.width = width
      self.height = height
    }
  }

  /// Which sizes are allowed beside the default one.
  public enum Flexibility: Sendable, Equatable {
    case fixed
    case enumerated([Size])
    case range(width: SizeRange?, height: SizeRange?)
  }

  /// The width in pixels.
  public var width: Int64
  /// The height in pixels.
  public var height: Int64
  /// The colour space.
  public var colorSpace: ColorSpace
  /// What is allowed beside the default.
  public var flexibility = Flexibility.fixed
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()
  /// Unknown fields of the flexibility's message.
  public var flexibilityUnknownFields = UnknownFields()

  /// An image type of fixed size.
  public init(width: Int64, height: Int64, colorSpace: ColorSpace) {
    self.width = width
    self.height = height
    self.colorSpace = colorSpace
  }
}
