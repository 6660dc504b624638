import ModelTensors

/// A binary floating-point format, its C99 hexadecimal text and back.
struct FloatFormat {
  let exponentBits: Int
  let mantissaBits: Int
  /// Whether the greatest exponent holds numbers, all but the last of its patterns.
  let isFinite: Bool

  init?(_ type: ElementType) {
    switch type {
    case .float16: self = .half
    case .float32: self = .single
    case .float64: self = .double
    case .bfloat16: self.init(exponentBits: 8, mantissaBits: 7)
    case .float8E5M2: self.init(exponentBits: 5, mantissaBits: 2)
    case .float8E4M3FN: self.init(exponentBits: 4, mantissaBits: 3, isFinite: true)
    default: return nil
    }
  }

  private init(exponentBits: Int, mantissaBits: Int, isFinite: Bool = false) {
    self.exponentBits = exponentBits
    self.mantissaBits = mantissaBits
    self.isFinite = isFinite
  }

  static let half = FloatFormat(exponentBits: 5, mantissaBits: 10)
  static let single = FloatFormat(exponentBits: 8, mantissaBits: 23)
  static let double = FloatFormat(exponentBits: 11, mantissaBits: 52)

  var bitWidth: Int { 1 + exponentBits + mantissaBits }
  var signBit: UInt64 { 1 << UInt64(bitWidth - 1) }
  /// The exponent of the least normal number.
  private var leastExponent: Int { 2 - (1 << (exponentBits - 1)) }

  /// The pattern of infinity, or the first one beyond the numbers.
  var limit: UInt64 {
    isFinite ? signBit - 1 : ((1 << UInt64(exponentBits)) - 1) << UInt64(mantissaBits)
  }

  /// The pattern that is written as `nan`.
  var quietNaN: UInt64 {
    isFinite ? limit : limit | 1 << UInt64(mantissaBits - 1)
  }

  /// What a pattern stands for.
  enum Class {
    case number
    case infinity
    case nan
  }

  func classify(_ bits: UInt64) -> Class {
    let magnitude = bits & (signBit - 1)
    if magnitude < limit { return .number }
    return magnitude == limit && !isFinite ? .infinity : .nan
  }

  /// Appends the text of a number: shortest mantissa, subnormals normalised.
  func append(_ bits: UInt64, to buffer: inout [UInt8]) {
    let magnitude = bits & (signBit - 1)
    if bits & signBit != 0 { buffer.append(UInt8(ascii: "-")) }
    buffer.append(UInt8(ascii: "0"))
    buffer.append(UInt8(ascii: "x"))
    guard magnitude != 0 else {
      buffer.append(contentsOf: "0p+0".utf8)
      return
    }
    var fraction = magnitude & ((1 << UInt64(mantissaBits)) - 1)
    let biased = Int(magnitude >> UInt64(mantissaBits))
    var exponent = leastExponent + max(biased, 1) - 1
    if biased == 0 {
      let shift = fraction.leadingZeroBitCount - (63 - mantissaBits)
      fraction = (fraction << UInt64(shift)) & ((1 << UInt64(mantissaBits)) - 1)
      exponent -= shift
    }
    buffer.append(UInt8(ascii: "1"))
    if fraction != 0 {
      buffer.append(UInt8(ascii: "."))
      fraction <<= UInt64(64 - mantissaBits)
      while fraction != 0 {
        buffer.append(hexadecimalDigit(UInt8(fraction >> 60)))
        fraction <<= 4
      }
    }
    buffer.append(UInt8(ascii: "p"))
    buffer.append(exponent < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
    appendDecimal(UInt64(exponent.magnitude), to: &buffer)
  }

  /// The pattern nearest to `mantissa` · 2^`exponent`, ties to even, without its sign; nil beyond
  /// the range.
  ///
  /// - Parameter isInexact: Whether the number is a little greater than that.
  func bits(mantissa: UInt64, exponent: Int, isInexact: Bool) -> UInt64? {
    guard mantissa != 0 else { return 0 }
    let top = 63 - mantissa.leadingZeroBitCount + exponent
    if top > 1 << exponentBits { return nil }
    let scale = max(top, leastExponent)
    let shift = scale - mantissaBits - exponent
    var quotient: UInt64
    if shift <= 0 {
      quotient = mantissa << UInt64(-shift)
    } else if shift > 64 {
      quotient = 0
    } else {
      quotient = shift == 64 ? 0 : mantissa >> UInt64(shift)
      let half: UInt64 = 1 << UInt64(shift - 1)
      let isAbove = mantissa & (half - 1) != 0 || isInexact
      if mantissa & half != 0, isAbove || quotient & 1 == 1 { quotient += 1 }
    }
    let bits = (UInt64(scale - leastExponent) << UInt64(mantissaBits)) + quotient
    return bits < limit ? bits : nil
  }

  /// The pattern nearest to a finite number, its sign included; nil beyond the range.
  func bits(_ value: Double) -> UInt64? {
    let sign = value.sign == .minus ? signBit : 0
    let pattern = value.magnitude.bitPattern
    let biased = Int(pattern >> 52)
    let fraction = pattern & ((1 << 52) - 1)
    let mantissa = biased == 0 ? fraction : fraction | 1 << 52
    return bits(mantissa: mantissa, exponent: max(biased, 1) - 1075, isInexact: false).map {
      $0 | sign
    }
  }
}

/// The digit of 0…15 in lower case.
func hexadecimalDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
}

/// Appends a number in decimal.
func appendDecimal(_ value: UInt64, to buffer: inout [UInt8]) {
  if value < 10 {
    buffer.append(UInt8(ascii: "0") + UInt8(value))
    return
  }
  let start = buffer.count
  var rest = value
  while rest > 0 {
    buffer.append(UInt8(ascii: "0") + UInt8(rest % 10))
    rest /= 10
  }
  buffer[start...].reverse()
}
