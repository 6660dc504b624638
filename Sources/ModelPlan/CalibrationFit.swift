#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Fits the parameters of the cost model to published latencies.
///
/// The sum of |log(estimate / published)|^1.5 is least, with a weak pull towards the first guess, which
/// keeps parameters that the data does not tell apart where physics puts them. Nelder and Mead's
/// simplex (1965) needs no derivatives.
public struct CalibrationFit: Sendable {
  /// A published latency with the plan's inputs.
  public struct Sample: Sendable {
    /// The model's name; rows of one model are left out together.
    public var name: String
    /// The published latency in milliseconds.
    public var published: Double
    /// The estimate for parameters.
    public var estimate: @Sendable (Calibration) -> Double

    /// A sample.
    public init(
      name: String, published: Double, estimate: @escaping @Sendable (Calibration) -> Double
    ) {
      self.name = name
      self.published = published
      self.estimate = estimate
    }
  }

  /// The first guess.
  public var start: Calibration

  /// A fit that starts from a guess.
  public init(start: Calibration) { self.start = start }

  /// The parameters of least error.
  public func fit(_ samples: [Sample]) -> Calibration {
    let origin = CalibrationFit.logarithms(start)
    func loss(_ point: [Double]) -> Double {
      let calibration = CalibrationFit.calibration(point, start)
      var sum = 0.0
      for sample in samples {
        sum += pow(abs(log(sample.estimate(calibration) / sample.published)), 1.5)
      }
      for ((value, first), pull) in zip(zip(point, origin), CalibrationFit.pulls) {
        sum += pull * (value - first) * (value - first)
      }
      // No unit computes faster than it is marketed: half as many multiply-adds as operations.
      sum += 100 * max(0, calibration.productsPerTops / 0.5e12 - 1)
      return sum
    }
    var best = (point: origin, loss: loss(origin))
    for scale in [0.3, -0.5, 0.8] {
      let found = Simplex(around: best.point, scale: scale).minimum(loss)
      if found.loss < best.loss { best = found }
    }
    return CalibrationFit.calibration(best.point, start)
  }

  /// How strongly each parameter is held at its first guess: the rate of multiply-adds, which timings of
  /// single operations tell, more than the others.
  private static let pulls = [0.3, 0.02, 0.5, 0.02, 0.02, 0.05]

  private static func logarithms(_ calibration: Calibration) -> [Double] {
    [
      calibration.productsPerTops, calibration.activationBytesPerTops, calibration.weightShare,
      calibration.operationMs, calibration.dispatchMs, calibration.fullChannels,
    ].map { log($0) }
  }

  private static func calibration(_ point: [Double], _ base: Calibration) -> Calibration {
    var calibration = base
    calibration.productsPerTops = exp(point[0])
    calibration.activationBytesPerTops = exp(point[1])
    calibration.weightShare = exp(point[2])
    calibration.operationMs = exp(point[3])
    calibration.dispatchMs = exp(point[4])
    calibration.fullChannels = exp(point[5])
    return calibration
  }

  /// Each sample's estimate by parameters fitted without its model.
  public func leaveOneOut(_ samples: [Sample]) -> [Double] {
    samples.map { sample in
      sample.estimate(fit(samples.filter { $0.name != sample.name }))
    }
  }

  /// The rank correlation of two lists, ties by their mean rank (Spearman 1904).
  public static func rankCorrelation(_ left: [Double], _ right: [Double]) -> Double {
    let (one, two) = (ranks(left), ranks(right))
    let mean = Double(one.count + 1) / 2
    var (product, first, second) = (0.0, 0.0, 0.0)
    for (a, b) in zip(one, two) {
      product += (a - mean) * (b - mean)
      first += (a - mean) * (a - mean)
      second += (b - mean) * (b - mean)
    }
    return product / (first * second).squareRoot()
  }

  private static func ranks(_ values: [Double]) -> [Double] {
    values.map { value in
      let below = values.count { $0 < value }
      let equal = values.count { $0 == value }
      return Double(below) + Double(equal + 1) / 2
    }
  }
}

/// The simplex of Nelder and Mead.
private struct Simplex {
  private var points: [[Double]]

  init(around point: [Double], scale: Double) {
    points = [point]
    for index in point.indices {
      var other = point
      other[index] += scale
      points.append(other)
    }
  }

  func minimum(_ loss: ([Double]) -> Double) -> (point: [Double], loss: Double) {
    var corners = points.map { (point: $0, loss: loss($0)) }
    let count = corners.count - 1
    for _ in 0..<600 {
      corners.sort { $0.loss < $1.loss }
      if corners[count].loss - corners[0].loss < 1e-7 { break }
      let worst = corners[count]
      let center = worst.point.indices.map { axis in
        corners[..<count].reduce(0) { $0 + $1.point[axis] } / Double(count)
      }
      func along(_ factor: Double) -> (point: [Double], loss: Double) {
        let point = zip(center, worst.point).map { $0 + factor * ($1 - $0) }
        return (point, loss(point))
      }
      let reflected = along(-1)
      if reflected.loss < corners[0].loss {
        let expanded = along(-2)
        corners[count] = expanded.loss < reflected.loss ? expanded : reflected
      } else if reflected.loss < corners[count - 1].loss {
        corners[count] = reflected
      } else {
        let contracted = along(reflected.loss < worst.loss ? -0.5 : 0.5)
        if contracted.loss < min(worst.loss, reflected.loss) {
          corners[count] = contracted
        } else {
          for index in 1...count {
            let point = zip(corners[0].point, corners[index].point).map { $0 + 0.5 * ($1 - $0) }
            corners[index] = (point, loss(point))
          }
        }
      }
    }
    return corners.min { $0.loss < $1.loss } ?? corners[0]
  }
}
