import ModelTensors

/// A place in a weight file, as a program names it.
public struct BlobReference: Sendable, Hashable {
  /// The file as written in the program, `@model_path/weights/weight.bin`.
  public var fileName: String
  /// The offset of the blob's metadata record in bytes.
  public var offset: UInt64

  /// A reference to the record at `offset`.
  public init(fileName: String, offset: UInt64) {
    self.fileName = fileName
    self.offset = offset
  }

  /// The file relative to the model's folder, `weights/weight.bin`, without empty and "." parts.
  public var relativePath: String {
    let prefix = "@model_path/"
    let path = fileName.hasPrefix(prefix) ? fileName.dropFirst(prefix.count) : Substring(fileName)
    return path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
  }
}

/// A constant tensor whose bytes lie outside the program, read when asked for.
public struct Weight: Sendable {
  /// Where the program found it; the file is also where a writer puts it again.
  public var reference: BlobReference
  /// The bytes, read when asked for.
  public var source: any TensorSource
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A weight that lies at `reference`.
  public init(reference: BlobReference, source: any TensorSource) {
    self.reference = reference
    self.source = source
  }
}

/// A blob as a program reads it: its place and the type that it is read as.
public struct WeightKey: Sendable, Hashable {
  /// The place of the blob.
  public var reference: BlobReference
  /// The type of the elements.
  public var elementType: ElementType
  /// The number of elements.
  public var elementCount: Int
}

extension Weight {
  /// The blob and how it is read; equal keys have equal bytes.
  public var key: WeightKey {
    WeightKey(
      reference: reference, elementType: source.elementType, elementCount: source.elementCount)
  }
}

extension Weight: Equatable {
  /// Whether both are the same place; the bytes are not compared.
  public static func == (left: Weight, right: Weight) -> Bool {
    left.reference == right.reference && left.unknownFields == right.unknownFields
      && left.source.shape == right.source.shape
      && left.source.elementType == right.source.elementType
  }
}

/// The elements of an immediate tensor, in the list that the file uses for its type.
public enum TensorLiteral: Sendable, Equatable {
  case floats([Float])
  /// int32, int16, uint16.
  case ints([Int32])
  case bools([Bool])
  case strings([String])
  /// int64, uint64.
  case longInts([Int64])
  case doubles([Double])
  /// Packed little-endian elements: fp16, 8-bit, uint32 and the types narrower than a byte.
  case bytes([UInt8])
  /// None is set in the file.
  case absent

  /// Elements in the list; for `bytes` the number of bytes.
  public var count: Int {
    switch self {
    case .floats(let values): values.count
    case .ints(let values): values.count
    case .bools(let values): values.count
    case .strings(let values): values.count
    case .longInts(let values): values.count
    case .doubles(let values): values.count
    case .bytes(let values): values.count
    case .absent: 0
    }
  }

  /// Whether both have the same bits; unlike `==` it tells −0 from 0 and NaN equals itself.
  public func isIdentical(to other: TensorLiteral) -> Bool {
    switch (self, other) {
    case (.floats(let left), .floats(let right)):
      left.map(\.bitPattern) == right.map(\.bitPattern)
    case (.doubles(let left), .doubles(let right)):
      left.map(\.bitPattern) == right.map(\.bitPattern)
    default: self == other
    }
  }
}

/// A value that stands in the program itself.
public struct ImmediateValue: Sendable, Equatable {
  /// One entry of a dictionary value.
  public struct Pair: Sendable, Equatable {
    /// The key; nil when the file has none.
    public var key: Value?
    /// The value; nil when the file has none.
    public var value: Value?
    /// Fields that the schema does not name, carried along.
    public var unknownFields = UnknownFields()

    /// An entry.
    public init(key: Value?, value: Value?) {
      self.key = key
      self.value = value
    }
  }

  /// The alternatives of `MILSpec.Value.ImmediateValue`.
  public indirect enum Kind: Sendable, Equatable {
    case tensor(TensorLiteral)
    case tuple([Value])
    case list([Value])
    case dictionary([Pair])
    /// None is set in the file.
    case absent
  }

  /// Which alternative it is.
  public var kind: Kind
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()
  /// Unknown fields of the tensor, tuple, list or dictionary message.
  public var kindUnknownFields = UnknownFields()
  /// Unknown fields of a tensor's list message (`RepeatedFloats` …).
  public var listUnknownFields = UnknownFields()

  /// A value of this kind.
  public init(_ kind: Kind) { self.kind = kind }
}

/// A typed constant: immediate, or a weight in a file.
public struct Value: Sendable, Equatable {
  /// Where the content is.
  public enum Content: Sendable, Equatable {
    case immediate(ImmediateValue)
    case weight(Weight)
    /// Neither is set in the file.
    case absent
  }

  /// A text for readers.
  public var docString = ""
  /// The type; nil when the file has none.
  public var type: ValueType?
  /// Where the content is.
  public var content: Content
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A value of this type and content.
  public init(type: ValueType?, content: Content) {
    self.type = type
    self.content = content
  }

  /// An immediate tensor.
  public init(_ elementType: ElementType, _ shape: [Int], _ literal: TensorLiteral) {
    self.init(
      type: .tensor(elementType, shape), content: .immediate(ImmediateValue(.tensor(literal))))
  }

  /// A string scalar.
  public static func string(_ text: String) -> Value { Value(.string, [], .strings([text])) }
  /// A bool scalar.
  public static func bool(_ flag: Bool) -> Value { Value(.bool, [], .bools([flag])) }
  /// An int32 scalar.
  public static func int32(_ number: Int32) -> Value { Value(.int32, [], .ints([number])) }
  /// An int32 vector.
  public static func int32s(_ numbers: [Int32]) -> Value {
    Value(.int32, [numbers.count], .ints(numbers))
  }

  /// A weight of its source's type and shape.
  public static func weight(_ weight: Weight) -> Value {
    Value(
      type: .tensor(weight.source.elementType, weight.source.shape), content: .weight(weight))
  }

  /// The weight, or nil for an immediate value.
  public var weight: Weight? {
    if case .weight(let weight) = content { return weight }
    return nil
  }

  /// The elements of an immediate tensor, or nil.
  public var literal: TensorLiteral? {
    if case .immediate(let value) = content, case .tensor(let literal) = value.kind {
      return literal
    }
    return nil
  }

  /// The text of a string scalar.
  public var stringValue: String? {
    if case .strings(let values) = literal, values.count == 1 { return values[0] }
    return nil
  }

  /// The number of an integer scalar of any width that stands in `ints` or `longInts`.
  public var intValue: Int? {
    switch literal {
    case .ints(let values) where values.count == 1: Int(values[0])
    case .longInts(let values) where values.count == 1: Int(exactly: values[0])
    default: intValues?.count == 1 ? intValues?.first : nil
    }
  }

  /// The flag of a bool scalar.
  public var boolValue: Bool? {
    if case .bools(let values) = literal, values.count == 1 { return values[0] }
    return nil
  }
}
