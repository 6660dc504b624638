#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Sums over the elements of a weight w and of ŵ, what it decodes to; those of several parts add.
public struct ErrorSums: Sendable, Hashable {
  /// How many elements were compared.
  public var count: Int
  /// Σw².
  public var signal: Double
  /// Σ(w−ŵ)².
  public var error: Double
  /// The greatest |w|.
  public var peak: Double
  /// The greatest |w−ŵ|.
  public var maxAbsError: Double

  /// Sums of nothing, or the given ones.
  public init(
    count: Int = 0, signal: Double = 0, error: Double = 0, peak: Double = 0, maxAbsError: Double = 0
  ) {
    self.count = count
    self.signal = signal
    self.error = error
    self.peak = peak
    self.maxAbsError = maxAbsError
  }

  /// Adds the sums of other elements.
  public static func += (sums: inout ErrorSums, other: ErrorSums) {
    sums.count += other.count
    sums.signal += other.signal
    sums.error += other.error
    sums.peak = max(sums.peak, other.peak)
    sums.maxAbsError = max(sums.maxAbsError, other.maxAbsError)
  }

  /// Adds one element.
  public mutating func add(_ value: Double, decoded: Double) {
    count += 1
    signal += value * value
    error += (value - decoded) * (value - decoded)
    peak = max(peak, abs(value))
    maxAbsError = max(maxAbsError, abs(value - decoded))
  }

  /// Signal to noise in dB, 10·log10(Σw²/Σ(w−ŵ)²); nil when the error or the signal is zero.
  public var snr: Double? {
    error > 0 && signal > 0 ? 10 * log10(signal / error) : nil
  }

  /// Peak signal to noise in dB, 10·log10(N·max|w|²/Σ(w−ŵ)²); nil when the error or peak is zero.
  public var psnr: Double? {
    error > 0 && peak > 0 ? 10 * log10(Double(count) * peak * peak / error) : nil
  }
}
