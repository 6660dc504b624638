/// Fields of a message that its schema does not name, carried along unchanged.
public struct UnknownFields: Sendable, Equatable {
  /// One field as it stood in the message.
  public struct Field: Sendable, Equatable {
    /// The field number.
    public var number: UInt32
    /// The protobuf wire type, 0…5.
    public var wireType: UInt8
    /// The bytes after the tag; a length prefix is included.
    public var bytes: [UInt8]

    /// A field of this number, wire type and content.
    public init(number: UInt32, wireType: UInt8, bytes: [UInt8]) {
      self.number = number
      self.wireType = wireType
      self.bytes = bytes
    }
  }

  /// The fields in the order of the message.
  public var fields: [Field]

  /// No fields, or those given.
  public init(_ fields: [Field] = []) { self.fields = fields }

  /// Whether nothing is carried.
  public var isEmpty: Bool { fields.isEmpty }
}
