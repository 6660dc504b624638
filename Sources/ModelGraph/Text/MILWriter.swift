/// A buffer of MIL text that empties itself into a sink.
final class MILWriter {
  /// How deep types, values and blocks may nest, all together.
  static let depthLimit = 100
  private static let pieceSize = 1 << 16

  let version: MILVersion
  private(set) var buffer: [UInt8] = []
  var notes = MILNotes()
  /// Where the writer is, for errors.
  var place = ""
  private var depth = 0
  private let sink: ((UnsafeRawBufferPointer) throws -> Void)?
  private var failure: (any Error)?

  init(version: MILVersion, sink: ((UnsafeRawBufferPointer) throws -> Void)?) {
    self.version = version
    self.sink = sink
    buffer.reserveCapacity(Self.pieceSize + 4096)
  }

  /// Passes on what is left.
  func flush() throws {
    pass()
    if let failure { throw failure }
  }

  /// Whether the sink has failed, so that further text is lost.
  var hasFailed: Bool { failure != nil }

  private func pass() {
    guard let sink else { return }
    if failure == nil {
      do { try buffer.withUnsafeBytes { try sink($0) } } catch { failure = error }
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Passes the buffer on when it is full.
  func passIfFull() {
    if sink != nil, buffer.count >= Self.pieceSize { pass() }
  }

  func write(_ text: StaticString) {
    buffer.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  func write(text: String) { buffer.append(contentsOf: text.utf8) }

  func write(number: UInt64) { appendDecimal(number, to: &buffer) }

  func write(number: Int64) {
    if number < 0 { buffer.append(UInt8(ascii: "-")) }
    appendDecimal(number.magnitude, to: &buffer)
  }

  func write(_ format: FloatFormat, _ bits: UInt64) {
    let sign = bits & format.signBit
    let magnitude = bits ^ sign
    switch format.classify(bits) {
    case .number: format.append(bits, to: &buffer)
    case .infinity:
      notes.rests(on: .specialFloats)
      if sign != 0 { buffer.append(UInt8(ascii: "-")) }
      write("inf")
    case .nan:
      notes.rests(on: .specialFloats)
      if sign != 0 { buffer.append(UInt8(ascii: "-")) }
      write("nan")
      if magnitude != format.quietNaN {
        notes.rests(on: .payloadNaN)
        write("(0x")
        write(text: String(magnitude, radix: 16))
        write(")")
      }
    }
  }

  /// Writes a name: as it is when it is an identifier, else in quotes.
  func write(name: String) {
    if MILSyntax.isIdentifier(name) {
      write(text: name)
    } else {
      notes.rests(on: .quotedNames)
      write(string: name)
    }
  }

  /// Writes a string in quotes.
  func write(string: String) {
    buffer.append(UInt8(ascii: "\""))
    for byte in string.utf8 {
      if let letter = MILSyntax.escapeLetter(byte) {
        notes.rests(on: .escapes)
        buffer.append(UInt8(ascii: "\\"))
        buffer.append(letter)
      } else if byte < 0x20 || byte == 0x7F {
        notes.rests(on: .escapes)
        write("\\x")
        buffer.append(hexadecimalDigit(byte >> 4))
        buffer.append(hexadecimalDigit(byte & 15))
      } else {
        buffer.append(byte)
      }
    }
    buffer.append(UInt8(ascii: "\""))
  }

  /// Begins a line of this indentation.
  func line(_ indentation: Int) {
    buffer.append(UInt8(ascii: "\n"))
    for _ in 0..<indentation { buffer.append(UInt8(ascii: " ")) }
  }

  func error(_ message: String) -> MILTextError {
    MILTextError(message, place: place.isEmpty ? nil : place)
  }

  /// Enters a type, value or block inside another; `leave` ends it.
  func enter() throws(MILTextError) {
    depth += 1
    if depth > Self.depthLimit { throw error("nested deeper than \(Self.depthLimit)") }
  }

  func leave() { depth -= 1 }

  func noteUnknown(_ fields: UnknownFields) {
    if !fields.isEmpty { notes.drops(.unknownFields) }
  }
}

/// What printer and parser share.
enum MILSyntax {
  static func isIdentifier(_ name: String) -> Bool {
    var isFirst = true
    for byte in name.utf8 {
      guard isFirst ? startsIdentifier(byte) : continuesIdentifier(byte) else { return false }
      isFirst = false
    }
    return !isFirst
  }

  static func startsIdentifier(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }

  static func continuesIdentifier(_ byte: UInt8) -> Bool {
    startsIdentifier(byte) || isDigit(byte) || byte == UInt8(ascii: "@")
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// The letter behind a backslash that stands for a byte.
  static func escapeLetter(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
    case 0x0A: UInt8(ascii: "n")
    case 0x0D: UInt8(ascii: "r")
    case 0x09: UInt8(ascii: "t")
    default: nil
    }
  }

  /// The byte of the letter behind a backslash.
  static func escaped(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "'"): letter
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    case UInt8(ascii: "0"): 0
    default: nil
    }
  }

  /// Whether one name comes before the other by their bytes.
  static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  /// The entries of a list, sorted by name.
  static func sorted<Element>(_ list: NamedList<Element>) -> [(key: String, value: Element)] {
    let entries = list.entries
    let isSorted = zip(entries, entries.dropFirst()).allSatisfy { !precedes($1.key, $0.key) }
    return isSorted ? entries : entries.sorted { precedes($0.key, $1.key) }
  }
}
