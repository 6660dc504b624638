/// A cursor over the fields of one serialized protobuf message.
///
/// Source: the protobuf encoding; a field is a tag (number·8 + wire type) and its value.
struct WireReader {
  /// One field: number, wire type, and where its value lies in the buffer.
  struct Field {
    var number: UInt32
    var wireType: UInt8
    /// Where the tag starts.
    var start: Int
    /// The value; for a length-delimited field what follows its length.
    var value: Range<Int>
    /// A varint's or fixed-width value; 0 for a length-delimited field.
    var scalar: UInt64
    /// The bytes after the tag, a length prefix included.
    var raw: Range<Int>
  }

  static let varint: UInt8 = 0
  static let fixed64: UInt8 = 1
  static let delimited: UInt8 = 2
  static let fixed32: UInt8 = 5

  private let bytes: UnsafeRawBufferPointer
  private var position: Int
  private let end: Int
  /// What is added to positions in error messages.
  private let base: Int

  /// Reads the fields in `range` of `bytes`; `base` is the file offset of byte 0.
  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, base: Int) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
    self.base = base
  }

  /// The next field, or nil at the end of the message.
  mutating func next() throws(SpecError) -> Field? {
    if position >= end { return nil }
    let start = position
    let tag = try varintValue()
    let number = tag >> 3
    let wireType = UInt8(tag & 7)
    guard number > 0, number < 1 << 29 else {
      throw SpecError("not a protobuf message: field number \(number)", offset: base + start)
    }
    let rawStart = position
    var value = position..<position
    var scalar: UInt64 = 0
    switch wireType {
    case WireReader.varint:
      scalar = try varintValue()
      value = rawStart..<position
    case WireReader.fixed64, WireReader.fixed32:
      let size = wireType == WireReader.fixed64 ? 8 : 4
      guard end - position >= size else { throw truncated(start, number) }
      for index in (0..<size).reversed() {
        scalar = scalar << 8 | UInt64(bytes[position + index])
      }
      value = position..<(position + size)
      position += size
    case WireReader.delimited:
      let length = try varintValue()
      guard length <= UInt64(end - position) else { throw truncated(start, number) }
      value = position..<(position + Int(length))
      position = value.upperBound
    default:
      throw SpecError(
        "not a protobuf message: wire type \(wireType) of field \(number)", offset: base + start)
    }
    return Field(
      number: UInt32(number), wireType: wireType, start: start, value: value, scalar: scalar,
      raw: rawStart..<position)
  }

  /// The numbers of a packed list.
  static func varints(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
  ) throws(SpecError) -> [UInt64] {
    var reader = WireReader(bytes, range, base: 0)
    var values: [UInt64] = []
    while reader.position < reader.end { values.append(try reader.varintValue()) }
    return values
  }

  private func truncated(_ start: Int, _ number: UInt64) -> SpecError {
    SpecError("field \(number) runs past the end of its message", offset: base + start)
  }

  private mutating func varintValue() throws(SpecError) -> UInt64 {
    let start = position
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < end, shift < 70 {
      let byte = bytes[position]
      position += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw SpecError(
      position < end ? "not a protobuf message: overlong number" : "the message is cut off",
      offset: base + start)
  }
}

/// Appends fields to a serialized protobuf message.
struct WireWriter {
  private(set) var bytes: [UInt8] = []

  mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func field(_ number: UInt32, varint value: UInt64) {
    varint(UInt64(number) << 3)
    varint(value)
  }

  mutating func field(_ number: UInt32, bytes content: [UInt8]) {
    varint(UInt64(number) << 3 | UInt64(WireReader.delimited))
    varint(UInt64(content.count))
    bytes += content
  }

  /// Bytes of a number.
  static func size(ofVarint value: UInt64) -> Int {
    max(1, (64 - value.leadingZeroBitCount + 6) / 7)
  }

  /// Bytes of a field that holds `byteCount` bytes.
  static func size(ofField number: UInt32, byteCount: Int) -> Int {
    size(ofVarint: UInt64(number) << 3) + size(ofVarint: UInt64(byteCount)) + byteCount
  }

  /// Makes room for `count` bytes more.
  mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

  /// Appends fields as they stand.
  mutating func append(_ fields: Slice<UnsafeRawBufferPointer>) { bytes += fields }

  mutating func field(number: UInt32, wireType: UInt8, raw content: [UInt8]) {
    varint(UInt64(number) << 3 | UInt64(wireType))
    bytes += content
  }
}
