import CKernels
import ModelTensors

/// Measures candidates on values in memory and writes codes; one thread.
struct FitEvaluator: Sendable {
  let layout: GroupLayout
  let format: WeightFormat
  let level: KernelLevel
  private let frame: RowFrame

  init(layout: GroupLayout, format: WeightFormat, level: KernelLevel) {
    self.layout = layout
    self.format = format
    self.level = level
    frame = RowFrame(layout)
  }

  /// Elements that stay in the first-level cache while several candidates are measured.
  private static let tile = 8192
  /// Elements of the rows measured at once.
  private static let rowTile = 65536

  /// Adds the fit of every slot's candidate.
  ///
  /// - Parameters:
  ///   - base: `rows` rows of each of `slabs` slabs.
  ///   - candidates: `slots` for each group of the slabs.
  ///   - moments: whether Σwr and Σr² are wanted.
  func addFits(
    _ base: UnsafeRawPointer, slabs: Int, rows: Int,
    candidates: UnsafePointer<ScaleCandidate>, slots: Int, moments: Bool,
    parameters: [RowParameters]? = nil, to fits: UnsafeMutablePointer<mlt_fit>
  ) {
    if layout.isContiguous {
      for group in 0..<slabs {
        addRunFits(
          base + group * rows * format.width, count: rows, candidates: candidates + group * slots,
          slots: slots, moments: moments, to: fits + group * slots)
      }
    } else {
      let groups = layout.groupsPerSlab * slots
      for slab in 0..<slabs {
        addRowFits(
          base + slab * rows * layout.period * format.width, rows: rows,
          parameters: parameters ?? rowParameters(candidates + slab * groups, slots: slots),
          slots: slots, moments: moments, to: fits + slab * groups)
      }
    }
  }

  private static func options(moments: Bool, clamps: Bool) -> Int32 {
    Int32((moments ? MLT_MOMENTS : 0) | (clamps ? 0 : MLT_UNCLAMPED))
  }

  private func addRunFits(
    _ base: UnsafeRawPointer, count: Int, candidates: UnsafePointer<ScaleCandidate>, slots: Int,
    moments: Bool, to fits: UnsafeMutablePointer<mlt_fit>
  ) {
    var used = 0
    while used < slots && candidates[used].scale > 0 { used += 1 }
    var start = 0
    while start < count {
      let length = min(FitEvaluator.tile, count - start)
      let data = base + start * format.width
      var slot = 0
      while slot < used {
        var fit = mlt_fit()
        let affine = mlt_affine(candidates[slot])
        let options = FitEvaluator.options(moments: moments, clamps: candidates[slot].clamps)
        if format.isHalf {
          mlt_fit_run16(
            level.rawValue, data.assumingMemoryBound(to: UInt16.self), length, affine, options, &fit
          )
        } else {
          mlt_fit_run32(
            level.rawValue, data.assumingMemoryBound(to: UInt32.self), length, affine, options, &fit
          )
        }
        fits[slot] += fit
        slot += 1
      }
      start += length
    }
  }

  /// The parameters of every slot of one slab, up to the last one used; none where groups are
  /// contiguous.
  func rowParameters(
    _ candidates: UnsafePointer<ScaleCandidate>, slots: Int
  ) -> [RowParameters] {
    if layout.isContiguous { return [] }
    let groups = layout.groupsPerSlab
    var used = 0
    for slot in 0..<slots {
      for group in 0..<groups where candidates[group * slots + slot].scale > 0 {
        used = slot + 1
        break
      }
    }
    return (0..<used).map { slot in
      RowParameters(frame) { candidates[$0 * slots + slot] }
    }
  }

  private func addRowFits(
    _ base: UnsafeRawPointer, rows: Int, parameters: [RowParameters], slots: Int, moments: Bool,
    to fits: UnsafeMutablePointer<mlt_fit>
  ) {
    let results = rowFits(parameters, moments: moments)
    accumulate(base, rows: rows, parameters: parameters, results: results)
    finish(results, slots: slots, to: fits)
  }

  /// Room for the sums of a large slab; none where groups are contiguous.
  func rowFits(_ parameters: [RowParameters], moments: Bool) -> [RowFits] {
    parameters.map { _ in RowFits(frame.capacity, moments: moments, half: format.isHalf) }
  }

