import CKernels
import ModelTensors
import Testing

@testable import ModelCompression

/// Every kernel on every level against plain scalar code; all levels must give the same bits.
@Suite struct KernelTests {
  static func halves(_ count: Int, _ random: inout Random) -> [UInt16] {
    let scale = [1e-7, 1e-4, 0.02, 1, 300, 20000][random.below(6)]
    return (0..<count).map { _ in
      random.below(12) == 0
        ? UInt16(random.below(2)) << 15 : HalfFloat.bits(random.normal() * scale / 3)
    }
  }

  @Test func halvesWidenAndNarrow() {
    let all = (0...UInt16.max).map { $0 }
    let expected = all.map { HalfFloat.float($0) }
    for level in KernelLevel.available {
      var wide = [Float](repeating: 0, count: all.count)
      mlt_widen_half(level.rawValue, all, all.count, &wide)
      for index in all.indices {
        if expected[index].isNaN {
          #expect(wide[index].isNaN)
        } else if expected[index].bitPattern != wide[index].bitPattern {
          Issue.record("\(level): \(all[index])")
        }
      }
      var narrow = [UInt16](repeating: 0, count: all.count)
      mlt_narrow(level.rawValue, expected, all.count, &narrow)
      for index in all.indices where !expected[index].isNaN && narrow[index] != all[index] {
        Issue.record("\(level): \(all[index]) came back as \(narrow[index])")
      }
    }
  }

  @Test func singlesNarrowHalfToEven() {
    var random = Random(1)
    var values: [Float] = [65519.996, 65520, -65520, 65504, 0x1p-25, 0x1.000002p-25, 0x1p-24, -0.0]
    for bits in UInt16(0)..<0x7C00 where random.below(4) == 0 {
      let low = HalfFloat.float(bits)
      let middle = low + (HalfFloat.float(bits + 1) - low) / 2
      if middle.isFinite { values += [middle, -middle, middle.nextUp, -middle.nextDown] }
    }
    for _ in 0..<10000 { values.append(Float(bitPattern: UInt32(random.below(1 << 32)))) }
    let expected = values.map { HalfFloat.bits($0) }
    var first: [UInt16]?
    for level in KernelLevel.available {
      var narrow = [UInt16](repeating: 0, count: values.count)
      mlt_narrow(level.rawValue, values, values.count, &narrow)
      for index in values.indices where !values[index].isNaN && narrow[index] != expected[index] {
        Issue.record("\(level): \(values[index]) became \(narrow[index])")
      }
      #expect(first.map { $0 == narrow } ?? true)
      first = narrow
    }
  }

  @Test func rangesOfRunsAndRows() {
    var random = Random(2)
    for count in 1...140 {
      let halves = KernelTests.halves(count * 3, &random)
      let singles = halves.map { HalfFloat.float($0).bitPattern }
      for level in KernelLevel.available {
        var low = [Int16](repeating: 0, count: 3)
        var high = low
        mlt_range_runs16(level.rawValue, halves, 3, count, &low, &high)
        var low32 = [Int32](repeating: 0, count: 3)
        var high32 = low32
        mlt_range_runs32(level.rawValue, singles, 3, count, &low32, &high32)
        let half = WeightFormat(isHalf: true)
        let single = WeightFormat(isHalf: false)
        for run in 0..<3 {
          let values = halves[run * count..<(run + 1) * count].map { HalfFloat.float($0) }
          #expect(half.value(key: Int32(low[run])) == values.min())
          #expect(half.value(key: Int32(high[run])) == values.max())
          #expect(single.value(key: low32[run]) == values.min())
          #expect(single.value(key: high32[run]) == values.max())
        }
        var rowLow = [Int16](repeating: .max, count: count)
        var rowHigh = [Int16](repeating: .min, count: count)
        mlt_range_rows16(level.rawValue, halves, 3, count, count, &rowLow, &rowHigh)
        var rowLow32 = [Int32](repeating: .max, count: count)
        var rowHigh32 = [Int32](repeating: .min, count: count)
        mlt_range_rows32(level.rawValue, singles, 3, count, count, &rowLow32, &rowHigh32)
        for position in 0..<count {
          let values = (0..<3).map { HalfFloat.float(halves[$0 * count + position]) }
          #expect(half.value(key: Int32(rowLow[position])) == values.min())
          #expect(half.value(key: Int32(rowHigh[position])) == values.max())
          #expect(single.value(key: rowLow32[position]) == values.min())
          #expect(single.value(key: rowHigh32[position]) == values.max())
        }
      }
    }
  }

