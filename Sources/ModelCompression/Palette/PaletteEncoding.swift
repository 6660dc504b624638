import CKernels
import ModelTensors

extension Palettizer {
  /// Elements of a piece of indices; a multiple of 8.
  static let pieceElements = 1 << 17

  /// Streams the indices.
  ///
  /// - Parameter indices: Called from several threads in any order with packed indices, the first
  ///   one in the lowest bits; the byte ranges do not overlap and cover `0..<indexBytes`.
  /// - Returns: The error of the values that Core ML decodes; with a mask over kept values only.
  /// - Throws: What the source or `indices` throws.
  public func encode(
    parallel: Parallel, indices: AffineQuantizer.CodeSink
  ) throws -> ErrorSums {
    let pieces = ElementPieces(indexCount, elements: Palettizer.pieceElements)
    let pool = BufferPool(size: Palettizer.pieceElements * 2 + 64)
    if coded.vectorSize > 1 {
      let encoder = VectorEncoder(self)
      let parts = try filledArray(repeating: ErrorSums(), count: pieces.count) { parts in
        try parallel.forEach(pieces.count) { index in
          try pool.withBuffer { buffer in
            guard let codes = buffer.bindMemory(to: UInt8.self).baseAddress else { return }
            let range = pieces[index]
            parts.pointer[index] = try encoder.find(range, into: codes)
            try emit(codes, range, indices)
          }
        }
      }
      source.release(0..<source.elementCount)
      return PaletteJob.total(parts)
    }
    let finders = ObjectPool { [format = coded.format, level] in
      PaletteFinder(format: format, level: level)
    }
    let cuts = layout.isContiguous ? nil : AlternatingCuts(coded, level: level)
    let parts = try filledArray(
      repeating: ErrorSums(), count: sums == nil ? pieces.count : 0
    ) { parts in
      try parallel.forEach(pieces.count) { index in
        let range = pieces[index]
        try pool.withBuffer { buffer in
          guard let codes = buffer.bindMemory(to: UInt8.self).baseAddress else { return }
          try finders.with { finder in
            if keptBefore.isEmpty {
              try source.withElements(range) { bytes in
                guard let base = bytes.baseAddress else { return }
                find(base, range, finder, cuts, into: codes)
                if sums == nil { parts.pointer[index] = measure(base, range, codes) }
              }
              source.release(range)
            } else {
              try findKept(range, finder, cuts, into: codes)
            }
          }
          try emit(codes, range, indices)
        }
      }
    }
    return sums ?? PaletteJob.total(parts)
  }

  /// The error of singles in contiguous groups.
  private func measure(
    _ base: UnsafeRawPointer, _ range: Range<Int>, _ codes: UnsafePointer<UInt8>
  ) -> ErrorSums {
    var total = ErrorSums(count: range.count)
    coded.entries.withUnsafeBufferPointer { entries in
      guard let first = entries.baseAddress else { return }
      layout.forEachStretch(range) { stretch, slab, _ in
        let offset = stretch.lowerBound - range.lowerBound
        let part = mlt_code_sums32(
          level.rawValue, base.assumingMemoryBound(to: UInt32.self) + offset, codes + offset,
          stretch.count,
          first + slab * coded.tableCount)
        total += ErrorSums(
          signal: part.signal, error: part.error, peak: Double(part.peak),
          maxAbsError: Double(part.worst))
      }
    }
    return total
  }

  /// Packs one byte per index, in place, and hands them on.
  private func emit(
    _ codes: UnsafeMutablePointer<UInt8>, _ range: Range<Int>, _ indices: AffineQuantizer.CodeSink
  ) throws {
    let bytes = (range.count * bits + 7) / 8
    var packed = codes
    if bits < 8 {
      packed = codes + Palettizer.pieceElements
      mlt_pack_codes(level.rawValue, codes, range.count, Int32(bits), packed)
    }
    try indices(
      range.lowerBound * bits / 8, UnsafeRawBufferPointer(start: packed, count: bytes))
  }

  /// Writes the index of every element of `range`, a byte each.
  private func find(
    _ base: UnsafeRawPointer, _ range: Range<Int>, _ finder: PaletteFinder,
    _ cuts: AlternatingCuts?, into codes: UnsafeMutablePointer<UInt8>
  ) {
    let width = coded.format.width
    layout.forEachStretch(range) { stretch, slab, position in
      let offset = stretch.lowerBound - range.lowerBound
      guard let cuts else {
        finder.use(coded, group: slab)
        finder.find(base + offset * width, stretch.count, into: codes + offset)
        return
      }
      var start = position
      let end = position + stretch.count
      while start < end {
        let group = layout.map[start]
        var next = start + 1
        while next < end && layout.map[next] == group { next += 1 }
        cuts.find(
          base + (offset + start - position) * width, next - start,
          group: slab * layout.groupsPerSlab + Int(group), into: codes + offset + start - position)
        start = next
      }
    }
  }

  /// Writes the indices of the kept values whose numbers are in `range`.
  private func findKept(
    _ range: Range<Int>, _ finder: PaletteFinder, _ cuts: AlternatingCuts?,
    into codes: UnsafeMutablePointer<UInt8>
  ) throws {
    guard let mask else { return }
    // The last block that starts at or before the first number.
    var low = 0
    var high = keptBefore.count - 1
    while high - low > 1 {
      let middle = (low + high) / 2
      if keptBefore[middle] <= range.lowerBound { low = middle } else { high = middle }
    }
    var block = low
    let blocks = ElementPieces(source.elementCount, elements: Palettizer.maskBlock)
    try withScratch(UInt8.self, Palettizer.maskBlock * 2 + 64) { scratch in
      guard let dense = scratch.baseAddress else { return }
      let kept = dense + Palettizer.maskBlock
      while block < blocks.count && keptBefore[block] < range.upperBound {
        let elements = blocks[block]
        try source.withElements(elements) { bytes in
          if let base = bytes.baseAddress { find(base, elements, finder, cuts, into: dense) }
        }
        source.release(elements)
        let count = try MaskBits.with(mask, elements) {
          mlt_compact8(dense, $0, elements.count, kept)
        }
        let first = keptBefore[block]
        let from = max(range.lowerBound, first)
        let to = min(range.upperBound, first + count)
        if from < to {
          (codes + (from - range.lowerBound)).update(from: kept + (from - first), count: to - from)
        }
        block += 1
      }
    }
  }
}
