/// A cursor in a MIL text.
struct MILReader {
  let bytes: [UInt8]
  let resolver: MILParser.WeightResolver
  var at = 0
  private var depth = 0

  init(_ bytes: [UInt8], _ resolver: @escaping MILParser.WeightResolver) {
    self.bytes = bytes
    self.resolver = resolver
  }

  func error(
    _ message: String, at offset: Int? = nil, underlying: (any Error)? = nil
  ) -> MILTextError {
    let end = min(offset ?? at, bytes.count)
    var position = MILTextError.Position(line: 1, column: 1)
    for byte in bytes[..<end] {
      position.column += 1
      if byte == UInt8(ascii: "\n") { position = .init(line: position.line + 1, column: 1) }
    }
    return MILTextError(message, position: position, underlying: underlying)
  }

  /// An error that says what stands in the place of something else.
  func unexpected(_ expected: String) -> MILTextError {
    guard at < bytes.count else { return error("the text ends where \(expected) is expected") }
    let byte = bytes[at]
    let isPlain = (0x21...0x7E).contains(byte)
    let found = isPlain ? "`\(Character(UnicodeScalar(byte)))`" : "byte \(byte)"
    return error("\(found) in the place of \(expected)")
  }

  /// Enters a type, value or block inside another; `leave` ends it.
  mutating func enter() throws(MILTextError) {
    depth += 1
    if depth > MILWriter.depthLimit { throw error("nested deeper than \(MILWriter.depthLimit)") }
  }

  mutating func leave() { depth -= 1 }

  /// Passes white space and comments.
  mutating func skip() throws(MILTextError) {
    while at < bytes.count {
      switch bytes[at] {
      case 0x20, 0x09, 0x0A, 0x0D: at += 1
      case UInt8(ascii: "/"):
        let second = at + 1 < bytes.count ? bytes[at + 1] : 0
        if second == UInt8(ascii: "/") {
          while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
        } else if second == UInt8(ascii: "*") {
          try skipComment()
        } else {
          return
        }
      default: return
      }
    }
  }

  private mutating func skipComment() throws(MILTextError) {
    let start = at
    at += 2
    while at + 1 < bytes.count {
      if bytes[at] == UInt8(ascii: "*"), bytes[at + 1] == UInt8(ascii: "/") {
        at += 2
        return
      }
      at += 1
    }
    throw error("a comment does not end", at: start)
  }

  /// The next byte that is neither white space nor comment; 0 at the end.
  mutating func peek() throws(MILTextError) -> UInt8 {
    try skip()
    return at < bytes.count ? bytes[at] : 0
  }

  /// Passes a sign when it is next.
  mutating func accept(_ sign: Unicode.Scalar) throws(MILTextError) -> Bool {
    guard try peek() == UInt8(ascii: sign), at < bytes.count else { return false }
    at += 1
    return true
  }

  mutating func expect(_ sign: Unicode.Scalar) throws(MILTextError) {
    if try !accept(sign) { throw unexpected("`\(sign)`") }
  }

  /// Passes `->`.
  mutating func expectArrow() throws(MILTextError) {
    try expect("-")
    guard at < bytes.count, bytes[at] == UInt8(ascii: ">") else { throw unexpected("`>`") }
    at += 1
  }

  /// The range of the identifier that starts here; empty when none does.
  private func identifierRange() -> Range<Int> {
    guard at < bytes.count, MILSyntax.startsIdentifier(bytes[at]) else { return at..<at }
    var end = at + 1
    while end < bytes.count, MILSyntax.continuesIdentifier(bytes[end]) { end += 1 }
    return at..<end
  }

  mutating func identifier(_ expected: String) throws(MILTextError) -> String {
    try skip()
    let range = identifierRange()
    if range.isEmpty { throw unexpected(expected) }
    at = range.upperBound
    return String(decoding: bytes[range], as: UTF8.self)
  }

  /// Passes a word when it is the next identifier.
  mutating func accept(word: StaticString) throws(MILTextError) -> Bool {
    try skip()
    let range = identifierRange()
    let text = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[range].elementsEqual(text) else { return false }
    at = range.upperBound
    return true
  }

  mutating func expect(word: StaticString) throws(MILTextError) {
    if try !accept(word: word) { throw unexpected("`\(word)`") }
  }

  /// A name: an identifier, or any text in quotes.
  mutating func name(_ expected: String) throws(MILTextError) -> String {
    try peek() == UInt8(ascii: "\"") ? string() : identifier(expected)
  }

  /// The byte behind the identifier that starts here, white space and comments left out.
  mutating func byteBehindIdentifier() throws(MILTextError) -> UInt8 {
    try skip()
    let start = at
    at = identifierRange().upperBound
    let byte = try peek()
    at = start
    return byte
  }

  /// A string in quotes.
  mutating func string() throws(MILTextError) -> String {
    try expect("\"")
    let start = at
    while at < bytes.count, bytes[at] != UInt8(ascii: "\""), bytes[at] != UInt8(ascii: "\\") {
      at += 1
    }
    var content = bytes[start..<at]
    while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
      if bytes[at] == UInt8(ascii: "\\") {
        content.append(try escape())
      } else {
        content.append(bytes[at])
        at += 1
      }
    }
    guard at < bytes.count else { throw error("a string does not end", at: start - 1) }
    at += 1
    guard let text = String(validating: content, as: UTF8.self) else {
      throw error("a string is not UTF-8", at: start - 1)
    }
    return text
  }

  private mutating func escape() throws(MILTextError) -> UInt8 {
    let start = at
    at += 1
    guard at < bytes.count else { throw error("a string does not end") }
    let letter = bytes[at]
    at += 1
    if let byte = MILSyntax.escaped(letter) { return byte }
    guard letter == UInt8(ascii: "x"), at + 1 < bytes.count,
      let high = Self.hexadecimalValue(bytes[at]), let low = Self.hexadecimalValue(bytes[at + 1])
    else { throw error("an unknown escape sequence", at: start) }
    at += 2
    return high << 4 | low
  }

  static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
