import CKernels
import ModelTensors
import Synchronization

/// What the first pass over a weight to be narrowed found.
public enum HalfPreparation: Sendable {
  /// The weight cannot be narrowed; a clause such as "holds 3 values beyond ±65504".
  case refused(reason: String)
  /// The values are known to fit, or are to be clamped.
  case ready(HalfConversion)
}

/// Narrowing of one fp32 weight to fp16, ties to even.
///
/// NaN stays NaN and infinities stay infinite; neither counts in the error. Widening is
/// ``CastTensor``.
public struct HalfConversion: Sendable {
  /// The weight, fp32.
  public let source: any TensorSource
  /// Whether finite values beyond the range become ±65504.
  public let clamp: Bool
  /// How many values are NaN.
  public let nanCount: Int
  /// How many values are infinite.
  public let infiniteCount: Int
  /// How many finite values would become infinite.
  public let beyondCount: Int
  /// How many nonzero values become zero.
  public let vanishingCount: Int
  /// The greatest finite magnitude.
  public let peak: Double
  let level: KernelLevel

  private static let pieceElements = 1 << 17

  /// Bytes of the result.
  public var byteCount: Int { source.elementCount * 2 }

  /// Counts the values that fp16 does not hold.
  ///
  /// - Parameters:
  ///   - source: fp32.
  ///   - clamp: Whether finite values beyond the range are clamped rather than refused.
  /// - Throws: ``TensorError/malformed(_:)`` for another type, and what the source throws.
  public static func prepare(
    source: any TensorSource, clamp: Bool, parallel: Parallel
  ) throws -> HalfPreparation {
    try prepare(source: source, clamp: clamp, parallel: parallel, level: .current)
  }

  static func prepare(
    source: any TensorSource, clamp: Bool, parallel: Parallel, level: KernelLevel
  ) throws -> HalfPreparation {
    guard source.elementType == .float32 else {
      throw TensorError.malformed("weights of type \(source.elementType.rawValue) do not narrow")
    }
    let total = Mutex(mlt_survey())
    let pieces = ElementPieces(source.elementCount, elements: pieceElements)
    let release = source.byteCount > AffineQuantizer.releaseBytes
    try parallel.forEach(pieces.count) { index in
      let range = pieces[index]
      try source.withElements(range) { bytes in
        guard let base = bytes.baseAddress else { return }
        var part = mlt_survey()
        mlt_survey32(
          level.rawValue, base.assumingMemoryBound(to: UInt32.self), range.count, &part)
        let found = part
        total.withLock {
          $0.nan += found.nan
          $0.infinite += found.infinite
          $0.above_half += found.above_half
          $0.vanishing += found.vanishing
          $0.greatest = max($0.greatest, found.greatest)
        }
      }
      if release { source.release(range) }
    }
    let found = total.withLock { $0 }
    if found.above_half > 0 && !clamp {
      let plural = found.above_half == 1 ? "" : "s"
      return .refused(reason: "holds \(found.above_half) value\(plural) beyond ±65504")
    }
    return .ready(
      HalfConversion(
        source: source, clamp: clamp, nanCount: Int(found.nan),
        infiniteCount: Int(found.infinite), beyondCount: Int(found.above_half),
        vanishingCount: Int(found.vanishing),
        peak: Double(Float(bitPattern: found.greatest)), level: level))
  }

  /// Streams the fp16 values.
  ///
  /// - Parameter values: Called from several threads in any order; the byte ranges do not overlap
  ///   and cover `0..<byteCount`.
  /// - Returns: The error over the finite values, of which `count` tells the number.
  /// - Throws: What the source or `values` throws.
  public func encode(
    parallel: Parallel, values: AffineQuantizer.CodeSink
  ) throws -> ErrorSums {
    let pieces = ElementPieces(source.elementCount, elements: HalfConversion.pieceElements)
    let pool = BufferPool(size: HalfConversion.pieceElements * 2)
    let parts = try filledArray(repeating: mlt_narrow_sums(), count: pieces.count) { parts in
      try parallel.forEach(pieces.count) { index in
        let range = pieces[index]
        try source.withElements(range) { bytes in
          guard let base = bytes.baseAddress else { return }
          parts.pointer[index] = try pool.withBuffer { buffer in
            guard let out = buffer.baseAddress else { return mlt_narrow_sums() }
            let sums = convert(
              base.assumingMemoryBound(to: UInt32.self), range.count,
              into: out.assumingMemoryBound(to: UInt16.self))
            try values(
              range.lowerBound * 2, UnsafeRawBufferPointer(start: out, count: range.count * 2))
            return sums
          }
        }
        source.release(range)
      }
    }
    var sums = ErrorSums(count: source.elementCount - nanCount - infiniteCount, peak: peak)
    for part in parts {
      sums.signal += part.signal
      sums.error += part.error
      sums.maxAbsError = max(sums.maxAbsError, Double(part.worst))
    }
    return sums
  }

  private func convert(
    _ data: UnsafePointer<UInt32>, _ count: Int, into out: UnsafeMutablePointer<UInt16>
  ) -> mlt_narrow_sums {
    let limit: Float = clamp ? 65504 : .infinity
    var sums = mlt_narrow_sums()
    if nanCount + infiniteCount == 0 {
      mlt_narrow_measured(level.rawValue, data, count, limit, out, &sums)
      return sums
    }
    // Values that are not finite are measured as zeros and written afterwards.
    let special: (UInt32) -> Bool = { $0 & 0x7FFF_FFFF >= 0x7F80_0000 }
    withScratch(UInt32.self, count) { finite in
      guard let base = finite.baseAddress else { return }
      for index in 0..<count { base[index] = special(data[index]) ? 0 : data[index] }
      mlt_narrow_measured(level.rawValue, base, count, limit, out, &sums)
    }
    for index in 0..<count where special(data[index]) {
      out[index] = HalfFloat.bits(Float(bitPattern: data[index]))
    }
    return sums
  }
}