  struct Plain {
    var codes: [Int] = []
    var error = 0.0
    var product = 0.0
    var square = 0.0
    var worst = 0.0
    var signal = 0.0

    init(_ values: [Double], _ affine: mlt_affine, half: Bool) {
      for value in values {
        let scale = Double(affine.scale)
        let quotient = half ? value / scale : Double(Float(value) / affine.scale)
        let clamped = min(max(quotient, Double(affine.low)), Double(affine.high))
        let code = clamped.rounded(.toNearestOrEven)
        let decoded = roundToType(code * scale, half: half)
        let difference = roundToType(value - decoded, half: false)
        codes.append(Int(code))
        error += difference * difference
        worst = max(worst, abs(difference))
        product += value * code
        square += code * code
        signal += value * value
      }
    }
  }

  @Test(arguments: [true, false]) func fitsAndCodesOfRuns(half: Bool) throws {
    var random = Random(half ? 3 : 4)
    for count in 0...70 {
      for trial in 0..<4 {
        let bits = KernelTests.halves(count, &random)
        let values = bits.map { bits -> Double in
          let value = Double(HalfFloat.float(bits))
          return half ? value : Double(Float(value * (1 + random.uniform())))
        }
        let peak = max(values.map { abs($0) }.max() ?? 0, 1e-7)
        var scale = Float(roundToType(peak / [127, 100, 7, 60][trial], half: half))
        if scale == 0 { scale = 0x1p-24 }
        let affine = mlt_affine(
          inverse: 1 / scale, scale: scale, low: trial == 3 ? -200 : -127,
          high: trial == 3 ? 55 : 127)
        let expected = Plain(values, affine, half: half)
        try check(values, affine, expected, half: half)
      }
    }
  }

