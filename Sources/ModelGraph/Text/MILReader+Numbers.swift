import ModelTensors

extension MILReader {
  /// A decimal number without a sign.
  mutating func unsigned(_ expected: String) throws(MILTextError) -> UInt64 {
    try skip()
    let start = at
    var value: UInt64 = 0
    while at < bytes.count, MILSyntax.isDigit(bytes[at]) {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(UInt64(bytes[at] - UInt8(ascii: "0")))
      if overflow || carry { throw error("a number is too great", at: start) }
      value = sum
      at += 1
    }
    if at == start { throw unexpected(expected) }
    if at < bytes.count,
      MILSyntax.continuesIdentifier(bytes[at]) || bytes[at] == UInt8(ascii: ".")
    {
      throw unexpected("the end of an integer")
    }
    return value
  }

  /// An integer that fits `type`, as the low bits of its pattern.
  mutating func integer(_ type: ElementType) throws(MILTextError) -> UInt64 {
    try skip()
    let start = at
    let isNegative = try accept("-")
    if !isNegative { _ = try accept("+") }
    let magnitude = try unsigned("an integer")
    if type == .uint64, !isNegative { return magnitude }
    let limit = UInt64(type.integerRange.upperBound)
    let isFitting =
      isNegative
      ? magnitude == 0 || type.isSignedInteger && magnitude <= limit + 1
      : magnitude <= limit
    guard isFitting else { throw error("the number is none of \(type.rawValue)", at: start) }
    return isNegative ? 0 &- magnitude : magnitude
  }

  /// The pattern of a float of this format, hexadecimal or decimal.
  mutating func float(
    _ format: FloatFormat, _ type: ElementType
  ) throws(MILTextError) -> UInt64 {
    try skip()
    let start = at
    var sign: UInt64 = 0
    if try accept("-") { sign = format.signBit } else { _ = try accept("+") }
    if try accept(word: "nan") { return sign | (try payload(format)) }
    var isInfinite = try accept(word: "inf")
    if !isInfinite { isInfinite = try accept(word: "infinity") }
    if isInfinite {
      if format.isFinite { throw error("\(type.rawValue) has no infinity", at: start) }
      return sign | format.limit
    }
    let isHexadecimal =
      at + 1 < bytes.count && bytes[at] == UInt8(ascii: "0") && bytes[at + 1] | 0x20 == 0x78
    let magnitude = isHexadecimal ? try hexadecimal(format) : try decimal(format)
    guard let magnitude else { throw error("the number is none of \(type.rawValue)", at: start) }
    if at < bytes.count, MILSyntax.continuesIdentifier(bytes[at]) {
      throw unexpected("the end of a number")
    }
    return sign | magnitude
  }

  /// The pattern in parentheses behind `nan`.
  private mutating func payload(_ format: FloatFormat) throws(MILTextError) -> UInt64 {
    guard try accept("(") else { return format.quietNaN }
    let start = at
    guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "0"), bytes[at + 1] | 0x20 == 0x78
    else { throw unexpected("a pattern of NaN") }
    at += 2
    var value: UInt64 = 0
    while at < bytes.count, at - start <= 18, let digit = Self.hexadecimalValue(bytes[at]) {
      value = value << 4 | UInt64(digit)
      at += 1
    }
    guard value & ~(format.signBit - 1) == 0, format.classify(value) == .nan else {
      throw error("the pattern is no NaN", at: start)
    }
    try expect(")")
    return value
  }

  private mutating func hexadecimal(_ format: FloatFormat) throws(MILTextError) -> UInt64? {
    at += 2
    var mantissa: UInt64 = 0
    var exponent = 0
    var isInexact = false
    var isFraction = false
    var digits = 0
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "."), !isFraction {
        isFraction = true
      } else if let digit = Self.hexadecimalValue(bytes[at]) {
        digits += 1
        if mantissa >> 60 == 0 {
          mantissa = mantissa << 4 | UInt64(digit)
          if isFraction { exponent -= 4 }
        } else {
          isInexact = isInexact || digit != 0
          if !isFraction { exponent += 4 }
        }
      } else {
        break
      }
      at += 1
    }
    if digits == 0 { throw unexpected("a hexadecimal digit") }
    if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "p") {
      at += 1
      exponent += try self.exponent()
    }
    return format.bits(mantissa: mantissa, exponent: exponent, isInexact: isInexact)
  }

  /// A decimal exponent; far beyond all formats it stays where it is.
  private mutating func exponent() throws(MILTextError) -> Int {
    var isNegative = false
    if at < bytes.count, bytes[at] == UInt8(ascii: "-") || bytes[at] == UInt8(ascii: "+") {
      isNegative = bytes[at] == UInt8(ascii: "-")
      at += 1
    }
    guard at < bytes.count, MILSyntax.isDigit(bytes[at]) else { throw unexpected("an exponent") }
    var value = 0
    while at < bytes.count, MILSyntax.isDigit(bytes[at]) {
      if value < 1 << 40 { value = value * 10 + Int(bytes[at] - UInt8(ascii: "0")) }
      at += 1
    }
    return isNegative ? -value : value
  }

  private mutating func decimal(_ format: FloatFormat) throws(MILTextError) -> UInt64? {
    let start = at
    func isPart(_ index: Int) -> Bool {
      switch bytes[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"),
        UInt8(ascii: "E"):
        true
      case UInt8(ascii: "-"), UInt8(ascii: "+"):
        index > start && bytes[index - 1] | 0x20 == UInt8(ascii: "e")
      default: false
      }
    }
    while at < bytes.count, at - start <= 1000, isPart(at) { at += 1 }
    if at == start { throw unexpected("a number") }
    if at - start > 1000 { throw error("a number of more than 1000 digits", at: start) }
    let text = String(decoding: bytes[start..<at], as: UTF8.self)
    if format.mantissaBits == FloatFormat.single.mantissaBits {
      guard let value = Float(text) else { throw error("not a number", at: start) }
      return value.isFinite ? UInt64(value.bitPattern) : nil
    }
    guard let value = Double(text) else { throw error("not a number", at: start) }
    return value.isFinite ? format.bits(value) : nil
  }
}
