import ModelCompression
import ModelTensors
import TestSupport
import Testing

/// Linear codes of odd channels.
@Suite struct LinearCodingTests {
  private func coded(
    _ values: [Float], channels: Int = 1, _ scheme: LinearScheme = LinearScheme()
  ) throws -> LinearCoding {
    let layout = ChannelLayout(shape: [channels, values.count / channels], axis: 0)
    let outcome = try LinearCoding.code(
      values, layout: layout, scheme: scheme, parallel: Parallel(threads: 2))
    guard case .coded(let coding) = outcome else { throw TestFileError("\(outcome)") }
    return coding
  }

  /// The values that Core ML decodes.
  private func decoded(_ coding: LinearCoding, bits: Int, count: Int) -> [Float] {
    var codes = [UInt8](repeating: 0, count: count)
    coding.codes.withUnsafeBytes { bytes in
      codes.withUnsafeMutableBufferPointer {
        HighFirstPacking.unpack(bytes, bits: bits, into: $0)
      }
    }
    let inner = count / max(1, coding.scales.count)
    return codes.enumerated().map { index, code in
      coding.scales[index / inner] * Float(code) + coding.biases[index / inner]
    }
  }

  private static let schemes: [LinearScheme] = (1...8).flatMap { bits in
    [LinearScheme(bits: bits), LinearScheme(bits: bits, search: .mse)]
  }

  @Test(arguments: schemes) func constantChannelsAreExact(_ scheme: LinearScheme) throws {
    for value: Float in [
      0, -0.0, 1, -3.5e-12, Float(bitPattern: 71362), .greatestFiniteMagnitude, 65504,
    ] {
      let values = [Float](repeating: value, count: 9)
      let coding = try coded(values, scheme)
      #expect(decoded(coding, bits: scheme.bits, count: 9) == values)
      #expect(coding.sums.error == 0)
    }
  }

  @Test(arguments: schemes) func twoValuesAreExact(_ scheme: LinearScheme) throws {
    // Neighbours, tiny values, denormals.
    for (low, high): (Float, Float) in [
      (1, Float(1).nextUp), (-1e-9, 1e-9), (0, .leastNonzeroMagnitude),
      (-Float(bitPattern: 700), Float(bitPattern: 1400)),
      (1000, Float(1000).nextUp.nextUp), (-7, 9),
    ] {
      let values = [low, high, high, low, low]
      let coding = try coded(values, scheme)
      let result = decoded(coding, bits: scheme.bits, count: 5)
      for (value, decoded) in zip(values, result) {
        // Scales that are denormal have few digits.
        let step = Float(1 << scheme.bits) * .leastNonzeroMagnitude
        #expect(abs(value - decoded) <= max((high - low) * 1e-6, step), "\(low) \(high)")
      }
    }
  }

  @Test func tinyRangesKeepTheirSteps() throws {
    // coremltools leaves channels whose scale is below 1e-6 without codes.
    let values = (0..<256).map { Float(1e-10) * Float($0) }
    #expect(try coded(values).sums.snr ?? 999 > 120)
    let denormals = (0..<200).map { Float(bitPattern: $0) }
    #expect(try coded(denormals).sums.error == 0)
  }

  @Test func symmetricZeroIsZero() throws {
    let values: [Float] = [-0.7, 0, 0.3, 1.9, -1.9, 0]
    let coding = try coded(values, LinearScheme(isSymmetric: true))
    #expect(coding.codes[1] == 128 && coding.codes[5] == 128)
    #expect(coding.codes[3] == 255 && coding.codes[4] == 1)
    #expect(coding.biases == [-128 * coding.scales[0]])
    #expect(decoded(coding, bits: 8, count: 6)[1] == 0)
    let zeros = try coded([0, 0, 0], LinearScheme(isSymmetric: true))
    #expect(zeros.sums.error == 0)
    let constant = try coded([-2, -2, -2], LinearScheme(isSymmetric: true))
    #expect(decoded(constant, bits: 8, count: 3).allSatisfy { abs($0 + 2) < 1e-6 })
  }

  @Test func rangesBeyondSinglesAreRefused() throws {
    let great = Float.greatestFiniteMagnitude
    let layout = ChannelLayout(shape: [2], axis: nil)
    for scheme in [LinearScheme(bits: 1), LinearScheme(bits: 8)] {
      guard
        case .refused = try LinearCoding.code(
          [-great, great], layout: layout, scheme: scheme, parallel: Parallel(threads: 1))
      else {
        Issue.record("a range of twice the greatest number")
        continue
      }
    }
  }

  @Test func channelsOfTheSecondAxis() throws {
    // [2, 3, 2]: channel c holds values around 10^c.
    let values: [Float] = [1, 1.5, 10, 15, 100, 150, 1.25, 1, 12, 11, 120, 110]
    let outcome = try LinearCoding.code(
      values, layout: ChannelLayout(shape: [2, 3, 2], axis: 1), scheme: LinearScheme(bits: 8),
      parallel: Parallel(threads: 2))
    guard case .coded(let coding) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(coding.biases == [1, 10, 100])
    #expect(zip(coding.scales, [0.5, 5, 50]).allSatisfy { abs($0 * 255 - $1) < 1e-4 })
    #expect(coding.codes[0] == 0 && coding.codes[1] == 255 && coding.codes[5] == 255)
  }

  @Test func nothingToCode() throws {
    let empty = try coded([])
    #expect(empty.codes.isEmpty)
    guard
      case .coded(let table) = try TableCoding.code(
        [2, 2, 2], bits: 1, entries: .uniform, parallel: Parallel(threads: 1))
    else {
      Issue.record("a constant has a table")
      return
    }
    #expect(table.table == [2, 2])
    #expect(table.sums.error == 0)
  }
}
