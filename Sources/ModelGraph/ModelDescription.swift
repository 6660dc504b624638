/// The interface of a model: features by name, functions, metadata.
public struct ModelDescription: Sendable, Equatable {
  public var inputs: [FeatureDescription] = []
  public var outputs: [FeatureDescription] = []
  public var states: [FeatureDescription] = []
  public var trainingInputs: [FeatureDescription] = []
  /// The output that is the class label, or empty.
  public var predictedFeatureName = ""
  /// The output that holds the class probabilities, or empty.
  public var predictedProbabilitiesName = ""
  /// One entry per function of a multi-function program.
  public var functions: [FunctionDescription] = []
  public var defaultFunctionName = ""
  public var metadata: Metadata?
  public var unknownFields = UnknownFields()

  /// An empty description.
  public init() {}
}

/// The interface of one function of a multi-function program.
public struct FunctionDescription: Sendable, Equatable {
  public var name = ""
  public var inputs: [FeatureDescription] = []
  public var outputs: [FeatureDescription] = []
  public var states: [FeatureDescription] = []
  public var predictedFeatureName = ""
  public var predictedProbabilitiesName = ""
  public var unknownFields = UnknownFields()

  /// An empty description.
  public init() {}
}

/// What the author says about a model.
public struct Metadata: Sendable, Equatable {
  public var shortDescription = ""
  public var version = ""
  public var author = ""
  public var license = ""
  public var userDefined: NamedList<String> = [:]
  public var unknownFields = UnknownFields()

  /// Empty metadata.
  public init() {}
}

/// One input, output or state.
public struct FeatureDescription: Sendable, Equatable {
  public var name: String
  public var shortDescription = ""
  public var type: FeatureType?
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

  public var kind: Kind
  public var isOptional = false
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
  public var lowerBound: UInt64
  public var upperBound: Int64
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
    public var rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }
    public static let float32 = DataType(rawValue: 65568)
    public static let float64 = DataType(rawValue: 65600)
    public static let float16 = DataType(rawValue: 65552)
    public static let int32 = DataType(rawValue: 131104)
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
    public var sizes: [Int64]
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
  public var dataType: DataType
  public var flexibility = Flexibility.fixed
  public var defaultValue = DefaultValue.none
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
    public var rawValue: Int32
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
    public var width: UInt64
    public var height: UInt64
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

  public var width: Int64
  public var height: Int64
  public var colorSpace: ColorSpace
  public var flexibility = Flexibility.fixed
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
