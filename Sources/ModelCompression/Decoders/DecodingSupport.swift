import CKernels
import ModelTensors
import Synchronization

/// A value computed at first use, kept when that succeeds.
final class Lazily<Value: Sendable>: Sendable {
  private let state = Mutex<Value?>(nil)
  private let make: @Sendable () throws -> Value

  init(_ make: @escaping @Sendable () throws -> Value) { self.make = make }

  /// The value; computed by one thread.
  func value() throws -> Value {
    try state.withLock { state in
      if let value = state { return value }
      let value = try make()
      state = value
      return value
    }
  }
}

/// Reading of tensors of any narrow type as integers or singles.
public enum CodeReader {
  /// The elements of `range` as one byte each; int4 is sign-extended, wider types are refused.
  ///
  /// The range may start anywhere, also inside a byte.
  /// - Throws: ``TensorError/malformed(_:)`` for types wider than a byte; what the source throws.
  public static func codes(_ source: any TensorSource, _ range: Range<Int>) throws -> [UInt8] {
    var codes = [UInt8](repeating: 0, count: range.count)
    try codes.withUnsafeMutableBufferPointer { try read(source, range, into: $0) }
    return codes
  }

  /// The same into memory of `range.count` bytes.
  public static func read(
    _ source: any TensorSource, _ range: Range<Int>, into codes: UnsafeMutableBufferPointer<UInt8>
  ) throws {
    let type = source.elementType
    guard let out = codes.baseAddress, !range.isEmpty else { return }
    guard type.bitWidth > 0 && type.bitWidth <= 8 else {
      throw TensorError.malformed("elements of type \(type.rawValue) are no codes")
    }
    guard type.isSubByte else {
      try source.withElements(range) { bytes in
        if let base = bytes.baseAddress {
          out.update(from: base.assumingMemoryBound(to: UInt8.self), count: range.count)
        }
      }
      return
    }
    let start = range.lowerBound & ~7
    let lead = range.lowerBound - start
    try source.withElements(start..<range.upperBound) { bytes in
      guard let base = bytes.baseAddress else { return }
      if type.bitWidth == 4 {
        // The lead is a whole number of bytes but for one code.
        var done = 0
        if lead & 1 == 1 {
          out[0] = extended(bytes[lead / 2] >> 4, type)
          done = 1
        }
        mlt_unpack_nibbles(
          KernelLevel.current.rawValue,
          base.assumingMemoryBound(to: UInt8.self) + (lead + done) / 2, range.count - done,
          type == .int4 ? 1 : 0, out + done)
        return
      }
      let head = min(lead == 0 ? 0 : 8 - lead, range.count)
      for index in 0..<head {
        out[index] = BitPacking.code(bytes, at: lead + index, bits: type.bitWidth)
      }
      if head < range.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[((lead + head) * type.bitWidth / 8)...])
        BitPacking.unpack(
          rest, bits: type.bitWidth, signed: false,
          into: UnsafeMutableBufferPointer(start: out + head, count: range.count - head))
      }
    }
  }

  private static func extended(_ code: UInt8, _ type: ElementType) -> UInt8 {
    type == .int4 ? (code ^ 8) &- 8 : code
  }

  /// The elements of `range` as 32-bit integers; integer types of at most 32 bits.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` for other types; what the source throws.
  public static func integers(_ source: any TensorSource, _ range: Range<Int>) throws -> [Int32] {
    let type = source.elementType
    guard type.isInteger || type == .bool else {
      throw TensorError.malformed("elements of type \(type.rawValue) are not integers")
    }
    if type.bitWidth <= 8 {
      let codes = try codes(source, range)
      return type.isSignedInteger
        ? codes.map { Int32(Int8(bitPattern: $0)) } : codes.map { Int32($0) }
    }
    return try source.withElements(range) { bytes in
      switch type {
      case .int16: bytes.bindMemory(to: Int16.self).map { Int32($0) }
      case .uint16: bytes.bindMemory(to: UInt16.self).map { Int32($0) }
      case .int32, .uint32: Array(bytes.bindMemory(to: Int32.self))
      default: throw TensorError.malformed("elements of type \(type.rawValue) are too wide")
      }
    }
  }

  /// The elements of `range` in single precision: fp16, fp32, and integers of at most 8 bits, all
  /// exact.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` for other types; what the source throws.
  public static func readFloats(
    _ source: any TensorSource, _ range: Range<Int>, into floats: UnsafeMutableBufferPointer<Float>
  ) throws {
    guard let out = floats.baseAddress, !range.isEmpty else { return }
    let type = source.elementType
    let level = KernelLevel.current.rawValue
    switch type {
    case .float32, .float16, .int8, .uint8, .bool:
      try source.withElements(range) { bytes in
        guard let base = bytes.baseAddress else { return }
        switch type {
        case .float32: memoryCopy(out, base, range.count * 4)
        case .float16:
          mlt_widen_half(level, base.assumingMemoryBound(to: UInt16.self), range.count, out)
        case .int8: mlt_widen_int8(level, base.assumingMemoryBound(to: Int8.self), range.count, out)
        default:
          mlt_widen_uint8(level, base.assumingMemoryBound(to: UInt8.self), range.count, out)
        }
      }
    case .int4, .uint1, .uint2, .uint3, .uint4, .uint6:
      try withScratch(UInt8.self, range.count) { codes in
        try read(source, range, into: codes)
        guard let base = codes.baseAddress else { return }
        if type == .int4 {
          base.withMemoryRebound(to: Int8.self, capacity: range.count) {
            mlt_widen_int8(level, $0, range.count, out)
          }
        } else {
          mlt_widen_uint8(level, base, range.count, out)
        }
      }
    default:
      throw TensorError.malformed("elements of type \(type.rawValue) are not decoded")
    }
  }

  /// All elements in single precision.
  public static func floats(_ source: any TensorSource) throws -> [Float] {
    var floats = [Float](repeating: 0, count: source.elementCount)
    try floats.withUnsafeMutableBufferPointer {
      try readFloats(source, 0..<source.elementCount, into: $0)
    }
    return floats
  }
}