  private func check(
    _ values: [Double], _ affine: mlt_affine, _ expected: Plain, half: Bool
  ) throws {
    let halves = values.map { HalfFloat.bits($0) }
    let singles = values.map { Float($0).bitPattern }
    var first: [UInt64]?
    for level in KernelLevel.available {
      var fit = mlt_fit()
      var codes = [UInt8](repeating: 0, count: values.count + 1)
      let signal: Double
      if half {
        mlt_fit_run16(level.rawValue, halves, values.count, affine, Int32(MLT_MOMENTS), &fit)
        signal = mlt_encode_run16(level.rawValue, halves, values.count, affine, 0, 5, &codes)
        var plain = mlt_fit()
        mlt_fit_run16(level.rawValue, halves, values.count, affine, 0, &plain)
        #expect(plain.error == fit.error && plain.worst == fit.worst)
      } else {
        mlt_fit_run32(level.rawValue, singles, values.count, affine, Int32(MLT_MOMENTS), &fit)
        signal = mlt_encode_run32(level.rawValue, singles, values.count, affine, 0, 5, &codes)
      }
      #expect(
        codes.dropLast().elementsEqual(expected.codes.map { UInt8(truncatingIfNeeded: $0 + 5) }))
      #expect(close(fit.error, expected.error))
      #expect(close(fit.product, expected.product, within: 1e-5))
      #expect(fit.square == expected.square)
      #expect(Double(fit.worst) == expected.worst)
      #expect(close(signal, expected.signal))
      let bits = [fit.error.bitPattern, fit.product.bitPattern, signal.bitPattern]
      #expect(first.map { $0 == bits } ?? true)
      first = bits
    }
  }

  private func close(_ value: Double, _ expected: Double, within tolerance: Double = 2e-6) -> Bool {
    abs(value - expected) <= tolerance * abs(expected) + 1e-300
  }

  @Test func rowsAgreeWithRuns() {
    var random = Random(5)
    for count in 1...40 {
      let rows = 1 + random.below(20)
      let data = KernelTests.halves(rows * count, &random)
      let singles = data.map { HalfFloat.float($0).bitPattern }
      let padded = (count + 15) / 16 * 16
      let scale = (0..<padded).map { _ in
        HalfFloat.float(HalfFloat.bits(0.001 + random.uniform() / 50))
      }
      let inverse = scale.map { 1 / $0 }
      let low = [Float](repeating: -128, count: padded)
      let high = [Float](repeating: 127, count: padded)
      let zero = (0..<padded).map { UInt8($0 % 7) }
      for level in KernelLevel.available {
        for half in [true, false] {
          var error = [Double](repeating: 1, count: padded)
          var product = [Double](repeating: 0, count: padded)
          var square = product
          var worst = [Float](repeating: 0, count: padded)
          var codes = [UInt8](repeating: 0, count: rows * count)
          inverse.withUnsafeBufferPointer { inverse in
            scale.withUnsafeBufferPointer { scale in
              low.withUnsafeBufferPointer { low in
                high.withUnsafeBufferPointer { high in
                  let affine = mlt_affine_row(
                    inverse: inverse.baseAddress, scale: scale.baseAddress, low: low.baseAddress,
                    high: high.baseAddress)
                  error.withUnsafeMutableBufferPointer { error in
                    product.withUnsafeMutableBufferPointer { product in
                      square.withUnsafeMutableBufferPointer { square in
                        worst.withUnsafeMutableBufferPointer { worst in
                          let fit = mlt_fit_row(
                            error: error.baseAddress, product: product.baseAddress,
                            square: square.baseAddress, worst: worst.baseAddress)
                          if half {
                            mlt_fit_rows16(
                              level.rawValue, data, rows, count, count, affine, Int32(MLT_MOMENTS),
                              fit)
                          } else {
                            mlt_fit_rows32(
                              level.rawValue, singles, rows, count, count, affine,
                              Int32(MLT_MOMENTS), fit)
                          }
                        }
                      }
                    }
                  }
                  codes.withUnsafeMutableBufferPointer { codes in
                    guard let out = codes.baseAddress else { return }
                    if half {
                      _ = mlt_encode_rows16(
                        level.rawValue, data, rows, count, count, affine, 0, zero, out)
                    } else {
                      _ = mlt_encode_rows32(
                        level.rawValue, singles, rows, count, count, affine, 0, zero, out)
                    }
                  }
                }
              }
            }
          }
          for position in 0..<count {
            let values = (0..<rows).map { Double(HalfFloat.float(data[$0 * count + position])) }
            let plain = Plain(
              values,
              mlt_affine(
                inverse: inverse[position], scale: scale[position], low: -128, high: 127),
              half: half)
            #expect(
              close(error[position] - 1, plain.error, within: 1e-5)
                || abs(error[position] - 1 - plain.error) < 1e-12)
            #expect(Double(half ? worst[position].squareRoot() : worst[position]) == plain.worst)
            #expect(
              close(product[position], plain.product, within: 1e-4)
                || abs(product[position] - plain.product) < 1e-6)
            #expect(square[position] == plain.square)
            for row in 0..<rows {
              #expect(
                codes[row * count + position]
                  == UInt8(truncatingIfNeeded: plain.codes[row] + Int(zero[position])))
            }
          }
        }
      }
    }
  }

  @Test func nibblesPackAndUnpack() {
    var random = Random(6)
    for count in 0...70 {
      let codes = (0..<count).map { _ in UInt8(random.below(256)) }
      var expected = [UInt8](repeating: 0, count: (count + 1) / 2)
      codes.withUnsafeBufferPointer { codes in
        expected.withUnsafeMutableBytes { BitPacking.pack(codes, bits: 4, into: $0) }
      }
      for level in KernelLevel.available {
        var packed = [UInt8](repeating: 0xFF, count: (count + 1) / 2)
        mlt_pack_nibbles(level.rawValue, codes, count, &packed)
        #expect(packed == expected)
        for signed in [false, true] {
          var unpacked = [UInt8](repeating: 0, count: count)
          mlt_unpack_nibbles(level.rawValue, packed, count, signed ? 1 : 0, &unpacked)
          #expect(
            unpacked
              == codes.map { signed ? (($0 & 15) ^ 8) &- 8 : $0 & 15 })
        }
      }
    }
  }
}
