/// How weights of a neural network become linear codes: w ≈ scale·code + bias, codes 0…2ⁿ−1.
public struct LinearScheme: Sendable, Hashable {
  /// Bits of a code, 1…8.
  public let bits: Int
  /// Whether the range lies around zero, bias = −128·scale at 8 bits; else it goes from the least
  /// to the greatest value.
  public let isSymmetric: Bool
  /// How far scale and bias are searched.
  public let search: AffineScheme.Search

  /// - Parameter bits: Clamped to 1…8.
  public init(bits: Int = 8, isSymmetric: Bool = false, search: AffineScheme.Search = .none) {
    self.bits = min(max(bits, 1), 8)
    self.isSymmetric = isSymmetric
    self.search = search
  }

  /// The code of zero in a symmetric scheme.
  var middle: Int { 1 << (bits - 1) }

  /// The codes that may be stored; a symmetric range has as many below zero as above.
  var codes: ClosedRange<Int> {
    let all = 0...((1 << bits) - 1)
    return isSymmetric && search == .none && bits > 1 ? 1...all.upperBound : all
  }
}

/// A scale with a bias as they are stored.
struct LinearParameters: Sendable, Hashable {
  var scale: Float
  var bias: Float

  /// The value of a code as Core ML decodes it.
  func decoded(_ code: Float) -> Float { scale * code + bias }

  /// Whether all codes of the range decode to finite values.
  func isFinite(_ codes: ClosedRange<Int>) -> Bool {
    scale.isFinite && bias.isFinite && decoded(Float(codes.lowerBound)).isFinite
      && decoded(Float(codes.upperBound)).isFinite
  }
}
