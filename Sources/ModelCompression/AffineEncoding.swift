import CKernels
import ModelTensors

extension AffineQuantizer {
  /// Receives packed codes: `bytes` belong at `byteOffset` of the stored data.
  public typealias CodeSink =
    @Sendable (
      _ byteOffset: Int, _ bytes: UnsafeRawBufferPointer
    ) throws -> Void

  /// Chooses the scales and streams the codes.
  ///
  /// - Parameter codes: Called from several threads in any order; the byte ranges do not overlap
  ///   and cover `0..<codeBytes`. Codes take a byte each, or half a byte with the first one low.
  /// - Throws: What the source or `codes` throws.
  public func encode(parallel: Parallel, codes: CodeSink) throws -> AffineResult {
    let pieces = SlabPieces(layout, elements: AffineQuantizer.pieceElements * 2)
    let groups = layout.groupCount
    var zeros: [Int16] = []
    var sums: [PieceSums] = []
    let scales = try filledArray(repeating: Float(0), count: groups) { scales in
      zeros = try filledArray(repeating: 0, count: scheme.hasOffset ? groups : 0) { zeros in
        let chosen = Chosen(scales: scales, zeros: zeros, hasZeros: scheme.hasOffset)
        sums =
          pieces.wholeSlabs
          ? try encodeSlabs(pieces, parallel, chosen: chosen, codes: codes)
          : try encodeLarge(parallel, chosen: chosen, codes: codes)
      }
    }
    return result(scales: scales, zeros: zeros, sums: sums)
  }

  /// Sums of a piece of work.
  private struct PieceSums: Sendable {
    var signal = 0.0
    var error = 0.0
    var worst: Float = 0

    /// Adds the fits of some groups.
    mutating func add(_ fits: UnsafePointer<mlt_fit>, count: Int) {
      for group in 0..<count {
        error += fits[group].error
        worst = max(worst, fits[group].worst)
      }
    }
  }

  /// Where the scales and zero points of all groups are kept.
  private struct Chosen: Sendable {
    let scales: SharedPointer<Float>
    let zeros: SharedPointer<Int16>
    let hasZeros: Bool

    func store(_ best: UnsafePointer<ScaleCandidate>, count: Int, at first: Int) {
      for group in 0..<count { scales.pointer[first + group] = best[group].scale }
      if hasZeros {
        for group in 0..<count { zeros.pointer[first + group] = Int16(best[group].zero) }
      }
    }
  }

  /// Searches all slabs, each on several threads, then encodes in pieces.
  private func encodeLarge(
    _ parallel: Parallel, chosen: Chosen, codes: CodeSink
  ) throws -> [PieceSums] {
    let buffers = SearchBuffers()
    let groups = layout.groupsPerSlab
    var best: [ScaleCandidate] = []
    var errors = PieceSums()
    let known =
      try ranges
      ?? AffineQuantizer.ranges(source: source, evaluator: evaluator, parallel: parallel)
    for slab in 0..<layout.outer {
      buffers.reserve(groups: groups)
      buffers.setRanges(known, from: slab * groups, count: groups)
      try search(slab: slab, parallel, buffers)
      chosen.store(buffers.best, count: groups, at: slab * groups)
      best += UnsafeBufferPointer(start: buffers.best, count: groups)
      errors.add(buffers.fits, count: groups)
    }
    let ranges = ElementPieces(layout.elementCount, elements: AffineQuantizer.pieceElements * 2)
    let candidates = best
    let pool = codePool(ranges.elements)
    let parameters = rowParameters(best)
    let sums = try filledArray(repeating: PieceSums(), count: ranges.count) { sums in
      try parallel.forEach(ranges.count) { index in
        let range = ranges[index]
        try source.withElements(range) { bytes in
          guard let base = bytes.baseAddress else { return }
          sums.pointer[index].signal = try candidates.withUnsafeBufferPointer { candidates in
            guard let first = candidates.baseAddress else { return 0 }
            return try write(
              base, range: range, best: first, parameters: parameters, pool: pool, codes: codes)
          }
        }
        source.release(range)
      }
    }
    return [errors] + sums
  }

