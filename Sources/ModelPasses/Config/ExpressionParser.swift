/// Translates a regular expression into the program of a ``NameExpression``.
///
/// The language: characters, `.`, sets, `\d \w \s` and their opposites, groups, `|`, `* + ?` and
/// counts, `^ $ \b \B`.
struct ExpressionParser {
  /// The longest program; a name is matched in steps of at most so many states per character.
  static let maximumLength = 2000
  private static let maximumDepth = 50

  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var depth = 0

  static func program(
    _ text: String
  ) throws(ConfigError) -> [NameExpression.Instruction] {
    var parser = ExpressionParser(scalars: Array(text.unicodeScalars))
    let body = try parser.alternatives()
    guard parser.position == parser.scalars.count else {
      throw ConfigError(message: "a ) without its (")
    }
    return body + [.found]
  }

  private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

  private var current: Unicode.Scalar? {
    position < scalars.count ? scalars[position] : nil
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard current == scalar else { return false }
    position += 1
    return true
  }

  private mutating func next() throws(ConfigError) -> Unicode.Scalar {
    guard let scalar = current else { throw ConfigError(message: "it ends too early") }
    position += 1
    return scalar
  }

  // Targets count from the start of a piece; joining pieces moves them.

  private mutating func alternatives() throws(ConfigError) -> [NameExpression.Instruction] {
    depth += 1
    defer { depth -= 1 }
    guard depth <= ExpressionParser.maximumDepth else {
      throw ConfigError(message: "groups are nested too deep")
    }
    var result = try sequence()
    while skip("|") {
      let other = try sequence()
      let first = ExpressionParser.moved(result, by: 1)
      let second = ExpressionParser.moved(other, by: first.count + 2)
      let end = first.count + 2 + second.count
      result = try ExpressionParser.checked(
        [.fork(1, first.count + 2)] + first + [.jump(end)] + second)
    }
    return result
  }

  private mutating func sequence() throws(ConfigError) -> [NameExpression.Instruction] {
    var result: [NameExpression.Instruction] = []
    while let scalar = current, scalar != "|", scalar != ")" {
      let piece = try repeated(try item())
      result = try ExpressionParser.checked(
        result + ExpressionParser.moved(piece, by: result.count))
    }
    return result
  }

  /// What stands between two operators.
  private mutating func item() throws(ConfigError) -> [NameExpression.Instruction] {
    let scalar = try next()
    switch scalar {
    case ".": return [.take(.any)]
    case "^": return [.anchor(.start)]
    case "$": return [.anchor(.end)]
    case "[": return [.take(try set())]
    case "(":
      if skip("?") { try groupKind() }
      let body = try alternatives()
      guard skip(")") else { throw ConfigError(message: "a ( without its )") }
      return body
    case "*", "+", "?": throw ConfigError(message: "nothing stands before \(scalar)")
    case "\\":
      let escaped = try next()
      if escaped == "b" { return [.anchor(.boundary)] }
      if escaped == "B" { return [.anchor(.noBoundary)] }
      if let found = ExpressionParser.characterClass(escaped) {
        return [.take(.set([], classes: [found], isNegated: false))]
      }
      return [.take(ExpressionParser.one(try ExpressionParser.literal(escaped)))]
    default: return [.take(ExpressionParser.one(scalar))]
    }
  }

  /// The part behind `(?`: only groups without effect on what matches.
  private mutating func groupKind() throws(ConfigError) {
    if skip(":") { return }
    _ = skip("P")
    guard skip("<"), let first = current, first != "=", first != "!" else {
      throw ConfigError(message: "of groups with (? only (?: and (?<name> are known")
    }
    while try next() != ">" {}
  }

  private mutating func repeated(
    _ piece: [NameExpression.Instruction]
  ) throws(ConfigError) -> [NameExpression.Instruction] {
    var piece = piece
    while let (least, most) = try count() {
      // Lazy operators match the same names.
      _ = skip("?")
      if current == "+" { throw ConfigError(message: "possessive operators are not known") }
      piece = try ExpressionParser.repetition(piece, least, most)
    }
    return piece
  }

