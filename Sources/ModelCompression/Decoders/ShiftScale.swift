import CKernels
import ModelTensors

/// scale·(data − offset) with the roundings of one of the two operations, piece by piece.
struct ShiftScale: Sendable {
  let data: any TensorSource
  let layout: GroupLayout
  /// The type of the result: fp16 or fp32.
  let type: ElementType
  /// Whether data are rounded to fp16 before anything else.
  let narrowsData: Bool
  /// Whether the difference is rounded to fp16.
  let roundsDifference: Bool
  /// The offsets, or nil, and the scales of all groups.
  let parameters: Lazily<(offset: [Float]?, scale: [Float])>

  /// Elements decoded at once.
  private static let tile = 4096

  /// Writes the elements of `range`.
  func decode(_ range: Range<Int>, into out: UnsafeMutableRawPointer) throws {
    let (offset, scale) = try parameters.value()
    let level = KernelLevel.current.rawValue
    let rounds: Int32 = roundsDifference && offset != nil ? 1 : 0
    let expanded = layout.isContiguous ? nil : ExpandedGroups(layout)
    try withScratch(Float.self, ShiftScale.tile) { values in
      guard let base = values.baseAddress else { return }
      var start = range.lowerBound
      while start < range.upperBound {
        let count = min(ShiftScale.tile, range.upperBound - start)
        let tile = start..<start + count
        try CodeReader.readFloats(
          data, tile, into: UnsafeMutableBufferPointer(start: base, count: count))
        if narrowsData {
          for index in 0..<count { base[index] = HalfFloat.float(HalfFloat.bits(base[index])) }
        }
        if let expanded {
          expanded.forEachStretch(tile, offset: offset, scale: scale) { stretch, offsets, scales in
            let part = base + (stretch.lowerBound - start)
            mlt_shift_scale_row(level, part, stretch.count, offsets, scales, rounds, part)
          }
        } else {
          layout.forEachStretch(tile) { stretch, group, _ in
            let part = base + (stretch.lowerBound - start)
            mlt_shift_scale_run(
              level, part, stretch.count, offset?[group] ?? 0, scale[group], rounds, part)
          }
        }
        let place = out + (start - range.lowerBound) * (type == .float16 ? 2 : 4)
        if type == .float16 {
          mlt_narrow(level, base, count, place.assumingMemoryBound(to: UInt16.self))
        } else {
          memoryCopy(place, base, count * 4)
        }
        start += count
      }
    }
  }
}

/// Parameters of groups laid out per position, kept for one slab at a time.
final class ExpandedGroups {
  private let layout: GroupLayout
  private let frame: RowFrame
  private var slab = -1
  private var offsets: [Float]
  private var scales: [Float]

  init(_ layout: GroupLayout) {
    self.layout = layout
    frame = RowFrame(layout)
    offsets = [Float](repeating: 0, count: frame.capacity)
    scales = [Float](repeating: 0, count: frame.capacity)
  }

  /// Calls `body` for stretches of `range` with the parameters of their positions.
  func forEachStretch(
    _ range: Range<Int>, offset: [Float]?, scale: [Float],
    _ body: (Range<Int>, UnsafePointer<Float>, UnsafePointer<Float>) -> Void
  ) {
    var start = range.lowerBound
    while start < range.upperBound {
      let current = start / layout.slabCount
      if current != slab {
        slab = current
        let first = current * layout.groupsPerSlab
        scales.withUnsafeMutableBufferPointer { scales in
          if let base = scales.baseAddress { frame.expand(into: base) { scale[first + $0] } }
        }
        if let offset {
          offsets.withUnsafeMutableBufferPointer { offsets in
            if let base = offsets.baseAddress { frame.expand(into: base) { offset[first + $0] } }
          }
        }
      }
      let position = (start - current * layout.slabCount) % frame.width
      let end = min(
        start - position + frame.width, (current + 1) * layout.slabCount, range.upperBound)
      offsets.withUnsafeBufferPointer { offsets in
        scales.withUnsafeBufferPointer { scales in
          if let offset = offsets.baseAddress, let scale = scales.baseAddress {
            body(start..<end, offset + position, scale + position)
          }
        }
      }
      start = end
    }
  }
}