  /// Searches and encodes each piece while it is in the cache.
  private func encodeSlabs(
    _ pieces: SlabPieces, _ parallel: Parallel, chosen: Chosen, codes: CodeSink
  ) throws -> [PieceSums] {
    let groups = layout.groupsPerSlab
    let pool = codePool(pieces.count > 0 ? pieces[0].range.count : 0)
    let buffers = ObjectPool { SearchBuffers() }
    let lanes = LaneSearch(layout: layout, scheme: scheme, format: evaluator.format, level: level)
    let batch = max(1, AffineQuantizer.batchGroups / groups)
    return try filledArray(repeating: PieceSums(), count: pieces.count) { sums in
      try parallel.forEach(pieces.count) { index in
        let piece = pieces[index]
        var sum = PieceSums()
        try source.withElements(piece.range) { bytes in
          guard let base = bytes.baseAddress else { return }
          try buffers.with { buffers in
            buffers.reserve(piece: piece.slabs * groups)
            for slab in stride(from: 0, to: piece.slabs, by: batch) {
              let slabs = min(batch, piece.slabs - slab)
              let count = slabs * groups
              let start = (piece.slab + slab) * groups
              let data = base + slab * layout.slabCount * evaluator.format.width
              let seed = lanes.map { lanes in
                { lanes.seed(data, groups: 0..<count, buffers) }
              }
              buffers.reserve(groups: count)
              if let ranges {
                buffers.setRanges(ranges, from: start, count: count)
              } else {
                buffers.clearRanges(count)
                evaluator.addRanges(
                  data, slabs: slabs, rows: piece.rows, low: buffers.lowKeys,
                  high: buffers.highKeys)
              }
              try search(count, buffers, seed: seed) {
                list, slots, moments, fits in
                evaluator.addFits(
                  data, slabs: slabs, rows: piece.rows, candidates: list, slots: slots,
                  moments: moments, to: fits)
              }
              chosen.store(buffers.best, count: count, at: start)
              sum.add(buffers.fits, count: count)
              (buffers.piece + slab * groups).update(from: buffers.best, count: count)
            }
            sum.signal = try write(
              base, range: 0..<piece.range.count, origin: piece.range.lowerBound,
              best: buffers.piece, pool: pool, codes: codes)
          }
        }
        sums.pointer[index] = sum
        source.release(piece.range)
      }
    }
  }

  /// Searches one large slab, measured in lanes on several threads.
  ///
  /// A lane adds the fits of its pieces in order and the lanes are added in order, so the result
  /// does not depend on the number of threads.
  private func search(slab: Int, _ parallel: Parallel, _ buffers: SearchBuffers) throws {
    let groups = layout.groupsPerSlab
    let lanes = SlabPieces(layout, elements: AffineQuantizer.pieceElements * 2)
    let indices = lanes.indices(slab: slab)
    let release = source.byteCount > AffineQuantizer.releaseBytes
    let seed = LaneSearch(layout: layout, scheme: scheme, format: evaluator.format, level: level)
      .map { lanes in { try lanes.seed(source, slab: slab, parallel, buffers) } }
    try search(groups, buffers, seed: seed) {
      list, slots, moments, sums in
      let parameters = evaluator.rowParameters(list, slots: slots)
      let count = groups * slots
      nonisolated(unsafe) let candidates = list
      let parts = try filledArray(repeating: mlt_fit(), count: count * indices.count) { parts in
        try parallel.forEach(indices.count) { index in
          let results = evaluator.rowFits(parameters, moments: moments)
          let out = parts.pointer + index * count
          for piece in lanes[indices.lowerBound + index].split(
            layout, elements: AffineQuantizer.pieceElements * 2)
          {
            try source.withElements(piece.range) { bytes in
              guard let base = bytes.baseAddress else { return }
              if layout.isContiguous {
                evaluator.addFits(
                  base, slabs: 1, rows: piece.rows, candidates: candidates, slots: slots,
                  moments: moments, to: out)
              } else {
                evaluator.accumulate(
                  base, rows: piece.rows, parameters: parameters, results: results)
              }
            }
            if release { source.release(piece.range) }
          }
          evaluator.finish(results, slots: slots, to: out)
        }
      }
      for index in parts.indices { sums[index % count] += parts[index] }
    }
  }

