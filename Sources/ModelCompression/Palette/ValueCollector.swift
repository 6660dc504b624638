import CKernels
import ModelTensors
import Synchronization

/// Turns the elements of a group into sorted distinct values.
struct ValueCollector: Sendable {
  let reader: GroupReader
  let format: PaletteFormat
  let level: KernelLevel

  /// Groups of fewer elements are collected by one thread.
  private static let parallelElements = 1 << 19

  /// Calls `body` once for each group (of `wanted`) with its values; from several threads.
  ///
  /// - Returns: false when some value is not finite; `body` may then have missed groups.
  func forEachGroup(
    in wanted: Range<Int>? = nil, parallel: Parallel, spaces: ObjectPool<ValueSpace>,
    _ body: @Sendable (_ group: Int, _ space: ValueSpace) throws -> Void
  ) throws -> Bool {
    let layout = reader.layout
    if layout.isContiguous && layout.groupCount < 2 * parallel.threads
      && layout.groupSize >= ValueCollector.parallelElements && format != .single
    {
      for group in wanted ?? 0..<layout.groupCount {
        let finite = try spaces.with { space in
          guard try collectLarge(group, parallel, space, spaces) else { return false }
          try body(group, space)
          return true
        }
        if !finite { return false }
      }
      return true
    }
    let special = Atomic<Bool>(false)
    try reader.forEachGroup(in: wanted, parallel: parallel) { group, feed in
      if special.load(ordering: .relaxed) { return }
      try spaces.with { space in
        if try collect(feed, into: space) {
          try body(group, space)
        } else {
          special.store(true, ordering: .relaxed)
        }
      }
    }
    return !special.load(ordering: .relaxed)
  }

  private func collect(_ feed: GroupReader.Feed, into space: ValueSpace) throws -> Bool {
    var peak: UInt32 = 0
    space.keyCount = 0
    do {
      try feed { base, count in
        peak = max(peak, add(base, count, to: space))
      }
    } catch {
      space.bins.update(repeating: 0, count: 65536)
      throw error
    }
    return finish(space, peak: peak)
  }

  /// Adds values to the histogram or to the keys; returns the greatest magnitude bits.
  private func add(_ base: UnsafeRawPointer, _ count: Int, to space: ValueSpace) -> UInt32 {
    switch format {
    case .half:
      let data = base.assumingMemoryBound(to: UInt16.self)
      // Tiles stay in the first-level cache for the second look.
      var peak: UInt32 = 0
      for start in stride(from: 0, to: count, by: 8192) {
        let part = min(8192, count - start)
        peak = max(peak, mlt_peak16(level.rawValue, data + start, part))
        mlt_histogram16(data + start, part, space.bins)
      }
      return peak
    case .single:
      let data = base.assumingMemoryBound(to: UInt32.self)
      mlt_order_keys32(data, count, space.reserveKeys(count))
      space.keyCount += count
      return mlt_peak32(level.rawValue, data, count)
    case .int8, .uint8:
      mlt_histogram8(base.assumingMemoryBound(to: UInt8.self), count, space.bins)
      return 0
    }
  }

  /// Makes distinct values of the histogram or the keys.
  private func finish(_ space: ValueSpace, peak: UInt32) -> Bool {
    switch format {
    case .half:
      if peak >= 0x7C00 {
        space.bins.update(repeating: 0, count: 65536)
        return false
      }
      space.reserve(Int(peak) * 2 + 1)
      space.count = mlt_sorted16(
        level.rawValue, space.bins, peak, space.values, space.counts)
    case .single:
      if peak >= 0x7F80_0000 { return false }
      space.takeKeys()
    case .int8, .uint8:
      space.reserve(256)
      var count = 0
      for index in 0..<256 {
        let code = format == .int8 ? (index + 128) & 255 : index
        let bin = space.bins[code]
        if bin == 0 { continue }
        space.bins[code] = 0
        space.values[count] = Float(format == .int8 ? index - 128 : index)
        space.counts[count] = bin
        count += 1
      }
      space.count = count
    }
    return true
  }

  /// One group of many elements, its pieces counted by several threads.
  private func collectLarge(
    _ group: Int, _ parallel: Parallel, _ space: ValueSpace, _ spaces: ObjectPool<ValueSpace>
  ) throws -> Bool {
    let rows = reader.layout.rows
    let pieces = ElementPieces(rows, elements: GroupReader.pieceElements)
    let workers = min(parallel.threads, pieces.count)
    let next = Atomic<Int>(0)
    let total = Mutex<UInt32>(0)
    let target = SharedPointer(space.bins)
    defer { if total.withLock({ $0 }) >= 0x7C00 { space.bins.update(repeating: 0, count: 65536) } }
    try parallel.forEach(workers) { _ in
      try spaces.with { own in
        var peak: UInt32 = 0
        defer { own.bins.update(repeating: 0, count: 65536) }
        while true {
          let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
          if index >= pieces.count { break }
          let piece = pieces[index]
          let range = group * rows + piece.lowerBound..<group * rows + piece.upperBound
          try reader.feedRange(range) { base, count in
            peak = max(peak, add(base, count, to: own))
          }
          if reader.source.byteCount > AffineQuantizer.releaseBytes {
            reader.source.release(range)
          }
        }
        let found = peak
        total.withLock { peak in
          peak = max(peak, found)
          mlt_add_bins32(own.bins, 65536, target.pointer)
        }
      }
    }
    return finish(space, peak: total.withLock { $0 })
  }
}
