/// A tensor held in memory.
public struct MemoryTensor: TensorSource {
  /// The type of the elements.
  public let elementType: ElementType
  /// The sizes of the axes.
  public let shape: [Int]
  private let storage: [UInt8]

  /// - Parameter bytes: Packed elements, as many as the shape says.
  /// - Throws: ``TensorError/malformed(_:)`` when the sizes disagree.
  public init(elementType: ElementType, shape: [Int], bytes: [UInt8]) throws(TensorError) {
    guard let count = Shape.elementCount(shape), let size = elementType.byteCount(of: count) else {
      throw .malformed("the shape \(shape) has too many elements")
    }
    guard size == bytes.count else {
      throw .malformed(
        "\(bytes.count) bytes for \(count) elements of \(elementType.rawValue), expected \(size)")
    }
    self.elementType = elementType
    self.shape = shape
    storage = bytes
  }

  /// A tensor of the elements of `values`, whose type is as wide as `elementType`.
  public init<T: BitwiseCopyable>(
    elementType: ElementType, shape: [Int], values: [T]
  ) throws(TensorError) {
    try self.init(
      elementType: elementType, shape: shape, bytes: values.withUnsafeBytes { Array($0) })
  }

  /// Calls `body` with the packed bytes of the elements in `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    let bits = elementType.bitWidth
    let bytes = (range.lowerBound * bits / 8)..<((range.upperBound * bits + 7) / 8)
    return try storage.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[bytes])) }
  }
}

/// A tensor of which only the type is known: its bytes were not opened.
public struct AbsentTensor: TensorSource {
  /// The type of the elements.
  public let elementType: ElementType
  /// The sizes of the axes.
  public let shape: [Int]

  /// A tensor of this type and shape without data.
  public init(elementType: ElementType, shape: [Int]) {
    self.elementType = elementType
    self.shape = shape
  }

  /// Calls `body` with the packed bytes of the elements in `range`.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    throw TensorError.unavailable("the weight file is not open")
  }
}