@inline(__always)
func memoryCopy(_ target: UnsafeMutableRawPointer, _ source: UnsafeRawPointer, _ count: Int) {
  target.copyMemory(from: source, byteCount: count)
}

/// Calls `body` with uninitialized memory for `count` elements.
func withScratch<T: BitwiseCopyable, R>(
  _ type: T.Type, _ count: Int, _ body: (UnsafeMutableBufferPointer<T>) throws -> R
) rethrows -> R {
  let raw = UnsafeMutableRawBufferPointer.allocate(
    byteCount: max(count, 1) * MemoryLayout<T>.stride, alignment: 64)
  defer { raw.deallocate() }
  return try body(
    UnsafeMutableBufferPointer(start: raw.bindMemory(to: T.self).baseAddress, count: count))
}

/// Calls `body` with memory for the packed elements of `range` that `fill` has written.
func withDecoded<R>(
  _ type: ElementType, _ range: Range<Int>, fill: (UnsafeMutableRawPointer) throws -> Void,
  _ body: (UnsafeRawBufferPointer) throws -> R
) throws -> R {
  guard let size = type.byteCount(of: range.count) else {
    throw TensorError.malformed("too many elements")
  }
  return try withScratch(UInt8.self, size) { bytes in
    if let base = bytes.baseAddress, !range.isEmpty { try fill(UnsafeMutableRawPointer(base)) }
    return try body(UnsafeRawBufferPointer(bytes))
  }
}

/// Throws ``TensorError/malformed(_:)`` unless a condition holds.
func require(
  _ condition: Bool, _ message: @autoclosure () -> String
) throws(TensorError) {
  if !condition { throw .malformed(message()) }
}
