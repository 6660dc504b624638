import CKernels
import ModelTensors
import Synchronization

/// Magnitude pruning of one weight: prepared by finding what is kept, then encoded.
///
/// Of elements (or blocks) of equal magnitude at the cut the later ones in row-major order become
/// zero first. Elements that are zero already are never stored.
public struct Pruner: Sendable {
  /// The weight, fp16 or fp32.
  public let source: any TensorSource
  /// What becomes zero.
  public let rule: PruneRule
  /// How many elements are kept; none of them is zero.
  public let keptCount: Int
  let level: KernelLevel
  let selection: Selection
  /// Kept elements before each piece, and all.
  let keptBefore: [Int]
  let sums: ErrorSums?

  /// Elements of a piece of work; a multiple of 64.
  static let pieceElements = 1 << 16

  /// What is kept.
  enum Selection: Sendable {
    /// Magnitude bits above `cut`, and of those equal to it the first `ties`; equal ones before
    /// each piece.
    case magnitude(cut: UInt32, ties: Int, equalBefore: [Int])
    /// Bits, lowest first.
    case mask([UInt8])
  }

  /// How many elements are zero afterwards.
  public var zeroCount: Int { source.elementCount - keptCount }
  /// The share of elements that are zero afterwards; 0 for an empty tensor.
  public var sparsity: Double {
    source.elementCount > 0 ? Double(zeroCount) / Double(source.elementCount) : 0
  }
  /// Bytes of the packed mask.
  public var maskBytes: Int { (source.elementCount + 7) / 8 }
  /// Bytes of the kept values.
  public var valueBytes: Int { keptCount * width }
  /// Bytes of the dense form.
  public var denseBytes: Int { source.byteCount }

  var width: Int { source.elementType.bitWidth / 8 }
  var isHalf: Bool { source.elementType == .float16 }
  var pieces: ElementPieces {
    ElementPieces(source.elementCount, elements: Pruner.pieceElements)
  }

  /// Finds what is kept.
  ///
  /// - Parameters:
  ///   - source: fp16 or fp32.
  ///   - parallel: The threads to use; the result does not depend on it.
  /// - Throws: ``TensorError/malformed(_:)`` for another type or a rule that makes no sense, and
  ///   what the source throws.
  public static func prepare(
    source: any TensorSource, rule: PruneRule, parallel: Parallel
  ) throws -> PrunePreparation {
    try prepare(source: source, rule: rule, parallel: parallel, level: .current)
  }

  static func prepare(
    source: any TensorSource, rule: PruneRule, parallel: Parallel, level: KernelLevel
  ) throws -> PrunePreparation {
    guard source.elementType == .float16 || source.elementType == .float32 else {
      throw TensorError.malformed("weights of type \(source.elementType.rawValue) are not pruned")
    }
    switch rule {
    case .sparsity(let share), .blocks(let share, _, _):
      try require(share >= 0 && share <= 1, "a sparsity of \(share)")
    case .threshold(let limit): try require(!limit.isNaN, "a threshold that is no number")
    case .nOfM: break
    }
    let job = PruneJob(source: source, level: level, parallel: parallel)
    guard let magnitudes = try job.magnitudes() else {
      let counts = try SpecialValues.count(source, parallel: parallel)
      return .refused(reason: "holds \(counts.description)")
    }
    switch rule {
    case .sparsity(let share):
      let zeros = PruneRule.count(share, of: source.elementCount)
      let cut = try job.cut(magnitudes, zeros: zeros)
      return try .ready(job.byMagnitude(rule, magnitudes, cut: cut.cut, ties: cut.ties))
    case .threshold(let limit):
      return try .ready(
        job.byMagnitude(rule, magnitudes, cut: job.greatestBits(atMost: limit), ties: 0))
    case .nOfM(let zeros, let count, let axis):
      try require(count > 0 && zeros >= 0 && zeros <= count, "\(zeros) of \(count) zeros")
      let view = try AxisBlocks(source.shape, axis: axis, size: count)
      return try .ready(job.byMask(rule, job.nOfM(view, zeros: zeros)))
    case .blocks(let share, let size, let axis):
      try require(size > 0, "blocks of \(size)")
      let view = try AxisBlocks(source.shape, axis: axis, size: size)
      return try .ready(job.byMask(rule, job.blocks(view, share: share)))
    }
  }
}

/// Stretches of an axis: the tensor as [outer, length, inner], `size` indices each.
struct AxisBlocks: Sendable {
  let outer: Int
  let length: Int
  let inner: Int
  let size: Int
  /// Blocks along the axis.
  let perAxis: Int

  init(_ shape: [Int], axis given: Int, size: Int) throws {
    guard let axis = Shape.normalized(axis: given, rank: shape.count) else {
      throw TensorError.malformed("axis \(given) is outside the rank \(shape.count)")
    }
    outer = shape[..<axis].reduce(1, *)
    length = shape[axis]
    inner = shape[(axis + 1)...].reduce(1, *)
    self.size = size
    perAxis = length / size + (length % size == 0 ? 0 : 1)
  }

  /// All blocks.
  var count: Int { outer * perAxis * inner }

  /// A piece of work: some blocks along the axis of one outer index, all inner indices.
  struct Piece: Sendable {
    let outer: Int
    let blocks: Range<Int>
    let elements: Range<Int>
  }

  var pieceCount: Int { outer * perOuter }
  private var step: Int { max(1, (1 << 17) / max(1, size * inner)) }
  private var perOuter: Int { (perAxis + step - 1) / step }

  func piece(_ index: Int) -> Piece {
    let outer = index / perOuter
    let first = index % perOuter * step
    let blocks = first..<min(first + step, perAxis)
    let start = outer * length * inner
    return Piece(
      outer: outer, blocks: blocks,
      elements: start + blocks.lowerBound * size * inner..<start + min(
        blocks.upperBound * size, length) * inner)
  }
}
