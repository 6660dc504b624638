import CKernels
import ModelTensors

extension AffineQuantizer {
  /// Receives packed codes: `bytes` belong at `byteOffset` of the stored data.
  public typealias CodeSink = @Sendable (
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
      for slab in 0..<layout.outer {
        let found = try search(slab: slab, pieces, parallel)
        best += found.best
        fits += found.fits
      }
      let ranges = ElementPieces(layout.elementCount, elements: AffineQuantizer.pieceElements * 2)
      let chosen = best
      let pool = codePool(ranges.elements)
      signals = try filledArray(repeating: 0.0, count: ranges.count) { signals in
        try parallel.forEach(ranges.count) { index in
          let range = ranges[index]
          try source.withElements(range) { bytes in
            guard let base = bytes.baseAddress else { return }
            signals.pointer[index] = try chosen.withUnsafeBufferPointer { chosen in
              guard let first = chosen.baseAddress else { return 0 }
              return try write(base, range: range, best: first, pool: pool, codes: codes)
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
    try parallel.forEach(pieces.count) { index in
      let piece = pieces[index]
      let first = piece.slab * groups
      try source.withElements(piece.range) { bytes in
        guard let base = bytes.baseAddress else { return }
        let found = try search(first..<first + piece.slabs * groups) { list, slots, moments in
          measure(
            base, slabs: piece.slabs, rows: piece.rows, list, slots: slots, moments: moments)
        }
        for (offset, candidate) in found.best.enumerated() {
          best.pointer[first + offset] = candidate
          fits.pointer[first + offset] = found.fits[offset]
        }
        signals.pointer[index] = try write(
          base, range: piece.range, best: best.pointer, pool: pool, codes: codes)
      }
      source.release(piece.range)
    }
  }

  /// The candidates of one large slab, measured piece by piece on several threads.
  private func search(
    slab: Int, _ pieces: SlabPieces, _ parallel: Parallel
  ) throws -> (best: [ScaleCandidate], fits: [mlt_fit]) {
    let groups = layout.groupsPerSlab
    let indices = pieces.indices(slab: slab)
    return try search(slab * groups..<(slab + 1) * groups) { list, slots, moments in
      let count = groups * slots
      let parts = try filledArray(repeating: [mlt_fit](), count: indices.count) { parts in
        try parallel.forEach(indices.count) { index in
          let piece = pieces[indices.lowerBound + index]
          parts.pointer[index] = try source.withElements(piece.range) { bytes in
            guard let base = bytes.baseAddress else { return [] }
            return measure(
              base, slabs: 1, rows: piece.rows, list, slots: slots, moments: moments)
          }
          if source.byteCount > AffineQuantizer.releaseBytes { source.release(piece.range) }
        }
      }
      var sums = [mlt_fit](repeating: mlt_fit(), count: count)
      for part in parts {
        for index in 0..<part.count { sums[index] += part[index] }
      }
      return sums
    }
  }

  private func search(
    _ groups: Range<Int>, _ measure: ScaleSearch.Measure
  ) throws -> (best: [ScaleCandidate], fits: [mlt_fit]) {
    try low.withUnsafeBufferPointer { low in
      try high.withUnsafeBufferPointer { high in
        try ScaleSearch(
          rules: CandidateRules(scheme: scheme, format: evaluator.format),
          low: UnsafeBufferPointer(rebasing: low[groups]),
          high: UnsafeBufferPointer(rebasing: high[groups])
        ).run(measure)
      }
    }
  }

  private func measure(
    _ base: UnsafeRawPointer, slabs: Int, rows: Int, _ candidates: [ScaleCandidate], slots: Int,
    moments: Bool
  ) -> [mlt_fit] {
    var fits = [mlt_fit](repeating: mlt_fit(), count: candidates.count)
    candidates.withUnsafeBufferPointer { candidates in
      fits.withUnsafeMutableBufferPointer { fits in
        guard let first = candidates.baseAddress, let out = fits.baseAddress else { return }
        evaluator.addFits(
          base, slabs: slabs, rows: rows, candidates: first, slots: slots, moments: moments,
          to: out)
      }
    }
    return fits
  }

  private func codePool(_ elements: Int) -> BufferPool {
    BufferPool(size: elements + (elements + 1) / 2)
  }

  /// Encodes and packs one range; returns Σw².
  private func write(
    _ base: UnsafeRawPointer, range: Range<Int>, best: UnsafePointer<ScaleCandidate>,
    pool: BufferPool, codes: CodeSink
  ) throws -> Double {
    try pool.withBuffer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      let bytes = start.assumingMemoryBound(to: UInt8.self)
      let signal = evaluator.encode(base, range: range, best: best, into: bytes)
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
