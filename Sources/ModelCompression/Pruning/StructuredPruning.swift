import CKernels
import ModelTensors
import Synchronization

/// A mask that several threads write parts of.
private final class SharedMask: Sendable {
  let bytes: Mutex<[UInt8]>

  init(_ count: Int) { bytes = Mutex([UInt8](repeating: 0, count: (count + 7) / 8)) }

  /// Sets the bits of the elements of `range` whose flag is not 0.
  func set(_ range: Range<Int>, _ flags: UnsafePointer<UInt8>) {
    if range.lowerBound % 8 == 0 {
      withScratch(UInt8.self, range.count / 8 + 8) { packed in
        guard let base = packed.baseAddress else { return }
        mlt_pack_codes(KernelLevel.current.rawValue, flags, range.count, 1, base)
        bytes.withLock { bytes in
          for index in 0..<(range.count + 7) / 8 {
            bytes[range.lowerBound / 8 + index] |= base[index]
          }
        }
      }
      return
    }
    bytes.withLock { bytes in
      for index in 0..<range.count where flags[index] != 0 {
        let place = range.lowerBound + index
        bytes[place >> 3] |= 1 << UInt8(truncatingIfNeeded: place & 7)
      }
    }
  }
}

extension PruneJob {
  /// Calls `body` with the magnitude bits of each piece.
  private func forEachPiece(
    _ view: AxisBlocks,
    _ body: @Sendable (AxisBlocks.Piece, UnsafeMutablePointer<UInt32>) throws -> Void
  ) throws {
    if view.count == 0 { return }
    let half = source.elementType == .float16
    try parallel.forEach(view.pieceCount) { index in
      let piece = view.piece(index)
      let count = piece.elements.count
      try withScratch(UInt32.self, count) { magnitudes in
        guard let out = magnitudes.baseAddress else { return }
        try source.withElements(piece.elements) { bytes in
          guard let base = bytes.baseAddress else { return }
          if half {
            let data = base.assumingMemoryBound(to: UInt16.self)
            for place in 0..<count { out[place] = UInt32(data[place] & 0x7FFF) }
          } else {
            let data = base.assumingMemoryBound(to: UInt32.self)
            for place in 0..<count { out[place] = data[place] & 0x7FFF_FFFF }
          }
        }
        try body(piece, out)
      }
      if source.byteCount > AffineQuantizer.releaseBytes { source.release(piece.elements) }
    }
  }

  /// The mask that keeps all but the `zeros` least of each block; of equal ones the first stay.
  func nOfM(_ view: AxisBlocks, zeros: Int) throws -> [UInt8] {
    let mask = SharedMask(source.elementCount)
    let inner = view.inner
    try forEachPiece(view) { piece, magnitudes in
      withScratch(UInt8.self, piece.elements.count) { flags in
        guard let flags = flags.baseAddress else { return }
        var order = [Int](repeating: 0, count: view.size)
        for block in 0..<piece.blocks.count {
          let first = block * view.size * inner
          let size = min(view.size, piece.elements.count / inner - block * view.size)
          let gone = max(0, zeros - (view.size - size))
          if size <= 32 {
            mlt_keep_largest(magnitudes + first, inner, size, gone, flags + first)
            continue
          }
          for position in 0..<inner {
            let start = first + position
            for one in 0..<size { order[one] = one }
            order[..<size].sort { one, other in
              let (left, right) = (
                magnitudes[start + one * inner], magnitudes[start + other * inner]
              )
              return left < right || (left == right && one > other)
            }
            for (rank, one) in order[..<size].enumerated() {
              let place = start + one * inner
              flags[place] = rank >= gone && magnitudes[place] != 0 ? 1 : 0
            }
          }
        }
        mask.set(piece.elements, flags)
      }
    }
    return mask.bytes.withLock { $0 }
  }

  /// The mask that keeps the blocks of greatest norm.
  func blocks(_ view: AxisBlocks, share: Double) throws -> [UInt8] {
    let inner = view.inner
    let half = source.elementType == .float16
    let norms = try filledArray(repeating: 0.0, count: view.count) { norms in
      try forEachPiece(view) { piece, magnitudes in
        for block in 0..<piece.blocks.count {
          let size = min(view.size, piece.elements.count / inner - block * view.size)
          let out =
            norms.pointer + (piece.outer * view.perAxis + piece.blocks.lowerBound + block) * inner
          for element in 0..<size {
            let start = magnitudes + (block * view.size + element) * inner
            for position in 0..<inner {
              let bits = start[position]
              let value =
                half
                ? HalfFloat.float(UInt16(truncatingIfNeeded: bits)) : Float(bitPattern: bits)
              out[position] += Double(value) * Double(value)
            }
          }
        }
      }
    }
    let (cut, ties) = PruneJob.cut(norms, zeros: PruneRule.count(share, of: view.count))
    // Blocks at the cut stay in order until `ties` of them have.
    var kept = [Bool](repeating: false, count: norms.count)
    var equal = 0
    for (index, norm) in norms.enumerated() {
      kept[index] = norm > cut || (norm == cut && equal < ties)
      if norm == cut { equal += 1 }
    }
    let chosen = kept
    let mask = SharedMask(source.elementCount)
    try forEachPiece(view) { piece, magnitudes in
      withScratch(UInt8.self, piece.elements.count) { flags in
        guard let flags = flags.baseAddress else { return }
        for block in 0..<piece.blocks.count {
          let size = min(view.size, piece.elements.count / inner - block * view.size)
          let first = (piece.outer * view.perAxis + piece.blocks.lowerBound + block) * inner
          for element in 0..<size {
            let start = (block * view.size + element) * inner
            for position in 0..<inner {
              let place = start + position
              flags[place] = chosen[first + position] && magnitudes[place] != 0 ? 1 : 0
            }
          }
        }
        mask.set(piece.elements, flags)
      }
    }
    return mask.bytes.withLock { $0 }
  }

  /// The norm at which blocks go, and how many of those equal to it stay.
  private static func cut(_ norms: [Double], zeros: Int) -> (cut: Double, ties: Int) {
    var bins = [Int](repeating: 0, count: 65536)
    for norm in norms { bins[Int(norm.bitPattern >> 48)] += 1 }
    if zeros == 0 { return (0, 0) }
    var before = 0
    var bin = 0
    while before + bins[bin] < zeros {
      before += bins[bin]
      bin += 1
    }
    var members = norms.filter { Int($0.bitPattern >> 48) == bin }
    members.sort()
    let cut = members[zeros - before - 1]
    if cut == 0 { return (0, 0) }
    return (cut, members[(zeros - before)...].prefix { $0 == cut }.count)
  }
}
