import ModelTensors
import Synchronization

/// Linear codes of one weight of a neural network.
public struct LinearCoding: Sendable {
  /// Codes packed by `HighFirstPacking`.
  public var codes: [UInt8]
  /// One per channel of the layout.
  public var scales: [Float]
  /// One per channel of the layout.
  public var biases: [Float]
  /// The error of the values as Core ML decodes them.
  public var sums: ErrorSums

  /// What came of a weight.
  public enum Outcome: Sendable {
    /// The weight cannot be coded so; a clause such as "holds 3 infinite values".
    case refused(reason: String)
    case coded(LinearCoding)
  }

  /// Codes `values`, one scale and bias per channel.
  ///
  /// - Parameters:
  ///   - values: Row-major.
  ///   - layout: Of as many elements as there are values.
  public static func code(
    _ values: [Float], layout: ChannelLayout, scheme: LinearScheme, parallel: Parallel
  ) throws -> Outcome {
    guard layout.elementCount == values.count else {
      throw TensorError.malformed("\(values.count) values for \(layout.elementCount) elements")
    }
    let special = Mutex(SpecialValues())
    let isBeyond = Atomic<Bool>(false)
    var results: [ChannelResult] = []
    let codes = try values.withUnsafeBufferPointer { values -> [UInt8] in
      guard let base = values.baseAddress else { return [] }
      let input = SharedPointer(UnsafeMutablePointer(mutating: base))
      return try filledArray(repeating: UInt8(0), count: values.count) { codes in
        results = try filledArray(repeating: ChannelResult(), count: layout.channels) { results in
          try parallel.forEach(layout.channels) { channel in
            let (least, greatest, odd) = extremes(input.pointer, layout.runs(channel))
            if odd.nan + odd.infinite > 0 {
              special.withLock {
                $0.nan += odd.nan
                $0.infinite += odd.infinite
              }
              return
            }
            let fit = ChannelFit(
              values: input.pointer, layout: layout, channel: channel, scheme: scheme)
            guard let parameters = fit.best(least: least, greatest: greatest) else {
              isBeyond.store(true, ordering: .relaxed)
              return
            }
            results.pointer[channel] = ChannelResult(
              parameters: parameters, sums: fit.encode(parameters, into: codes.pointer))
          }
        }
      }
    }
    let found = special.withLock { $0 }
    if found.nan + found.infinite > 0 { return .refused(reason: "holds \(found)") }
    if isBeyond.load(ordering: .relaxed) {
      return .refused(reason: "its range is too wide for fp32 scales")
    }
    var sums = ErrorSums()
    for result in results { sums += result.sums }
    return .coded(
      LinearCoding(
        codes: HighFirstPacking.packed(codes, bits: scheme.bits),
        scales: results.map(\.parameters.scale), biases: results.map(\.parameters.bias),
        sums: sums))
  }

  private struct ChannelResult: Sendable {
    var parameters = LinearParameters(scale: 0, bias: 0)
    var sums = ErrorSums()
  }

  private static func extremes(
    _ values: UnsafePointer<Float>, _ runs: some Sequence<Range<Int>>
  ) -> (least: Float, greatest: Float, special: SpecialValues) {
    var least = Float.infinity
    var greatest = -Float.infinity
    var special = SpecialValues()
    for run in runs {
      for index in run {
        let value = values[index]
        if !value.isFinite {
          if value.isNaN { special.nan += 1 } else { special.infinite += 1 }
        }
        least = min(least, value)
        greatest = max(greatest, value)
      }
    }
    return least <= greatest ? (least, greatest, special) : (0, 0, special)
  }
}

extension HighFirstPacking {
  /// The packed bytes of codes; those of 8 bits are the codes.
  static func packed(_ codes: [UInt8], bits: Int) -> [UInt8] {
    if bits == 8 { return codes }
    let count = byteCount(of: codes.count, bits: bits) ?? 0
    return [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
      codes.withUnsafeBufferPointer {
        pack($0, bits: bits, into: UnsafeMutableRawBufferPointer(bytes))
      }
      initialized = count
    }
  }
}