  /// Adds the fits of some rows to the sums per position.
  func accumulate(
    _ base: UnsafeRawPointer, rows: Int, parameters: [RowParameters], results: [RowFits]
  ) {
    let used = parameters.count
    let (merged, rest) = frame.split(rows: rows)
    let tileRows = max(1, FitEvaluator.rowTile / frame.width)
    var row = 0
    while row < merged {
      let count = min(tileRows, merged - row)
      mlt_prefetch(
        base + row * frame.width * format.width, count * frame.width * format.width)
      for slot in 0..<used {
        measure(
          base + row * frame.width * format.width, rows: count, count: frame.width,
          parameters[slot], results[slot])
      }
      row += count
    }
    if rest > 0 {
      for slot in 0..<used {
        measure(
          base + merged * frame.width * format.width, rows: 1, count: rest, parameters[slot],
          results[slot])
      }
    }
  }

  /// Adds sums per position to the fits of their groups.
  func finish(_ results: [RowFits], slots: Int, to fits: UnsafeMutablePointer<mlt_fit>) {
    for (slot, result) in results.enumerated() {
      frame.forEachPosition { position, group in
        fits[group * slots + slot] += result.fit(at: position)
      }
    }
  }

  private func measure(
    _ data: UnsafeRawPointer, rows: Int, count: Int, _ parameters: RowParameters, _ fits: RowFits
  ) {
    let options = FitEvaluator.options(moments: fits.moments, clamps: parameters.clamps)
    if format.isHalf {
      mlt_fit_rows16(
        level.rawValue, data.assumingMemoryBound(to: UInt16.self), rows, frame.width, count,
        parameters.affine, options, fits.rows)
    } else {
      mlt_fit_rows32(
        level.rawValue, data.assumingMemoryBound(to: UInt32.self), rows, frame.width, count,
        parameters.affine, options, fits.rows)
    }
  }

  /// Writes the code of every element of `range`, a byte each.
  ///
  /// - Parameters:
  ///   - base: The elements of `range`.
  ///   - best: One candidate for every group of the tensor.
  ///   - parameters: Those of every slab, when they are at hand.
  /// - Returns: Σw².
  func encode(
    _ base: UnsafeRawPointer, range: Range<Int>, best: UnsafePointer<ScaleCandidate>,
    parameters shared: [RowParameters]? = nil,
    into codes: UnsafeMutablePointer<UInt8>
  ) -> Double {
    var signal = 0.0
    if layout.isContiguous {
      layout.forEachStretch(range) { stretch, slab, _ in
        let offset = stretch.lowerBound - range.lowerBound
        let candidate = best[slab]
        let options = FitEvaluator.options(moments: false, clamps: candidate.clamps)
        let data = base + offset * format.width
        if format.isHalf {
          signal += mlt_encode_run16(
            level.rawValue, data.assumingMemoryBound(to: UInt16.self), stretch.count,
            mlt_affine(candidate), options, candidate.zero, codes + offset)
        } else {
          signal += mlt_encode_run32(
            level.rawValue, data.assumingMemoryBound(to: UInt32.self), stretch.count,
            mlt_affine(candidate), options, candidate.zero, codes + offset)
        }
      }
      return signal
    }
    let tileRows = max(1, FitEvaluator.rowTile / frame.width)
    var parameters: (slab: Int, values: RowParameters)?
    var start = range.lowerBound
    while start < range.upperBound {
      let slab = start / layout.slabCount
      let position = (start - slab * layout.slabCount) % frame.width
      // Whole rows together, else the part of one row.
      let limit = min((slab + 1) * layout.slabCount, range.upperBound)
      let rows = position == 0 ? min((limit - start) / frame.width, tileRows) : 0
      let width = rows > 0 ? frame.width : min(frame.width - position, limit - start)
      let values: RowParameters
      if let shared {
        values = shared[slab]
      } else if let known = parameters, known.slab == slab {
        values = known.values
      } else {
        values = slabParameters(best, slab: slab)
        parameters = (slab, values)
      }
      let data = base + (start - range.lowerBound) * format.width
      let out = codes + (start - range.lowerBound)
      let affine = values.affine(from: position)
      let end = start + max(rows, 1) * width
      let options = FitEvaluator.options(moments: false, clamps: values.clamps)
      if format.isHalf {
        signal += mlt_encode_rows16(
          level.rawValue, data.assumingMemoryBound(to: UInt16.self), max(rows, 1), frame.width,
          width, affine, options, values.zero + position, out)
      } else {
        signal += mlt_encode_rows32(
          level.rawValue, data.assumingMemoryBound(to: UInt32.self), max(rows, 1), frame.width,
          width, affine, options, values.zero + position, out)
      }
      start = end
    }
    return signal
  }

