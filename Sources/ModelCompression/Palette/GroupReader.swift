import CKernels
import ModelTensors

/// Brings the elements of each group of a layout together, those of a mask only if there is one.
struct GroupReader: Sendable {
  let source: any TensorSource
  let layout: GroupLayout
  /// uint1 of the source's shape.
  let mask: (any TensorSource)?
  /// Bytes of an element.
  let width: Int
  /// Runs of positions of a row for each group of a slab; empty where groups are contiguous.
  private let positions: [[Range<Int>]]

  /// Elements that are read at once.
  static let pieceElements = 1 << 18
  /// Elements gathered at once where groups are not contiguous.
  private static let gatheredElements = 1 << 21
  /// Above this size pages are given back after a first pass, group by group.
  private static let releaseBytes = 4 << 20

  typealias Feed = ((UnsafeRawPointer, Int) throws -> Void) throws -> Void

  init(source: any TensorSource, layout: GroupLayout, mask: (any TensorSource)?) {
    self.source = source
    self.layout = layout
    self.mask = mask
    width = source.elementType.bitWidth / 8
    var runs: [[Range<Int>]] = []
    if !layout.isContiguous {
      runs = Array(repeating: [], count: layout.groupsPerSlab)
      var start = 0
      while start < layout.period {
        let group = layout.map[start]
        var end = start + 1
        while end < layout.period && layout.map[end] == group { end += 1 }
        runs[Int(group)].append(start..<end)
        start = end
      }
    }
    positions = runs
  }

  /// The runs of positions of a row that belong to a group of a slab.
  func runs(_ group: Int) -> [Range<Int>] { positions[group] }

  /// Whether pages are given back after a first pass.
  private var releases: Bool { source.byteCount > GroupReader.releaseBytes }

  /// Calls `body` once for each group (of `wanted`), from several threads, with a function that yields the
  /// group's elements in pieces; the order within a group is unspecified but always the same.
  func forEachGroup(
    in wanted: Range<Int>? = nil, parallel: Parallel,
    _ body: @Sendable (_ group: Int, _ feed: Feed) throws -> Void
  ) throws {
    if layout.elementCount == 0 { return }
    let all = wanted ?? 0..<layout.groupCount
    if layout.isContiguous {
      let batch = max(1, GroupReader.pieceElements / max(1, layout.rows))
      let batches = (all.count + batch - 1) / batch
      try parallel.forEach(batches) { index in
        let start = all.lowerBound + index * batch
        let groups = start..<min(start + batch, all.upperBound)
        for group in groups {
          try body(group) { take in try feedRun(group, take) }
        }
        if releases {
          source.release(groups.lowerBound * layout.rows..<groups.upperBound * layout.rows)
        }
      }
      return
    }
    let perGroup = layout.groupSize
    let workers = max(1, min(parallel.threads, 8))
    let batch = max(
      1, min(layout.groupsPerSlab, GroupReader.gatheredElements / workers / max(1, perGroup)))
    let batches = (layout.groupsPerSlab + batch - 1) / batch
    try parallel.forEach(layout.outer * batches) { index in
      let slab = index / batches
      let first = index % batches * batch
      let slabGroups = slab * layout.groupsPerSlab
      let groups = (first..<min(first + batch, layout.groupsPerSlab))
        .clamped(to: all.lowerBound - slabGroups..<all.upperBound - slabGroups)
      if groups.isEmpty { return }
      if perGroup > GroupReader.gatheredElements {
        for group in groups {
          try body(slab * layout.groupsPerSlab + group) { take in
            try feedRows(slab: slab, group: group, take)
          }
        }
      } else {
        try feedBatch(slab: slab, groups: groups, body)
      }
    }
    if releases { source.release(0..<layout.elementCount) }
  }

  private func feedRun(
    _ group: Int, _ take: (UnsafeRawPointer, Int) throws -> Void
  ) throws {
    let start = group * layout.rows
    for offset in stride(from: 0, to: layout.rows, by: GroupReader.pieceElements) {
      let end = min(offset + GroupReader.pieceElements, layout.rows)
      try feedRange(start + offset..<start + end, take)
    }
  }

  /// Yields the elements of a range, compacted when there is a mask.
  func feedRange(
    _ range: Range<Int>, _ take: (UnsafeRawPointer, Int) throws -> Void
  ) throws {
    try source.withElements(range) { bytes in
      guard let base = bytes.baseAddress, !range.isEmpty else { return }
      guard let mask else { return try take(base, range.count) }
      try withScratch(UInt8.self, range.count * width + 64) { out in
        guard let out = out.baseAddress else { return }
        let kept = try MaskBits.with(mask, range) { bits in
          MaskBits.compact(base, bits, range.count, width: width, into: out)
        }
        if kept > 0 { try take(out, kept) }
      }
    }
  }

