import ModelTensors

/// How weights become integer codes: w ≈ scale·(code − zero point).
public struct AffineScheme: Sendable, Hashable {
  /// What the codes of a group span.
  public enum Mode: Sendable, Hashable {
    /// A range around zero; signed codes have no zero point.
    case symmetric
    /// The range from min(0, least) to max(0, greatest), with a zero point.
    case affine
  }

  /// How far the scale is searched.
  public enum Search: Sendable, Hashable {
    /// The representable scales beside the one of the full range.
    case none
    /// Clipped ranges and least-squares refinements too; for symmetric int4 the code −8 too.
    case mse
  }

  /// Bits of a code: 8 or 4.
  public let bits: Int
  /// Whether codes are signed.
  public let signed: Bool
  /// What the codes of a group span.
  public let mode: Mode
  /// How far the scale is searched.
  public let search: Search

  /// - Parameter bits: 4 for half-byte codes, else 8.
  public init(bits: Int = 8, signed: Bool = true, mode: Mode = .symmetric, search: Search = .none) {
    self.bits = bits == 4 ? 4 : 8
    self.signed = signed
    self.mode = mode
    self.search = search
  }

  /// The type of the codes.
  public var codeType: ElementType {
    switch (bits, signed) {
    case (4, true): .int4
    case (4, false): .uint4
    case (_, true): .int8
    default: .uint8
    }
  }

  /// Whether a zero point is stored.
  public var hasOffset: Bool { mode == .affine || !signed }

  /// The codes that min/max ranges use.
  var range: ClosedRange<Int> {
    let half = 1 << (bits - 1)
    switch (mode, signed) {
    case (.symmetric, true): return (1 - half)...(half - 1)
    case (.symmetric, false): return 0...(2 * half - 2)
    case (.affine, true): return -half...(half - 1)
    case (.affine, false): return 0...(2 * half - 1)
    }
  }

  /// The codes that may be stored.
  var codes: ClosedRange<Int> {
    search == .mse && mode == .symmetric && signed && bits == 4 ? -8...7 : range
  }

  /// The zero point of symmetric schemes.
  var symmetricZero: Int { signed ? 0 : range.upperBound / 2 }
}
