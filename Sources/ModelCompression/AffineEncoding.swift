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
    var fits: [mlt_fit] = []
    var signals: [Double] = []
    var best: [ScaleCandidate] = []
    if pieces.wholeSlabs {
      best = try filledArray(repeating: ScaleCandidate(), count: groups) { best in
        fits = try filledArray(repeating: mlt_fit(), count: groups) { fits in
          signals = try filledArray(repeating: 0.0, count: pieces.count) { signals in
            try encodeSlabs(
              pieces, parallel, best: best, fits: fits, signals: signals, codes: codes)
          }
        }
      }
    } else {
      let buffers = SearchBuffers()
      for slab in 0..<layout.outer {
        try search(slab: slab, parallel, buffers)
        for group in 0..<layout.groupsPerSlab {
          best.append(buffers.best[group])
          fits.append(buffers.fits[group])
        }
      }
      let ranges = ElementPieces(layout.elementCount, elements: AffineQuantizer.pieceElements * 2)
      let chosen = best
      let pool = codePool(ranges.elements)
      let parameters = rowParameters(best)
      signals = try filledArray(repeating: 0.0, count: ranges.count) { signals in
        try parallel.forEach(ranges.count) { index in
          let range = ranges[index]
          try source.withElements(range) { bytes in
            guard let base = bytes.baseAddress else { return }
            signals.pointer[index] = try chosen.withUnsafeBufferPointer { chosen in
              guard let first = chosen.baseAddress else { return 0 }
              return try write(
                base, range: range, best: first, parameters: parameters, pool: pool, codes: codes)
            }
          }
          source.release(range)
        }
      }
    }
    return result(best: best, fits: fits, signals: signals)
  }

  /// Searches and encodes each piece while it is in the cache.
  private func encodeSlabs(
    _ pieces: SlabPieces, _ parallel: Parallel, best: SharedPointer<ScaleCandidate>,
    fits: SharedPointer<mlt_fit>, signals: SharedPointer<Double>, codes: CodeSink
  ) throws {
    let groups = layout.groupsPerSlab
    let pool = codePool(pieces.count > 0 ? pieces[0].range.count : 0)
    let buffers = ObjectPool { SearchBuffers() }
    let batch = max(1, AffineQuantizer.batchGroups / groups)
    try parallel.forEach(pieces.count) { index in
      let piece = pieces[index]
      let first = piece.slab * groups
      try source.withElements(piece.range) { bytes in
        guard let base = bytes.baseAddress else { return }
        try buffers.with { buffers in
          for slab in stride(from: 0, to: piece.slabs, by: batch) {
            let slabs = min(batch, piece.slabs - slab)
            let start = first + slab * groups
            let data = base + slab * layout.slabCount * evaluator.format.width
            try search(start..<start + slabs * groups, buffers) { list, slots, moments, sums in
              evaluator.addFits(
                data, slabs: slabs, rows: piece.rows, candidates: list, slots: slots,
                moments: moments, to: sums)
            }
            for group in 0..<slabs * groups {
              best.pointer[start + group] = buffers.best[group]
              fits.pointer[start + group] = buffers.fits[group]
            }
          }
        }
        signals.pointer[index] = try write(
          base, range: piece.range, best: best.pointer, pool: pool, codes: codes)
      }
      source.release(piece.range)
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
    try search(slab * groups..<(slab + 1) * groups, buffers) { list, slots, moments, sums in
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

  private func search(
    _ groups: Range<Int>, _ buffers: SearchBuffers, _ measure: ScaleSearch.Measure
  ) throws {
    try low.withUnsafeBufferPointer { low in
      try high.withUnsafeBufferPointer { high in
        try ScaleSearch(
          rules: CandidateRules(scheme: scheme, format: evaluator.format),
          low: UnsafeBufferPointer(rebasing: low[groups]),
          high: UnsafeBufferPointer(rebasing: high[groups]), buffers: buffers
        ).run(measure)
      }
    }
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
  private func write(
    _ base: UnsafeRawPointer, range: Range<Int>, best: UnsafePointer<ScaleCandidate>,
    parameters: [RowParameters]? = nil, pool: BufferPool, codes: CodeSink
  ) throws -> Double {
    try pool.withBuffer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      let bytes = start.assumingMemoryBound(to: UInt8.self)
      let signal = evaluator.encode(
        base, range: range, best: best, parameters: parameters, into: bytes)
      if scheme.bits == 8 {
        try codes(range.lowerBound, UnsafeRawBufferPointer(start: start, count: range.count))
      } else {
        let packed = (range.count + 1) / 2
        mlt_pack_nibbles(level.rawValue, bytes, range.count, bytes + range.count)
        try codes(
          range.lowerBound / 2, UnsafeRawBufferPointer(start: start + range.count, count: packed))
      }
      return signal
    }
  }

  private func result(
    best: [ScaleCandidate], fits: [mlt_fit], signals: [Double]
  ) -> AffineResult {
    var sums = ErrorSums(count: layout.elementCount)
    for signal in signals { sums.signal += signal }
    for fit in fits {
      sums.error += fit.error
      sums.maxAbsError = max(sums.maxAbsError, Double(fit.worst))
    }
    for group in low.indices {
      sums.peak = max(sums.peak, Double(-low[group]), Double(high[group]))
    }
    let scales: [UInt8]
    if evaluator.format.isHalf {
      scales = best.map { HalfFloat.bits($0.scale) }.withUnsafeBytes { Array($0) }
    } else {
      scales = best.map(\.scale).withUnsafeBytes { Array($0) }
    }
    guard scheme.hasOffset else {
      return AffineResult(scales: scales, offsets: nil, zeroPoints: nil, sums: sums)
    }
    let zeros = best.map(\.zero)
    let codes = zeros.map { UInt8(truncatingIfNeeded: $0) }
    var packed = [UInt8](repeating: 0, count: offsetBytes)
    codes.withUnsafeBufferPointer { codes in
      packed.withUnsafeMutableBytes { BitPacking.pack(codes, bits: scheme.bits, into: $0) }
    }
    return AffineResult(scales: scales, offsets: packed, zeroPoints: zeros, sums: sums)
  }
}