  /// The parameters of one slab.
  func slabParameters(_ best: UnsafePointer<ScaleCandidate>, slab: Int) -> RowParameters {
    let first = best + slab * layout.groupsPerSlab
    return RowParameters(frame) { first[$0] }
  }

  /// Merges the order keys of the least and greatest values of every group.
  ///
  /// - Parameter base: `rows` rows of each of `slabs` slabs.
  func addRanges(
    _ base: UnsafeRawPointer, slabs: Int, rows: Int, low: UnsafeMutablePointer<Int32>,
    high: UnsafeMutablePointer<Int32>
  ) {
    if format.isHalf {
      let data = base.assumingMemoryBound(to: UInt16.self)
      addRanges(
        data, slabs: slabs, rows: rows, low: low, high: high,
        runs: { mlt_range_runs16(level.rawValue, $0, $1, $2, $3, $4) },
        rowRanges: { mlt_range_rows16(level.rawValue, $0, $1, frame.width, $2, $3, $4) },
        least: Int16.min, most: Int16.max)
    } else {
      let data = base.assumingMemoryBound(to: UInt32.self)
      addRanges(
        data, slabs: slabs, rows: rows, low: low, high: high,
        runs: { mlt_range_runs32(level.rawValue, $0, $1, $2, $3, $4) },
        rowRanges: { mlt_range_rows32(level.rawValue, $0, $1, frame.width, $2, $3, $4) },
        least: Int32.min, most: Int32.max)
    }
  }

  @inline(__always)
  private func addRanges<Bits, Key: FixedWidthInteger>(
    _ data: UnsafePointer<Bits>, slabs: Int, rows: Int, low: UnsafeMutablePointer<Int32>,
    high: UnsafeMutablePointer<Int32>,
    runs: (
      UnsafePointer<Bits>, Int, Int, UnsafeMutablePointer<Key>, UnsafeMutablePointer<Key>
    ) -> Void,
    rowRanges: (
      UnsafePointer<Bits>, Int, Int, UnsafeMutablePointer<Key>, UnsafeMutablePointer<Key>
    ) -> Void,
    least: Key, most: Key
  ) {
    let count = layout.isContiguous ? slabs : frame.capacity
    let lows = UnsafeMutablePointer<Key>.allocate(capacity: count)
    let highs = UnsafeMutablePointer<Key>.allocate(capacity: count)
    defer {
      lows.deallocate()
      highs.deallocate()
    }
    if layout.isContiguous {
      runs(data, slabs, rows, lows, highs)
      for group in 0..<slabs {
        low[group] = min(low[group], Int32(lows[group]))
        high[group] = max(high[group], Int32(highs[group]))
      }
      return
    }
    let (merged, rest) = frame.split(rows: rows)
    for slab in 0..<slabs {
      lows.update(repeating: most, count: count)
      highs.update(repeating: least, count: count)
      let start = data + slab * rows * layout.period
      rowRanges(start, merged, frame.width, lows, highs)
      rowRanges(start + merged * frame.width, rest > 0 ? 1 : 0, rest, lows, highs)
      let first = slab * layout.groupsPerSlab
      frame.forEachPosition { position, group in
        low[first + group] = min(low[first + group], Int32(lows[position]))
        high[first + group] = max(high[first + group], Int32(highs[position]))
      }
    }
  }
}

extension mlt_affine {
  @inline(__always)
  init(_ candidate: ScaleCandidate) {
    self.init(
      inverse: 1 / candidate.scale, scale: candidate.scale, low: candidate.low,
      high: candidate.high)
  }
}

extension mlt_fit {
  @inline(__always)
  static func += (fit: inout mlt_fit, other: mlt_fit) {
    fit.error += other.error
    fit.product += other.product
    fit.square += other.square
    fit.worst = max(fit.worst, other.worst)
  }
}
