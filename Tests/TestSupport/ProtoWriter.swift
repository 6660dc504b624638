/// Writes protobuf messages byte by byte, so that they may be hostile.
public struct ProtoWriter: Sendable {
  /// The message so far.
  public private(set) var bytes: [UInt8] = []

  /// An empty message.
  public init() {}

  /// A message of one field of bytes.
  public static func message(_ number: UInt64, _ content: [UInt8]) -> [UInt8] {
    var writer = ProtoWriter()
    writer.bytes(number, content)
    return writer.bytes
  }

  /// A varint without a tag.
  public mutating func raw(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Bytes as they are.
  public mutating func raw(_ content: [UInt8]) { bytes += content }

  /// The tag of a field.
  public mutating func tag(_ number: UInt64, wireType: UInt64) {
    raw(varint: number << 3 | wireType)
  }

  /// A varint field.
  public mutating func varint(_ number: UInt64, _ value: UInt64) {
    tag(number, wireType: 0)
    raw(varint: value)
  }

  /// A field of bytes, a string or a message.
  public mutating func bytes(_ number: UInt64, _ content: [UInt8]) {
    tag(number, wireType: 2)
    raw(varint: UInt64(content.count))
    bytes += content
  }

  /// A string field.
  public mutating func text(_ number: UInt64, _ content: String) {
    bytes(number, Array(content.utf8))
  }

  /// A message field that `body` fills.
  public mutating func message(_ number: UInt64, _ body: (inout ProtoWriter) -> Void) {
    var nested = ProtoWriter()
    body(&nested)
    bytes(number, nested.bytes)
  }

  /// A 32-bit field.
  public mutating func fixed32(_ number: UInt64, _ value: UInt32) {
    tag(number, wireType: 5)
    withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
  }

  /// A 64-bit field.
  public mutating func fixed64(_ number: UInt64, _ value: UInt64) {
    tag(number, wireType: 1)
    withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
  }

  /// Messages nested in each other: fields `path` around `content`, repeated `count` times.
  ///
  /// Written from the inside outwards, so that a million levels take linear time.
  public static func nested(_ path: [UInt64], count: Int, content: [UInt8] = []) -> [UInt8] {
    var reversed: [UInt8] = content.reversed()
    func append(_ value: UInt64) {
      // A varint, its last byte first.
      let start = reversed.count
      var rest = value
      while rest >= 0x80 {
        reversed.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      reversed.append(UInt8(rest))
      if reversed.count - start > 1 { reversed[start...].reverse() }
    }
    for _ in 0..<count {
      for number in path.reversed() {
        append(UInt64(reversed.count))
        append(number << 3 | 2)
      }
    }
    return reversed.reversed()
  }
}
