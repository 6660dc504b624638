import CKernels
import ModelTensors

extension Pruner {
  /// Streams the sparse form.
  ///
  /// - Parameters:
  ///   - mask: Receives one bit per element, lowest first, set where a value is kept; byte ranges
  ///     cover `0..<maskBytes`.
  ///   - values: Receives the kept values in scan order; byte ranges cover `0..<valueBytes`.
  /// - Returns: The error against the weight over all elements.
  /// - Throws: What the source or a sink throws. Both sinks are called from several threads in any
  ///   order; the byte ranges of each do not overlap.
  public func encode(
    parallel: Parallel, mask: AffineQuantizer.CodeSink, values: AffineQuantizer.CodeSink
  ) throws -> ErrorSums {
    try forEachPiece(parallel) { index, base, bits, room in
      let range = pieces[index]
      try mask(
        range.lowerBound / 8, UnsafeRawBufferPointer(start: bits, count: (range.count + 7) / 8))
      let kept = MaskBits.compact(base, bits, range.count, width: width, into: room)
      if kept > 0 {
        try values(
          keptBefore[index] * width, UnsafeRawBufferPointer(start: room, count: kept * width))
      }
    }
  }

  /// Streams the weight with its zeros, for when the sparse form is not smaller.
  ///
  /// - Parameter values: Called from several threads in any order; the byte ranges do not overlap
  ///   and cover `0..<denseBytes`.
  /// - Returns: The error against the weight.
  /// - Throws: What the source or the sink throws.
  public func encodeDense(
    parallel: Parallel, values: AffineQuantizer.CodeSink
  ) throws -> ErrorSums {
    try forEachPiece(parallel) { index, base, bits, room in
      let range = pieces[index]
      if isHalf {
        mlt_zero16(
          base.assumingMemoryBound(to: UInt16.self), bits, range.count,
          room.assumingMemoryBound(to: UInt16.self))
      } else {
        mlt_zero32(
          base.assumingMemoryBound(to: UInt32.self), bits, range.count,
          room.assumingMemoryBound(to: UInt32.self))
      }
      try values(
        range.lowerBound * width, UnsafeRawBufferPointer(start: room, count: range.count * width))
    }
  }

  /// The mask as a uint1 tensor of the weight's shape, in memory.
  ///
  /// - Throws: What the source throws.
  public func mask(parallel: Parallel) throws -> MemoryTensor {
    let bytes = try filledArray(repeating: UInt8(0), count: maskBytes) { bytes in
      _ = try forEachPiece(parallel) { index, _, bits, _ in
        let range = pieces[index]
        (bytes.pointer + range.lowerBound / 8).update(from: bits, count: (range.count + 7) / 8)
      }
    }
    return try MemoryTensor(elementType: .uint1, shape: source.shape, bytes: bytes)
  }

  /// Calls `body` with the elements, the mask and room for the values of each piece.
  private func forEachPiece(
    _ parallel: Parallel,
    _ body:
      @Sendable (
        Int, UnsafeRawPointer, UnsafePointer<UInt8>, UnsafeMutableRawPointer
      ) throws -> Void
  ) throws -> ErrorSums {
    let pieces = self.pieces
    let maskRoom = Pruner.pieceElements / 8 + 64
    let pool = BufferPool(size: maskRoom + (Pruner.pieceElements + 16) * width)
    let parts = try filledArray(repeating: mlt_masked_sums(), count: pieces.count) { parts in
      try parallel.forEach(pieces.count) { index in
        let range = pieces[index]
        try source.withElements(range) { bytes in
          guard let base = bytes.baseAddress else { return }
          try pool.withBuffer { buffer in
            guard let start = buffer.baseAddress else { return }
            let bits = start.assumingMemoryBound(to: UInt8.self)
            writeMask(index, base, bits)
            if sums == nil {
              parts.pointer[index] = measure(base, bits, range.count)
            }
            try body(index, base, bits, start + maskRoom)
          }
        }
        source.release(range)
      }
    }
    if let sums { return sums }
    var total = ErrorSums(count: source.elementCount)
    for part in parts {
      total.signal += part.signal
      total.error += part.error
      total.maxAbsError = max(total.maxAbsError, Double(part.worst))
      total.peak = max(total.peak, Double(part.peak))
    }
    return total
  }

  private func measure(
    _ base: UnsafeRawPointer, _ bits: UnsafePointer<UInt8>, _ count: Int
  ) -> mlt_masked_sums {
    isHalf
      ? mlt_masked_sums16(
        level.rawValue, base.assumingMemoryBound(to: UInt16.self), bits, count)
      : mlt_masked_sums32(
        level.rawValue, base.assumingMemoryBound(to: UInt32.self), bits, count)
  }

  private func writeMask(
    _ index: Int, _ base: UnsafeRawPointer, _ bits: UnsafeMutablePointer<UInt8>
  ) {
    let range = pieces[index]
    switch selection {
    case .mask(let mask):
      mask.withUnsafeBufferPointer { mask in
        guard let first = mask.baseAddress else { return }
        bits.update(from: first + range.lowerBound / 8, count: (range.count + 7) / 8)
      }
    case .magnitude(let cut, let ties, let equalBefore):
      let (before, after) = (equalBefore[index], equalBefore[index + 1])
      let some = before < ties && ties < after
      writeMask(base, range.count, least: after <= ties && before < after ? cut : cut + 1, bits)
      if some { addTies(base, range.count, cut: cut, ties - before, bits) }
    }
  }

  private func writeMask(
    _ base: UnsafeRawPointer, _ count: Int, least: UInt32, _ bits: UnsafeMutablePointer<UInt8>
  ) {
    if isHalf {
      mlt_mask16(level.rawValue, base.assumingMemoryBound(to: UInt16.self), count, least, bits)
    } else {
      mlt_mask32(level.rawValue, base.assumingMemoryBound(to: UInt32.self), count, least, bits)
    }
  }

  /// Keeps the first `ties` elements at the cut.
  private func addTies(
    _ base: UnsafeRawPointer, _ count: Int, cut: UInt32, _ ties: Int,
    _ bits: UnsafeMutablePointer<UInt8>
  ) {
    var rest = ties
    for place in 0..<count where rest > 0 {
      let magnitude =
        isHalf
        ? UInt32(base.load(fromByteOffset: place * 2, as: UInt16.self) & 0x7FFF)
        : base.load(fromByteOffset: place * 4, as: UInt32.self) & 0x7FFF_FFFF
      if magnitude == cut {
        bits[place >> 3] |= 1 << UInt8(truncatingIfNeeded: place & 7)
        rest -= 1
      }
    }
  }
}
