import CKernels
import ModelTensors
import Synchronization

/// What the first pass over a weight found.
public enum AffinePreparation: Sendable {
  /// The weight cannot be quantized; a clause such as "holds 3 infinite values".
  case refused(reason: String)
  /// The ranges of all groups are known.
  case ready(AffineQuantizer)
}

/// The scales, offsets and errors of a quantized weight.
public struct AffineResult: Sendable {
  /// The scales in the weight's element type, in the order of the groups.
  public let scales: [UInt8]
  /// The zero points packed in the type of the codes; nil for symmetric signed codes.
  public let offsets: [UInt8]?
  /// The zero points one by one; nil for symmetric signed codes.
  public let zeroPoints: [Int32]?
  /// The error of the values that Core ML decodes.
  public let sums: ErrorSums
}

/// The order keys of the least and greatest value of each group.
struct GroupRanges: Sendable {
  var low: [Int32]
  var high: [Int32]
}

/// Affine quantization of one weight: prepared by a pass over its ranges, then encoded.
///
/// The decoded value is scale·(code − zero point) rounded to the weight's type. Codes are the
/// nearest for the stored scale, ties to even, clamped to the scheme's range and to codes that
/// decode to finite values. A group of zeros gets the scale 1.
public struct AffineQuantizer: Sendable {
  /// The weight, fp16 or fp32.
  public let source: any TensorSource
  /// Which elements share a scale.
  public let layout: GroupLayout
  /// How weights become codes.
  public let scheme: AffineScheme
  let level: KernelLevel
  let evaluator: FitEvaluator
  /// The ranges of all groups where they are few.
  let ranges: GroupRanges?
  /// The greatest magnitude.
  let peak: Double

  /// Elements of a piece of work.
  static let pieceElements = 1 << 17
  /// Groups searched at once while their values stay in the cache.
  static let batchGroups = 512
  /// The most groups whose ranges are kept between the passes.
  static let rangeLimit = 16384
  /// Above this size pages are released after the first pass.
  static let releaseBytes = 64 << 20

  /// Bytes of the packed codes.
  public var codeBytes: Int { scheme.codeType.byteCount(of: layout.elementCount) ?? 0 }
  /// Bytes of the scales.
  public var scaleBytes: Int { layout.groupCount * evaluator.format.width }
  /// Bytes of the packed zero points; 0 for symmetric signed codes.
  public var offsetBytes: Int {
    scheme.hasOffset ? scheme.codeType.byteCount(of: layout.groupCount) ?? 0 : 0
  }

  /// Finds the range of every group.
  ///
  /// - Parameters:
  ///   - source: fp16 or fp32, of the layout's shape.
  ///   - parallel: The threads to use; the result does not depend on it.
  /// - Throws: ``TensorError/malformed(_:)`` for another type or shape, and what the source throws.
  public static func prepare(
    source: any TensorSource, layout: GroupLayout, scheme: AffineScheme, parallel: Parallel
  ) throws -> AffinePreparation {
    try prepare(
      source: source, layout: layout, scheme: scheme, parallel: parallel, level: .current)
  }

  static func prepare(
    source: any TensorSource, layout: GroupLayout, scheme: AffineScheme, parallel: Parallel,
    level: KernelLevel
  ) throws -> AffinePreparation {
    guard source.elementType == .float16 || source.elementType == .float32 else {
      throw TensorError.malformed("weights of type \(source.elementType.rawValue) have no scale")
    }
    guard source.shape == layout.shape else {
      throw TensorError.malformed(
        "the weight has shape \(source.shape), its groups are those of \(layout.shape)")
    }
    let format = WeightFormat(isHalf: source.elementType == .float16)
    let evaluator = FitEvaluator(layout: layout, format: format, level: level)
    let keys = try ranges(source: source, evaluator: evaluator, parallel: parallel)
    if keys.low.contains(where: format.isSpecial) || keys.high.contains(where: format.isSpecial) {
      let counts = try SpecialValues.count(source, parallel: parallel)
      return .refused(reason: "holds \(counts.description)")
    }
    let least = format.value(key: keys.low.min() ?? 0)
    let most = format.value(key: keys.high.max() ?? 0)
    return .ready(
      AffineQuantizer(
        source: source, layout: layout, scheme: scheme, level: level, evaluator: evaluator,
        ranges: layout.groupCount <= rangeLimit ? keys : nil, peak: Double(max(-least, most))))
  }

  static func ranges(
    source: any TensorSource, evaluator: FitEvaluator, parallel: Parallel
  ) throws -> GroupRanges {
    let layout = evaluator.layout
    let groups = layout.groupsPerSlab
    let pieces = SlabPieces(layout, elements: pieceElements * 2, limit: .max / 2)
    let release = source.byteCount > releaseBytes
    let merging = Mutex(())
    var high: [Int32] = []
    let low = try filledArray(repeating: Int32.max, count: layout.groupCount) { low in
      high = try filledArray(repeating: Int32.min, count: layout.groupCount) { high in
        try parallel.forEach(pieces.count) { index in
          let piece = pieces[index]
          try source.withElements(piece.range) { bytes in
            guard let base = bytes.baseAddress else { return }
            let first = piece.slab * groups
            if piece.rows == layout.rows {
              evaluator.addRanges(
                base, slabs: piece.slabs, rows: piece.rows, low: low.pointer + first,
                high: high.pointer + first)
              return
            }
            var lows = [Int32](repeating: Int32.max, count: groups)
            var highs = [Int32](repeating: Int32.min, count: groups)
            evaluator.addRanges(base, slabs: 1, rows: piece.rows, low: &lows, high: &highs)
            merging.withLock { _ in
              for group in 0..<groups {
                low.pointer[first + group] = min(low.pointer[first + group], lows[group])
                high.pointer[first + group] = max(high.pointer[first + group], highs[group])
              }
            }
          }
          if release { source.release(piece.range) }
        }
      }
    }
    return GroupRanges(low: low, high: high)
  }
}
