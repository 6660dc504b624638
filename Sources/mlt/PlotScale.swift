#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An axis of a plot: values to places, evenly or by their logarithm.
struct PlotScale {
  var low: Double
  var high: Double
  /// The place of `low` and of `high`.
  var places: (Double, Double)
  var isLogarithmic = false

  func place(_ value: Double) -> Double {
    let transform = { (value: Double) in isLogarithmic ? log10(max(value, 1e-300)) : value }
    let (first, last) = (transform(low), transform(high))
    let share = last > first ? (transform(value) - first) / (last - first) : 0
    return places.0 + min(max(share, 0), 1) * (places.1 - places.0)
  }

  /// The powers of ten on a logarithmic axis, every second one where there are many.
  var decades: [Double] {
    let (first, last) = (Int(log10(low).rounded(.up)), Int(log10(high).rounded(.down)))
    guard first <= last else { return [] }
    let step = last - first > 6 ? 2 : 1
    return stride(from: first, through: last, by: step).map { pow(10, Double($0)) }
  }

  /// The power of ten at or below a value, or at or above it.
  static func decade(_ value: Double, _ rounding: FloatingPointRoundingRule) -> Double {
    pow(10, log10(max(value, 1e-300)).rounded(rounding))
  }

  /// Round values between two bounds, about `count` of them.
  static func steps(from low: Double, to high: Double, count: Int) -> [Double] {
    let raw = (high - low) / Double(max(count, 1))
    guard raw > 0, raw.isFinite else { return [] }
    let power = decade(raw, .down)
    let step = ([1, 2, 5, 10].first { $0 * power >= raw } ?? 10) * power
    let first = Int((low / step).rounded(.up))
    let last = Int((high / step + 1e-9).rounded(.down))
    return first <= last ? (first...last).map { Double($0) * step } : []
  }
}
