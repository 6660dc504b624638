import ModelTensors
import Testing

@testable import ModelCompression

/// The search of small groups against all scales and zero points.
@Suite struct LaneSearchTests {
  /// Contiguous groups, columns, and several values of each of many rows.
  static let shapes: [(shape: [Int], scales: [Int])] = [
    ([40, 32], [40, 2]), ([32, 40], [2, 40]), ([16, 20, 3], [1, 20, 1]), ([5, 48, 2], [5, 3, 1]),
  ]

  /// The least squared error of a group over finely spaced scales with all zero points.
  static func least(_ values: [Double], _ scheme: AffineScheme) -> Double {
    let low = min(values.min() ?? 0, 0)
    let high = max(values.max() ?? 0, 0)
    let range = scheme.range
    let steps = Double(range.upperBound - range.lowerBound)
    let full = scheme.mode == .affine ? (high - low) / steps : 2 * max(-low, high) / steps
    let zeros = scheme.mode == .affine ? Array(range) : [scheme.symmetricZero]
    var best = Double.infinity
    for share in stride(from: 0.4, through: 1.3, by: 0.002) {
      for zero in zeros {
        let codes = scheme.codes
        var error = 0.0
        for value in values {
          let code = (value / (full * share)).rounded(.toNearestOrEven)
          let bounded = min(
            max(code, Double(codes.lowerBound - zero)), Double(codes.upperBound - zero))
          error += (value - bounded * full * share) * (value - bounded * full * share)
          if error >= best { break }
        }
        best = min(best, error)
      }
    }
    return best
  }

  @Test(arguments: [true, false]) func nearTheLeastError(half: Bool) throws {
    var random = Random(61)
    for (shape, scales) in LaneSearchTests.shapes {
      let count = shape.reduce(1, *)
      let sample = try Sample(
        (0..<count).map { _ in random.normal() * 0.05 }, shape: shape, half: half)
      let layout = try #require(GroupLayout(shape: shape, scaleShape: scales))
      var groups = [[Double]](repeating: [], count: layout.groupCount)
      for (index, value) in sample.values.enumerated() {
        groups[layout.group(of: index)].append(value)
      }
      for signed in [true, false] {
        for mode in [AffineScheme.Mode.symmetric, .affine] {
          let scheme = AffineScheme(bits: 4, signed: signed, mode: mode, search: .mse)
          let encoded = try #require(
            try AffineQuantizerTests.encode(sample.tensor, layout, scheme))
          let found = try AffineQuantizerTests.check(encoded, sample, layout, scheme)
            .reduce(0, +)
          let least = groups.map { LaneSearchTests.least($0, scheme) }.reduce(0, +)
          #expect(found < least * 1.01)
        }
      }
    }
  }

  @Test(arguments: AffineQuantizerTests.schemes.filter { $0.search == .mse })
  func sameOnAllLevelsAndNeverWorse(scheme: AffineScheme) throws {
    var random = Random(62)
    for (shape, scales) in LaneSearchTests.shapes {
      for factor in [1, 1e-7, 3e4] {
        let count = shape.reduce(1, *)
        let sample = try Sample(
          (0..<count).map { _ in min(max(random.normal(), -2), 2) * factor }, shape: shape,
          half: true)
        let layout = try #require(GroupLayout(shape: shape, scaleShape: scales))
        let best = try #require(try AffineQuantizerTests.encode(sample.tensor, layout, scheme))
        for level in KernelLevel.available {
          #expect(
            try AffineQuantizerTests.encode(sample.tensor, layout, scheme, level: level) == best)
        }
        let plain = try #require(
          try AffineQuantizerTests.encode(
            sample.tensor, layout,
            AffineScheme(bits: scheme.bits, signed: scheme.signed, mode: scheme.mode)))
        #expect(best.sums.error <= plain.sums.error * 1.00001)
      }
    }
  }
}
