import CKernels
import ModelTensors

/// What the passes over a weight before its indices are written found.
public enum PalettePreparation: Sendable {
  /// The weight cannot be palettized so; a clause such as "holds 3 infinite values".
  case refused(reason: String)
  /// The tables are known.
  case ready(Palettizer)
}

/// A table stored in 8 bits: entry = scale · (code − zero point), rounded to the weight's type.
public struct QuantizedPaletteTable: Sendable, Hashable {
  /// One int8 per component, in the shape of the tables.
  public let codes: [UInt8]
  /// The scale of all tables, in the weight's type.
  public let scale: [UInt8]
  /// The zero point of all tables, one int8; nil when symmetric.
  public let zeroPoint: Int8?
}

/// Tables and indices of one weight: prepared by choosing the tables, then encoded.
///
/// Scalar tables are rising; entries that are not needed follow as zeros and are never used. Every
/// value takes the entry of its table, as stored and decoded, that is nearest; of two equally near
/// ones the lower index. −0 counts as 0.
public struct Palettizer: Sendable {
  /// The weight: fp16, fp32, int8 or uint8.
  public let source: any TensorSource
  /// What was asked for.
  public let settings: PaletteSettings
  /// uint1 of the weight's shape, set where a value is kept; nil when all are.
  public let mask: (any TensorSource)?
  /// Bits of an index.
  public let bits: Int
  /// The type of the indices.
  public let indexType: ElementType
  /// The shape of the indices: that of the weight, divided by the cluster dimension along the
  /// vector axis; with a mask a vector of the kept values in scan order.
  public let indexShape: [Int]
  /// The shape of the tables: rank + 2 axes, [groups…, 2ⁿ, V].
  public let tableShape: [Int]
  /// The tables in the weight's type, row-major; what they decode to when they are quantized.
  public let tables: [UInt8]
  /// The tables as 8-bit codes, when the settings ask for that.
  public let quantizedTable: QuantizedPaletteTable?
  let level: KernelLevel
  let layout: GroupLayout
  let coded: PaletteTables
  /// nil where it is found while the indices are written.
  let sums: ErrorSums?
  /// What vectors are multiplied with before distances are taken.
  let vectorFactor: Float
  /// Kept values before each block of ``maskBlock`` elements, and all; empty without a mask.
  let keptBefore: [Int]

  static let maskBlock = 1 << 14

  /// The number of indices.
  public var indexCount: Int { Shape.elementCount(indexShape) ?? 0 }
  /// Bytes of the packed indices.
  public var indexBytes: Int { indexType.byteCount(of: indexCount) ?? 0 }

  /// Chooses the tables.
  ///
  /// - Parameters:
  ///   - source: fp16, fp32, int8 or uint8.
  ///   - grouping: Which elements share a table.
  ///   - mask: uint1 of the source's shape; values whose bit is 0 have no part in tables, indices
  ///     and errors.
  ///   - parallel: The threads to use; the result does not depend on it.
  /// - Throws: ``TensorError/malformed(_:)`` for settings or types that do not fit, and what the
  ///   source throws.
  public static func prepare(
    source: any TensorSource, grouping: PaletteGrouping, settings: PaletteSettings,
    restrictedTo mask: (any TensorSource)? = nil, parallel: Parallel
  ) throws -> PalettePreparation {
    try prepare(
      source: source, grouping: grouping, settings: settings, restrictedTo: mask,
      parallel: parallel, level: .current)
  }

  static func prepare(
    source: any TensorSource, grouping: PaletteGrouping, settings: PaletteSettings,
    restrictedTo mask: (any TensorSource)? = nil, parallel: Parallel, level: KernelLevel
  ) throws -> PalettePreparation {
    guard let format = PaletteFormat(source.elementType) else {
      throw TensorError.malformed("weights of type \(source.elementType.rawValue) have no tables")
    }
    if settings.mode != .unique {
      try require(
        PaletteSettings.allowedBits.contains(settings.bits), "\(settings.bits) bits per index")
    }
    if let mask {
      try require(
        mask.elementType == .uint1 && mask.shape == source.shape,
        "the mask is \(mask.elementType.rawValue) of shape \(mask.shape), not that of the weight")
    }
    guard source.elementCount <= Int(UInt32.max) else {
      return .refused(reason: "has more than 2³² elements")
    }
    let job = PaletteJob(
      source: source, format: format, settings: settings, mask: mask, parallel: parallel,
      level: level)
    if settings.clusterDimension != 1 { return try job.vectors(grouping) }
    return try job.scalars(grouping)
  }

  /// Kept values before each block of elements.
  static func keptCounts(
    _ mask: (any TensorSource)?, parallel: Parallel
  ) throws -> [Int] {
    guard let mask else { return [] }
    let pieces = ElementPieces(mask.elementCount, elements: maskBlock)
    let counts = try filledArray(repeating: 0, count: pieces.count + 1) { counts in
      try parallel.forEach(pieces.count) { index in
        counts.pointer[index + 1] = try MaskBits.with(mask, pieces[index]) {
          mlt_count_bits($0, pieces[index].count)
        }
      }
    }
    var total = 0
    return counts.map { count in
      total += count
      return total
    }
  }
}