  /// The bounds of an operator of repetition, if one stands here; no upper one is nil.
  private mutating func count() throws(ConfigError) -> (Int, Int?)? {
    if skip("*") { return (0, nil) }
    if skip("+") { return (1, nil) }
    if skip("?") { return (0, 1) }
    guard current == "{" else { return nil }
    let start = position
    position += 1
    let least = number()
    let hasComma = skip(",")
    let most = hasComma ? number() : least
    guard skip("}"), let least else {
      position = start
      throw ConfigError(message: "a { that is no count; \\{ is the character")
    }
    guard least <= ExpressionParser.maximumLength, most ?? 0 <= ExpressionParser.maximumLength,
      most.map({ $0 >= least }) ?? true
    else { throw ConfigError(message: "a count that is too large or falls") }
    return (least, most)
  }

  private mutating func number() -> Int? {
    let digits = scalars[position...].prefix { ("0"..."9").contains($0) }
    position += digits.count
    return digits.isEmpty ? nil : Int(String(String.UnicodeScalarView(digits))) ?? Int.max
  }

  private mutating func set() throws(ConfigError) -> NameExpression.Characters {
    let isNegated = skip("^")
    var ranges: [ClosedRange<UInt32>] = []
    var classes: [NameExpression.CharacterClass] = []
    var isFirst = true
    while isFirst || current != "]" {
      isFirst = false
      var scalar = try next()
      if scalar == "\\" {
        let escaped = try next()
        if let found = ExpressionParser.characterClass(escaped) {
          classes.append(found)
          continue
        }
        scalar = try ExpressionParser.literal(escaped)
      }
      var last = scalar
      if current == "-", position + 1 < scalars.count, scalars[position + 1] != "]" {
        position += 1
        last = try next()
        if last == "\\" { last = try ExpressionParser.literal(try next()) }
      }
      guard scalar <= last else {
        throw ConfigError(message: "\(scalar)-\(last) is no range")
      }
      ranges.append(scalar.value...last.value)
    }
    position += 1
    return .set(ranges, classes: classes, isNegated: isNegated)
  }

  private static func one(_ scalar: Unicode.Scalar) -> NameExpression.Characters {
    .set([scalar.value...scalar.value], classes: [], isNegated: false)
  }

  private static func characterClass(
    _ scalar: Unicode.Scalar
  ) -> NameExpression.CharacterClass? {
    let kinds: [Unicode.Scalar: NameExpression.CharacterClass.Kind] = [
      "d": .digit, "w": .word, "s": .space,
    ]
    if let kind = kinds[scalar] { return .init(kind: kind, isNegated: false) }
    let lower = scalar.properties.lowercaseMapping.unicodeScalars.first
    return lower.flatMap { kinds[$0] }.map { .init(kind: $0, isNegated: true) }
  }

  private static func literal(
    _ escaped: Unicode.Scalar
  ) throws(ConfigError) -> Unicode.Scalar {
    switch escaped {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    default: break
    }
    let isOperator =
      escaped.isASCII && (escaped.properties.isAlphabetic || ("0"..."9").contains(escaped))
    guard !isOperator else { throw ConfigError(message: "\\\(escaped) is not known") }
    return escaped
  }

  private static func repetition(
    _ piece: [NameExpression.Instruction], _ least: Int, _ most: Int?
  ) throws(ConfigError) -> [NameExpression.Instruction] {
    var result: [NameExpression.Instruction] = []
    func append(_ part: [NameExpression.Instruction]) throws(ConfigError) {
      result = try checked(result + moved(part, by: result.count))
    }
    for _ in 0..<least { try append(piece) }
    if let most {
      for _ in least..<most { try append([.fork(1, piece.count + 1)] + moved(piece, by: 1)) }
    } else {
      try append([.fork(1, piece.count + 2)] + moved(piece, by: 1) + [.jump(0)])
    }
    return result
  }

  /// Instructions whose targets count from `offset` places earlier.
  private static func moved(
    _ piece: [NameExpression.Instruction], by offset: Int
  ) -> [NameExpression.Instruction] {
    piece.map { instruction in
      switch instruction {
      case .fork(let first, let second): .fork(first + offset, second + offset)
      case .jump(let target): .jump(target + offset)
      case .take, .anchor, .found: instruction
      }
    }
  }

  private static func checked(
    _ piece: [NameExpression.Instruction]
  ) throws(ConfigError) -> [NameExpression.Instruction] {
    guard piece.count <= maximumLength else { throw ConfigError(message: "it is too large") }
    return piece
  }
}
