import ModelTensors

/// One record of a blob file: what its metadata says, checked.
public struct BlobRecord: Sendable, Equatable {
  /// The type of the stored elements.
  public let elementType: ElementType
  /// Where the metadata starts; this is what a specification refers to.
  public let offset: UInt64
  /// Where the data starts.
  public let dataOffset: UInt64
  /// The size of the data in bytes.
  public let byteCount: Int
  /// Unused high bits of the last byte, 0 to 7.
  public let paddingBits: Int

  /// The number of elements.
  public var elementCount: Int {
    byteCount == 0 ? 0 : (byteCount * 8 - paddingBits) / elementType.bitWidth
  }
}

/// The numbers of "MIL blob storage v2".
enum BlobFormat {
  /// Records and data start at multiples of this many bytes; headers and metadata are as long.
  static let alignment = 64
  static let version: UInt32 = 2
  static let sentinel: UInt32 = 0xDEAD_BEEF

  /// The type for a code in the metadata, or nil when unknown.
  static func elementType(code: UInt32) -> ElementType? {
    types.first { $0.code == code }?.type
  }

  /// The code for a type, or nil when blob files cannot hold it.
  static func code(_ type: ElementType) -> UInt32? {
    types.first { $0.type == type }?.code
  }

  private static let types: [(code: UInt32, type: ElementType)] = [
    (1, .float16), (2, .float32), (3, .uint8), (4, .int8), (5, .bfloat16), (6, .int16),
    (7, .uint16), (8, .int4), (9, .uint1), (10, .uint2), (11, .uint4), (12, .uint3), (13, .uint6),
    (14, .int32), (15, .uint32),
  ]
}

extension ElementType {
  /// Whether blob files can hold elements of this type.
  public var isBlobType: Bool { BlobFormat.code(self) != nil }
}

/// Which record of which open file; equal for constants that share their data.
public struct BlobIdentity: Sendable, Hashable {
  /// The blob file.
  public let file: ObjectIdentifier
  /// The offset of the record's metadata.
  public let offset: UInt64
}
