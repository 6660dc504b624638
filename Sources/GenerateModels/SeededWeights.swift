import ModelToolchain

/// Constants of seeded, bell-shaped values, streamed into a blob file.
struct SeededWeights {
  static let fileName = "@model_path/weights/weight.bin"

  let blob: BlobFileWriter
  let elementType: ElementType
  let parallel: Parallel
  private var seed: UInt64 = 1

  init(blob: BlobFileWriter, elementType: ElementType, parallel: Parallel) {
    self.blob = blob
    self.elementType = elementType
    self.parallel = parallel
  }

  /// A const with a standard deviation of 1/√fan, scaled per row.
  mutating func constant(_ name: String, _ shape: [Int], fan: Int) throws -> GraphOperation {
    let count = shape.reduce(1, *)
    let rowLength = shape.last ?? 1
    let slot = try blob.reserve(elementType, count: count)
    let deviation = 1 / Float(fan).squareRoot()
    let isHalf = elementType == .float16
    let size = elementType.bitWidth / 8
    let rows = max(1, (1 << 17) / rowLength)
    let pieces = (count / rowLength + rows - 1) / rows
    let base = seed
    seed += UInt64(pieces)
    let blob = blob
    try parallel.forEach(pieces) { piece in
      var random = BellGenerator(seed: base + UInt64(piece))
      let start = piece * rows * rowLength
      let end = min(count, start + rows * rowLength)
      var bytes = [UInt8](repeating: 0, count: (end - start) * size)
      try bytes.withUnsafeMutableBytes { buffer in
        for index in 0..<(end - start) {
          if index % rowLength == 0 { random.nextRow() }
          let value = random.next() * deviation
          if isHalf {
            buffer.storeBytes(of: HalfFloat.bits(value), toByteOffset: index * 2, as: UInt16.self)
          } else {
            buffer.storeBytes(of: value, toByteOffset: index * 4, as: Float.self)
          }
        }
        try blob.write(UnsafeRawBufferPointer(buffer), to: slot, at: start * size)
      }
    }
    let reference = BlobReference(
      fileName: SeededWeights.fileName, offset: slot.recordOffset)
    return .const(
      name,
      .weight(
        Weight(
          reference: reference, source: AbsentTensor(elementType: elementType, shape: shape))))
  }
}

/// Approximately normal values: the sum of four uniform ones, with a scale per row.
private struct BellGenerator {
  private var state: UInt64
  private var scale: Float = 1

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  private mutating func bits() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }

  /// A new scale between 0.6 and 1.7.
  mutating func nextRow() { scale = 0.6 + 1.1 * Float(bits() >> 40) / Float(1 << 24) }

  mutating func next() -> Float {
    let word = bits()
    let sum =
      Int32(word & 0xFFFF) + Int32(word >> 16 & 0xFFFF) + Int32(word >> 32 & 0xFFFF)
      + Int32(word >> 48)
    // Four uniform values have a variance of 4/12.
    return Float(sum - 131_070) / 65536 * 1.7320508 * scale
  }
}
