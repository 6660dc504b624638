import ModelTensors

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Finds tensors with the same bytes, so that they are stored once.
///
/// A fingerprint of samples rules nearly all pairs out; equal fingerprints are compared in full.
struct ContentClasses {
  private struct Fingerprint: Hashable {
    var elementType: ElementType
    var byteCount: Int
    var samples: Int
  }

  private var members: [Fingerprint: [(id: Int, source: any TensorSource)]] = [:]
  private var nextID = 0

  /// The class of a tensor; tensors of one class have the same element type and bytes.
  mutating func classify(_ source: any TensorSource) throws -> Int {
    let key = Fingerprint(
      elementType: source.elementType, byteCount: source.byteCount,
      samples: try ContentClasses.samples(of: source))
    for (id, other) in members[key] ?? [] where try ContentClasses.isEqual(source, other) {
      return id
    }
    defer { nextID += 1 }
    members[key, default: []].append((nextID, source))
    return nextID
  }

  /// A hash of 32 samples of 64 elements each, spread evenly.
  private static func samples(of source: any TensorSource) throws -> Int {
    var hasher = Hasher()
    let count = source.elementCount
    let step = max(64, count / 32 / 64 * 64)
    for start in stride(from: 0, to: count, by: step) {
      let range = start..<min(start + 64, count)
      try source.withElements(range) { hasher.combine(bytes: $0) }
    }
    source.release(0..<count)
    return hasher.finalize()
  }

  private static func isEqual(
    _ left: any TensorSource, _ right: any TensorSource
  ) throws -> Bool {
    for range in pieces(of: left, bytes: 1 << 20) {
      let same = try left.withElements(range) { a in
        try right.withElements(range) { b in
          guard let a = a.baseAddress, let b = b.baseAddress else { return true }
          return memcmp(a, b, left.elementType.byteCount(of: range.count) ?? 0) == 0
        }
      }
      left.release(range)
      right.release(range)
      if !same { return false }
    }
    return true
  }
}

/// Ranges of a tensor's elements of about `bytes` each, on multiples of 64 elements.
func pieces(of source: any TensorSource, bytes: Int) -> [Range<Int>] {
  let count = source.elementCount
  let bits = max(source.elementType.bitWidth, 1)
  let step = max(64, bytes * 8 / bits / 64 * 64)
  return stride(from: 0, to: count, by: step).map { $0..<min($0 + step, count) }
}

/// Writes all bytes of a tensor as they are to a part of an encoded weight.
func copyPart(
  _ source: any TensorSource, to part: Int, _ parallel: Parallel, _ write: @escaping PartWriter
) throws {
  let ranges = pieces(of: source, bytes: 1 << 20)
  try parallel.forEach(ranges.count) { index in
    let range = ranges[index]
    try source.withElements(range) { bytes in
      try write(part, range.lowerBound * source.elementType.bitWidth / 8, bytes)
    }
    source.release(range)
  }
}
