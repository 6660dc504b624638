import ModelSpec

/// Reads little-endian numbers and strings with a 64-bit length before them.
struct LittleEndianReader {
  private let bytes: UnsafeRawBufferPointer
  private let path: String
  private(set) var position = 0

  /// - Parameter path: The file, for error messages.
  init(_ bytes: UnsafeRawBufferPointer, path: String) {
    self.bytes = bytes
    self.path = path
  }

  /// Whether all is read.
  var isAtEnd: Bool { position == bytes.count }

  /// An error at the place reached.
  func fault(_ message: String) -> SpecError {
    SpecError(message, path: path, offset: position)
  }

  private mutating func take(_ count: Int) throws(SpecError) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= bytes.count - position else {
      throw fault("the file ends too early")
    }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)])
  }

  mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws(SpecError) -> T {
    T(littleEndian: try take(MemoryLayout<T>.size).loadUnaligned(as: T.self))
  }

  /// A number of elements, each of at least `size` bytes.
  mutating func count(of size: Int) throws(SpecError) -> Int {
    let count = try integer(UInt64.self)
    guard count <= UInt64((bytes.count - position) / size) else {
      throw fault("the file ends before \(count) elements")
    }
    return Int(count)
  }

  mutating func content() throws(SpecError) -> [UInt8] {
    Array(try take(Int(clamping: try integer(UInt64.self))))
  }

  mutating func text() throws(SpecError) -> String {
    let start = position
    guard let text = String(validating: try content(), as: UTF8.self) else {
      throw SpecError("a string is not valid UTF-8", path: path, offset: start)
    }
    return text
  }

  mutating func texts() throws(SpecError) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try count(of: 8)) { texts.append(try text()) }
    return texts
  }

  /// All that is left.
  mutating func rest() -> [UInt8] {
    defer { position = bytes.count }
    return Array(bytes[position...])
  }
}

/// Writes what ``LittleEndianReader`` reads.
struct LittleEndianWriter {
  private(set) var bytes: [UInt8] = []

  mutating func add<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func add(_ content: [UInt8]) {
    add(UInt64(content.count))
    bytes += content
  }

  mutating func add(_ text: String) { add(Array(text.utf8)) }

  mutating func add(_ texts: [String]) {
    add(UInt64(texts.count))
    for text in texts { add(text) }
  }

  /// Bytes without a length before them.
  mutating func add(raw content: [UInt8]) { bytes += content }
}