  /// The rows of one large group, piece by piece.
  private func feedRows(
    slab: Int, group: Int, _ take: (UnsafeRawPointer, Int) throws -> Void
  ) throws {
    let perRow = positions[group].reduce(0) { $0 + $1.count }
    let step = max(1, GroupReader.pieceElements / max(1, perRow))
    try withScratch(UInt8.self, (step * perRow + 16) * width) { buffer in
      guard let out = buffer.baseAddress else { return }
      for row in stride(from: 0, to: layout.rows, by: step) {
        let rows = row..<min(row + step, layout.rows)
        var heads = [0]
        try gather(slab: slab, rows: rows, groups: group..<group + 1, room: 0, &heads, out)
        if heads[0] > 0 { try take(out, heads[0]) }
      }
    }
  }

  private func feedBatch(
    slab: Int, groups: Range<Int>, _ body: (_ group: Int, _ feed: Feed) throws -> Void
  ) throws {
    let perGroup = layout.groupSize
    try withScratch(UInt8.self, perGroup * groups.count * width) { buffer in
      guard let out = buffer.baseAddress else { return }
      var heads = [Int](repeating: 0, count: groups.count)
      let step = max(1, GroupReader.pieceElements / layout.period)
      for row in stride(from: 0, to: layout.rows, by: step) {
        try gather(
          slab: slab, rows: row..<min(row + step, layout.rows), groups: groups, room: perGroup,
          &heads, out)
      }
      for group in groups {
        let index = group - groups.lowerBound
        try body(slab * layout.groupsPerSlab + group) { take in
          if heads[index] > 0 {
            try take(UnsafeRawPointer(out + index * perGroup * width), heads[index])
          }
        }
      }
    }
  }

  /// Appends the elements of some rows to each group's part of `out`.
  private func gather(
    slab: Int, rows: Range<Int>, groups: Range<Int>, room: Int, _ heads: inout [Int],
    _ out: UnsafeMutablePointer<UInt8>
  ) throws {
    let start = slab * layout.slabCount + rows.lowerBound * layout.period
    let range = start..<start + rows.count * layout.period
    try source.withElements(range) { bytes in
      guard let base = bytes.baseAddress else { return }
      var kept: [UInt8]?
      if let mask { kept = try CodeReader.codes(mask, range) }
      for group in groups {
        let index = group - groups.lowerBound
        var target = out + (index * room + heads[index]) * width
        var count = 0
        for row in 0..<rows.count {
          for run in positions[group] {
            let first = row * layout.period + run.lowerBound
            if let kept {
              for element in first..<first + run.count where kept[element] != 0 {
                memoryCopy(target, base + element * width, width)
                target += width
                count += 1
              }
            } else {
              memoryCopy(target, base + first * width, run.count * width)
              target += run.count * width
              count += run.count
            }
          }
        }
        heads[index] += count
      }
    }
  }
}

/// Reading of masks of one bit per element.
enum MaskBits {
  /// Calls `body` with the bits of a range, the first one in bit 0 of the first byte.
  static func with<R>(
    _ mask: any TensorSource, _ range: Range<Int>, _ body: (UnsafePointer<UInt8>) throws -> R
  ) throws -> R {
    if range.lowerBound % 8 == 0 {
      return try mask.withElements(range) { bytes in
        guard let base = bytes.baseAddress else {
          throw TensorError.malformed("the mask is empty")
        }
        return try body(base.assumingMemoryBound(to: UInt8.self))
      }
    }
    return try withScratch(UInt8.self, range.count + 8) { codes in
      guard let base = codes.baseAddress else {
        throw TensorError.malformed("the mask is empty")
      }
      try CodeReader.read(
        mask, range, into: UnsafeMutableBufferPointer(start: base, count: range.count))
      return try withScratch(UInt8.self, range.count / 8 + 8) { bits in
        guard let first = bits.baseAddress else {
          throw TensorError.malformed("the mask is empty")
        }
        mlt_pack_codes(KernelLevel.current.rawValue, base, range.count, 1, first)
        return try body(first)
      }
    }
  }

  /// Copies the elements whose bit is set; `out` has room for 8 more than there are.
  static func compact(
    _ data: UnsafeRawPointer, _ bits: UnsafePointer<UInt8>, _ count: Int, width: Int,
    into out: UnsafeMutableRawPointer
  ) -> Int {
    switch width {
    case 1:
      mlt_compact8(
        data.assumingMemoryBound(to: UInt8.self), bits, count,
        out.assumingMemoryBound(to: UInt8.self))
    case 2:
      mlt_compact16(
        data.assumingMemoryBound(to: UInt16.self), bits, count,
        out.assumingMemoryBound(to: UInt16.self))
    default:
      mlt_compact32(
        data.assumingMemoryBound(to: UInt32.self), bits, count,
        out.assumingMemoryBound(to: UInt32.self))
    }
  }
}
