import CKernels
import ModelTensors
import Synchronization

/// The search for what is kept of one weight.
struct PruneJob: Sendable {
  let source: any TensorSource
  let level: KernelLevel
  let parallel: Parallel

  private var isHalf: Bool { source.elementType == .float16 }
  private var pieces: ElementPieces {
    ElementPieces(source.elementCount, elements: Pruner.pieceElements)
  }
  private var releases: Bool { source.byteCount > AffineQuantizer.releaseBytes }

  /// Counts by magnitude bits of halves, by their upper 16 of 31 of singles.
  struct Magnitudes: Sendable {
    var bins: [UInt64]
  }

  /// nil when some value is not finite.
  func magnitudes() throws -> Magnitudes? {
    let bins = try histogram { data, count, bins in
      if isHalf {
        mlt_histogram16(data.assumingMemoryBound(to: UInt16.self), count, bins)
      } else {
        mlt_histogram_upper32(data.assumingMemoryBound(to: UInt32.self), count, bins)
      }
    }
    var folded = bins
    if isHalf {
      mlt_add_bins64(bins.withUnsafeBufferPointer { Array($0[32768...]) }, 32768, &folded)
      folded.removeLast(32768)
    }
    let special = isHalf ? 0x7C00 : 0xFF00
    return folded[special...].contains { $0 > 0 } ? nil : Magnitudes(bins: folded)
  }

  /// Counts of all pieces in 65536 bins.
  private func histogram(
    _ add: @Sendable (UnsafeRawPointer, Int, UnsafeMutablePointer<UInt32>) -> Void
  ) throws -> [UInt64] {
    let total = Mutex([UInt64](repeating: 0, count: 65536))
    let pieces = self.pieces
    let next = Atomic<Int>(0)
    try parallel.forEach(max(1, min(parallel.threads, pieces.count))) { _ in
      try withScratch(UInt32.self, 65536) { bins in
        guard let base = bins.baseAddress else { return }
        base.initialize(repeating: 0, count: 65536)
        // Bins of 32 bits are emptied before they can overflow.
        var held = 0
        let flush = {
          total.withLock { mlt_add_bins(base, 65536, &$0) }
          base.update(repeating: 0, count: 65536)
        }
        while true {
          let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
          if index >= pieces.count { break }
          try source.withElements(pieces[index]) { bytes in
            if let data = bytes.baseAddress { add(data, pieces[index].count, base) }
          }
          if releases { source.release(pieces[index]) }
          held += pieces[index].count
          if held > Int(UInt32.max) / 2 {
            flush()
            held = 0
          }
        }
        flush()
      }
    }
    return total.withLock { $0 }
  }

  /// The magnitude bits at which elements go, and how many of those equal to it stay, so that
  /// `zeros` elements go; never fewer than are zero.
  func cut(_ magnitudes: Magnitudes, zeros: Int) throws -> (cut: UInt32, ties: Int) {
    if isHalf {
      let found = PruneJob.rank(magnitudes.bins, zeros)
      return found.bin == 0 ? (0, 0) : (UInt32(found.bin), found.ties)
    }
    let upper = PruneJob.rank(magnitudes.bins, zeros)
    let bins = try histogram { data, count, bins in
      mlt_histogram_lower32(
        data.assumingMemoryBound(to: UInt32.self), count, UInt32(upper.bin), bins)
    }
    let lower = PruneJob.rank(bins, zeros - upper.before)
    let bits = UInt32(upper.bin) << 15 | UInt32(lower.bin)
    return bits == 0 ? (0, 0) : (bits, lower.ties)
  }

  /// The bin of the last of the first `count` elements, what is before it, and what of it is not
  /// among them.
  private static func rank(_ bins: [UInt64], _ count: Int) -> (bin: Int, before: Int, ties: Int) {
    if count == 0 { return (0, 0, Int(bins.first ?? 0)) }
    var before: UInt64 = 0
    let bin = mlt_rank_bin(bins, bins.count, UInt64(count), &before)
    let size = bin < bins.count ? Int(bins[bin]) : 0
    return (min(bin, bins.count - 1), Int(before), max(Int(before) + size - count, 0))
  }

  /// The greatest magnitude bits whose value is at most `limit`; 0 for negative limits.
  func greatestBits(atMost limit: Double) -> UInt32 {
    if limit <= 0 { return 0 }
    if isHalf {
      if limit >= 65504 { return 0x7BFF }
      let bits = UInt32(HalfFloat.bits(limit))
      return Double(HalfFloat.float(UInt16(bits))) > limit ? bits - 1 : bits
    }
    if limit >= Double(Float.greatestFiniteMagnitude) { return 0x7F7F_FFFF }
    let single = Float(limit)
    return Double(single) > limit ? single.bitPattern - 1 : single.bitPattern
  }

  /// Counts what is kept of every piece.
  func byMagnitude(
    _ rule: PruneRule, _ magnitudes: Magnitudes, cut: UInt32, ties: Int
  ) throws -> Pruner {
    let pieces = self.pieces
    let counts = try filledArray(repeating: mlt_magnitudes(), count: pieces.count) { counts in
      try parallel.forEach(pieces.count) { index in
        let range = pieces[index]
        try source.withElements(range) { bytes in
          guard let base = bytes.baseAddress else { return }
          counts.pointer[index] =
            isHalf
            ? mlt_count16(
              level.rawValue, base.assumingMemoryBound(to: UInt16.self), range.count, cut)
            : mlt_count32(
              level.rawValue, base.assumingMemoryBound(to: UInt32.self), range.count, cut)
        }
        if releases { source.release(range) }
      }
    }
    var equalBefore = [0]
    var keptBefore = [0]
    var equal = 0
    var kept = 0
    for count in counts {
      let stay = min(max(ties - equal, 0), Int(count.equal))
      equal += Int(count.equal)
      kept += Int(count.above) + stay
      equalBefore.append(equal)
      keptBefore.append(kept)
    }
    return Pruner(
      source: source, rule: rule, keptCount: kept, level: level,
      selection: .magnitude(cut: cut, ties: ties, equalBefore: equalBefore),
      keptBefore: keptBefore,
      sums: isHalf ? PruneJob.sums(magnitudes.bins, cut: Int(cut), ties: ties) : nil)
  }

  /// The error of halves, from their counts.
  private static func sums(_ bins: [UInt64], cut: Int, ties: Int) -> ErrorSums {
    var count: UInt64 = 0
    let sums = mlt_magnitude_sums16(bins, UInt32(cut), UInt64(ties), &count)
    return ErrorSums(
      count: Int(count), signal: sums.signal, error: sums.error, peak: Double(sums.peak),
      maxAbsError: Double(sums.worst))
  }

  /// Counts what a mask keeps of every piece.
  func byMask(_ rule: PruneRule, _ mask: [UInt8]) throws -> Pruner {
    var keptBefore = [0]
    var kept = 0
    mask.withUnsafeBufferPointer { mask in
      guard let base = mask.baseAddress else { return }
      for index in 0..<pieces.count {
        kept += mlt_count_bits(base + index * Pruner.pieceElements / 8, pieces[index].count)
        keptBefore.append(kept)
      }
    }
    return Pruner(
      source: source, rule: rule, keptCount: kept, level: level, selection: .mask(mask),
      keptBefore: keptBefore, sums: nil)
  }
}