  /// Searches groups whose ranges are in the buffers.
  private func search(
    _ groups: Int, _ buffers: SearchBuffers, seed: (() throws -> Void)?,
    _ measure: ScaleSearch.Measure
  ) throws {
    for index in 0..<groups {
      buffers.low[index] = evaluator.format.value(key: buffers.lowKeys[index])
      buffers.high[index] = evaluator.format.value(key: buffers.highKeys[index])
    }
    try ScaleSearch(
      rules: CandidateRules(scheme: scheme, format: evaluator.format), groups: groups,
      buffers: buffers
    ).run(seed: seed, measure)
  }

  /// The parameters of every slab, or nil where groups are contiguous.
  private func rowParameters(_ best: [ScaleCandidate]) -> [RowParameters]? {
    if layout.isContiguous { return nil }
    return best.withUnsafeBufferPointer { best in
      best.baseAddress.map { first in
        (0..<layout.outer).map { evaluator.slabParameters(first, slab: $0) }
      }
    }
  }

  private func codePool(_ elements: Int) -> BufferPool {
    BufferPool(size: elements + (elements + 1) / 2)
  }

  /// Encodes and packs one range; returns Σw².
  ///
  /// - Parameter origin: The element that the range is counted from, that of a whole slab.
  private func write(
    _ base: UnsafeRawPointer, range: Range<Int>, origin: Int = 0,
    best: UnsafePointer<ScaleCandidate>, parameters: [RowParameters]? = nil, pool: BufferPool,
    codes: CodeSink
  ) throws -> Double {
    try pool.withBuffer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      let bytes = start.assumingMemoryBound(to: UInt8.self)
      let signal = evaluator.encode(
        base, range: range, best: best, parameters: parameters, into: bytes)
      let element = origin + range.lowerBound
      if scheme.bits == 8 {
        try codes(element, UnsafeRawBufferPointer(start: start, count: range.count))
      } else {
        let packed = (range.count + 1) / 2
        mlt_pack_nibbles(level.rawValue, bytes, range.count, bytes + range.count)
        try codes(element / 2, UnsafeRawBufferPointer(start: start + range.count, count: packed))
      }
      return signal
    }
  }

  private func result(scales: [Float], zeros: [Int16], sums pieces: [PieceSums]) -> AffineResult {
    var sums = ErrorSums(count: layout.elementCount)
    for piece in pieces {
      sums.signal += piece.signal
      sums.error += piece.error
      sums.maxAbsError = max(sums.maxAbsError, Double(piece.worst))
    }
    sums.peak = peak
    let bytes: [UInt8]
    if evaluator.format.isHalf {
      bytes = scales.map { HalfFloat.bits($0) }.withUnsafeBytes { Array($0) }
    } else {
      bytes = scales.withUnsafeBytes { Array($0) }
    }
    guard scheme.hasOffset else {
      return AffineResult(scales: bytes, offsets: nil, zeroPoints: nil, sums: sums)
    }
    let codes = zeros.map { UInt8(truncatingIfNeeded: $0) }
    var packed = [UInt8](repeating: 0, count: offsetBytes)
    codes.withUnsafeBufferPointer { codes in
      packed.withUnsafeMutableBytes { BitPacking.pack(codes, bits: scheme.bits, into: $0) }
    }
    return AffineResult(
      scales: bytes, offsets: packed, zeroPoints: zeros.map { Int32($0) }, sums: sums)
  }
}
