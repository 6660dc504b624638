import ModelTensors

/// The element type of a MIL tensor by its number in the file; numbers that we do not know are
/// carried along.
public struct DataType: RawRepresentable, Sendable, Hashable {
  /// The number in the file.
  public var rawValue: Int32
  /// A value of this content.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// The number of `type` in `MILSpec.DataType`.
  public init(_ type: ElementType) {
    rawValue = DataType.numbers.first { $0.type == type }?.number ?? 0
  }

  /// The element type, or nil for a number without one.
  public var elementType: ElementType? {
    DataType.numbers.first { $0.number == rawValue }?.type
  }

  private static let numbers: [(number: Int32, type: ElementType)] = [
    (1, .bool), (2, .string), (10, .float16), (11, .float32), (12, .float64), (13, .bfloat16),
    (21, .int8), (22, .int16), (23, .int32), (24, .int64), (25, .int4), (31, .uint8),
    (32, .uint16), (33, .uint32), (34, .uint64), (35, .uint4), (36, .uint2), (37, .uint1),
    (38, .uint6), (39, .uint3), (40, .float8E4M3FN), (41, .float8E5M2),
  ]
}

/// One axis of a tensor type, or the length of a list type.
public struct Dimension: Sendable, Equatable {
  /// What is known of the size.
  public enum Kind: Sendable, Equatable {
    /// A fixed size.
    case constant(UInt64)
    /// Not fixed; a variadic one stands for any number of axes.
    case unknown(variadic: Bool)
    /// Neither alternative is set in the file.
    case absent
  }

  /// Which alternative it is.
  public var kind: Kind
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()
  /// Unknown fields of the message of the alternative.
  public var kindUnknownFields = UnknownFields()

  /// A dimension of this kind.
  public init(_ kind: Kind) { self.kind = kind }

  /// The fixed size, or nil when it is not fixed or does not fit.
  public var size: Int? {
    if case .constant(let size) = kind { return Int(exactly: size) }
    return nil
  }
}

/// The type of a tensor: element type and axes.
public struct TensorType: Sendable, Equatable {
  /// The element type by its number in the file.
  public var dataType: DataType
  /// The rank as declared; it should be the number of dimensions.
  public var rank: Int64
  /// The axes.
  public var dimensions: [Dimension]
  /// Attributes by name, in file order.
  public var attributes: NamedList<Value>
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A type as it stands in a file.
  public init(
    dataType: DataType, rank: Int64, dimensions: [Dimension], attributes: NamedList<Value> = [:]
  ) {
    self.dataType = dataType
    self.rank = rank
    self.dimensions = dimensions
    self.attributes = attributes
  }

  /// The type of a tensor of fixed shape.
  public init(_ elementType: ElementType, _ shape: [Int]) {
    self.init(
      dataType: DataType(elementType), rank: Int64(shape.count),
      dimensions: shape.map { Dimension(.constant(UInt64($0))) })
  }

  /// The element type, or nil when the file's number has none.
  public var elementType: ElementType? { dataType.elementType }

  /// The shape, or nil when a size is not fixed.
  public var shape: [Int]? {
    var shape: [Int] = []
    for dimension in dimensions {
      guard let size = dimension.size else { return nil }
      shape.append(size)
    }
    return shape
  }

  /// The same type with other elements.
  public func with(elementType: ElementType) -> TensorType {
    var copy = self
    copy.dataType = DataType(elementType)
    return copy
  }
}

/// The type of a value in a program.
public struct ValueType: Sendable, Equatable {
  /// The alternatives of `MILSpec.ValueType`.
  public indirect enum Kind: Sendable, Equatable {
    case tensor(TensorType)
    case list(element: ValueType?, length: Dimension?)
    case tuple([ValueType])
    case dictionary(key: ValueType?, value: ValueType?)
    case state(ValueType?)
    /// None is set in the file.
    case absent
  }

  /// Which alternative it is.
  public var kind: Kind
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()
  /// Unknown fields of the list, tuple, dictionary or state message.
  public var kindUnknownFields = UnknownFields()

  /// A type of this kind.
  public init(_ kind: Kind) { self.kind = kind }

  /// The type of a tensor of fixed shape.
  public static func tensor(_ elementType: ElementType, _ shape: [Int] = []) -> ValueType {
    ValueType(.tensor(TensorType(elementType, shape)))
  }

  /// The tensor type, or nil for another kind.
  public var tensor: TensorType? {
    if case .tensor(let type) = kind { return type }
    return nil
  }

  /// The tensor type, that of a state's tensor included.
  public var tensorOrStateTensor: TensorType? {
    if case .state(let wrapped) = kind { return wrapped?.tensor }
    return tensor
  }
}

/// A name with its type: an input, an output of an operation.
public struct NamedValueType: Sendable, Equatable {
  /// The name.
  public var name: String
  /// The type; nil when the file has none.
  public var type: ValueType?
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A name of this type.
  public init(_ name: String, _ type: ValueType?) {
    self.name = name
    self.type = type
  }
}
