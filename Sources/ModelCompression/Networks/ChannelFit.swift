/// Sums over the values of a channel and the codes that they take.
struct LinearSums {
  var count = 0.0
  var code = 0.0
  var codeSquare = 0.0
  var value = 0.0
  var product = 0.0
  /// Σ(w−ŵ)².
  var error = 0.0
}

/// The choice of scale and bias for one channel.
struct ChannelFit {
  let values: UnsafePointer<Float>
  let layout: ChannelLayout
  let channel: Int
  let scheme: LinearScheme

  /// Rounds to an integer, ties to even, numbers of magnitude below 2^51.
  private static let rounder = 0x1.8p52

  /// The parameters of least error among those that the scheme looks at; nil when the range is
  /// beyond fp32.
  func best(least: Float, greatest: Float) -> LinearParameters? {
    if least == greatest, !scheme.isSymmetric || least == 0 {
      return LinearParameters(scale: 0, bias: least + 0)
    }
    var best: (parameters: LinearParameters, error: Double)?
    func consider(_ parameters: LinearParameters) -> LinearSums? {
      guard parameters.scale > 0, parameters.isFinite(scheme.codes) else { return nil }
      let sums = sums(parameters)
      if best.map({ sums.error < $0.error }) ?? true { best = (parameters, sums.error) }
      return sums
    }
    for parameters in neighbours(full(least, greatest)) { _ = consider(parameters) }
    if scheme.search == .mse {
      for share in shares {
        var parameters = full(least, greatest, share: share)
        var last = Double.infinity
        // Each step is the least-squares line through the codes of the step before.
        for _ in 0..<Self.steps {
          guard let sums = consider(parameters), sums.error < last else { break }
          last = sums.error
          guard let next = refined(sums) else { break }
          parameters = next
        }
      }
    }
    return best?.parameters
  }

  private static let steps = 12

  /// Shares of the full range where a search starts.
  private var shares: [Double] {
    switch scheme.bits {
    case 1: [0.5, 0.6, 0.75]
    case 2: [1, 0.8, 0.6, 0.5]
    case 3...4: [1, 0.9, 0.8, 0.7, 0.6]
    default: [1, 0.95, 0.9]
    }
  }

  /// Scale and bias of a share of the range, before rounding.
  private func full(
    _ least: Float, _ greatest: Float, share: Double = 1
  ) -> LinearParameters {
    let (least, greatest) = (Double(least), Double(greatest))
    if scheme.isSymmetric {
      let peak = max(abs(least), abs(greatest)) * share
      return symmetric(Float(peak / Double(max(1, scheme.middle - 1))))
    }
    let middle = least / 2 + greatest / 2
    let low = middle + (least - middle) * share
    let range = (greatest - least) * share
    let scale = Float(range / Double((1 << scheme.bits) - 1))
    return LinearParameters(
      scale: max(scale, .leastNonzeroMagnitude), bias: share == 1 ? Float(least) : Float(low))
  }

  private func symmetric(_ scale: Float) -> LinearParameters {
    let scale = max(scale, .leastNonzeroMagnitude)
    return LinearParameters(scale: scale, bias: -Float(scheme.middle) * scale)
  }

  private func neighbours(_ parameters: LinearParameters) -> [LinearParameters] {
    guard parameters.scale.isFinite else { return [] }
    let scales = [parameters.scale, parameters.scale.nextUp, parameters.scale.nextDown]
    return scales.map {
      scheme.isSymmetric ? symmetric($0) : LinearParameters(scale: $0, bias: parameters.bias)
    }
  }

  /// The line of least squares for the codes that were taken.
  private func refined(_ sums: LinearSums) -> LinearParameters? {
    if scheme.isSymmetric {
      let middle = Double(scheme.middle)
      let square =
        sums.codeSquare - 2 * middle * sums.code + middle * middle * sums.count
      return square > 0 ? symmetric(Float((sums.product - middle * sums.value) / square)) : nil
    }
    let spread = sums.codeSquare - sums.code * sums.code / sums.count
    guard spread > 0 else { return nil }
    let scale = Float((sums.product - sums.code * sums.value / sums.count) / spread)
    let bias = Float((sums.value - Double(scale) * sums.code) / sums.count)
    return LinearParameters(scale: scale, bias: bias)
  }

  private func sums(_ parameters: LinearParameters) -> LinearSums {
    var sums = LinearSums()
    forEach(parameters) { value, code, _ in
      let error = Double(value) - Double(parameters.decoded(Float(code)))
      sums.error += error * error
      sums.code += code
      sums.codeSquare += code * code
      sums.value += Double(value)
      sums.product += Double(value) * code
      sums.count += 1
    }
    return sums
  }

  /// Writes the codes of the channel and returns its error.
  func encode(
    _ parameters: LinearParameters, into codes: UnsafeMutablePointer<UInt8>
  ) -> ErrorSums {
    var sums = ErrorSums()
    forEach(parameters) { value, code, index in
      codes[index] = UInt8(code)
      sums.add(Double(value), decoded: Double(parameters.decoded(Float(code))))
    }
    return sums
  }

  /// Calls `body` with every value, its code and its place.
  @inline(__always)
  private func forEach(
    _ parameters: LinearParameters, _ body: (_ value: Float, _ code: Double, _ index: Int) -> Void
  ) {
    let bias = Double(parameters.bias)
    let inverse = parameters.scale > 0 ? 1 / Double(parameters.scale) : 0
    let low = Double(scheme.codes.lowerBound)
    let high = Double(scheme.codes.upperBound)
    for run in layout.runs(channel) {
      for index in run {
        let value = values[index]
        let exact = min(max((Double(value) - bias) * inverse, low), high)
        body(value, (exact + Self.rounder) - Self.rounder, index)
      }
    }
  }
}
