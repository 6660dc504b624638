/// Anything that yields a tensor's bytes piece by piece: a mapped blob, an immediate value, a
/// decoder over other sources.
///
/// Bytes are little-endian and row-major; elements narrower than a byte are packed from the lowest
/// bit of byte 0 upwards.
public protocol TensorSource: Sendable {
  /// The type of the elements that ``withElements(_:_:)`` yields.
  var elementType: ElementType { get }
  /// The sizes of the axes; their product is the element count and does not overflow.
  var shape: [Int] { get }

  /// Calls `body` with the packed bytes of the elements in `range`, aligned to the element.
  ///
  /// - Parameter range: Inside `0..<elementCount`; for types narrower than a byte its lower bound
  ///   is a multiple of 8.
  /// - Throws: ``TensorError`` where the data cannot be had, and what `body` throws.
  func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R

  /// Says that the pages behind `range` are not needed soon.
  func release(_ range: Range<Int>)
}

extension TensorSource {
  /// The number of elements.
  public var elementCount: Int { Shape.elementCount(shape) ?? 0 }
  /// The number of bytes of all elements, packed.
  public var byteCount: Int { elementType.byteCount(of: elementCount) ?? 0 }

  /// Does nothing: only mapped sources hold pages.
  public func release(_ range: Range<Int>) {}

  /// All bytes, copied.
  public func bytes() throws -> [UInt8] {
    try withElements(0..<elementCount) { Array($0) }
  }

  /// All elements as `T`, whose size must be that of the element type.
  public func elements<T: BitwiseCopyable>(as type: T.Type) throws -> [T] {
    try withElements(0..<elementCount) { bytes in
      precondition(MemoryLayout<T>.size * 8 == elementType.bitWidth)
      return Array(bytes.bindMemory(to: T.self))
    }
  }
}

/// What can go wrong when a tensor is read.
public enum TensorError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The data contradicts the tensor's type or the other inputs of its encoding.
  case malformed(String)
  /// The bytes are not at hand (an archive opened for its specification only).
  case unavailable(String)

  /// The message without a prefix.
  public var description: String {
    switch self {
    case .malformed(let text), .unavailable(let text): text
    }
  }
}
