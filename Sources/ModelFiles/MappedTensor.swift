import ModelTensors

/// A tensor whose elements lie in a mapped blob file; reading copies nothing.
public struct MappedTensor: TensorSource {
  /// The file that holds the data.
  public let file: MappedFile
  /// The record of the data.
  public let record: BlobRecord
  /// The sizes of the axes.
  public let shape: [Int]

  init(file: MappedFile, record: BlobRecord, shape: [Int]) {
    self.file = file
    self.record = record
    self.shape = shape
  }

  /// The type of the record's elements.
  public var elementType: ElementType { record.elementType }

  /// Which data this is: equal for tensors over the same record of the same file object.
  public var identity: BlobIdentity {
    BlobIdentity(file: ObjectIdentifier(file), offset: record.offset)
  }

  /// Calls `body` with mapped bytes, or with an aligned copy where the file aligns them worse than
  /// the element type needs.
  public func withElements<R>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    guard range.lowerBound >= 0, range.upperBound <= record.elementCount else {
      throw TensorError.malformed(
        "elements \(range) of a tensor of \(record.elementCount) were asked for")
    }
    let bytes = UnsafeRawBufferPointer(rebasing: file.bytes[fileRange(range)])
    return try withExtendedLifetime(file) {
      let alignment = max(1, elementType.bitWidth / 8)
      if Int(bitPattern: bytes.baseAddress) % alignment == 0 { return try body(bytes) }
      let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 64)
      defer { scratch.deallocate() }
      scratch.copyMemory(from: bytes)
      return try body(UnsafeRawBufferPointer(scratch))
    }
  }

  /// Lets the pages behind the elements go; they stay readable.
  public func release(_ range: Range<Int>) {
    file.release(fileRange(range.clamped(to: 0..<record.elementCount)))
  }

  /// The bytes of the file that hold the elements of a range inside the tensor.
  private func fileRange(_ range: Range<Int>) -> Range<Int> {
    let bits = elementType.bitWidth
    let start = Int(record.dataOffset)
    return (start + range.lowerBound * bits / 8)..<(start + (range.upperBound * bits + 7) / 8)
  }
}
