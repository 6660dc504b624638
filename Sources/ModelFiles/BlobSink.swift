import ModelTensors
import Synchronization

/// A place in a blob file for one record's data.
public struct BlobSlot: Sendable, Equatable {
  /// The type of the elements.
  public let elementType: ElementType
  /// The number of elements.
  public let elementCount: Int
  /// Where the metadata starts; this is what a specification refers to.
  public let recordOffset: UInt64
  /// Where the data starts.
  public let dataOffset: UInt64
  /// The size of the data in bytes.
  public let byteCount: Int
}

/// Where the records of a new blob file go.
public protocol BlobSink: Sendable {
  /// The size of the file so far.
  var byteCount: Int { get }

  /// Appends a record; the order of the calls is the order in the file.
  func reserve(_ type: ElementType, count: Int) throws(FileError) -> BlobSlot

  /// Writes part of a record's data, from any thread; what is never written is zero.
  func write(
    _ bytes: UnsafeRawBufferPointer, to slot: BlobSlot, at byteOffset: Int) throws(FileError)
}

/// Positions of records as coremltools lays them out: metadata at the next multiple of 64 bytes,
/// data behind it.
struct BlobLayout {
  /// The number of records.
  private(set) var count: UInt32 = 0
  /// The size of the file so far; 0 without records.
  private(set) var end = 0
  /// Bytes of data, without headers and gaps.
  private(set) var dataByteCount = 0

  mutating func reserve(
    _ type: ElementType, count elements: Int, path: String
  ) throws(FileError) -> BlobSlot {
    guard type.isBlobType else {
      throw .unsupported(path, "a blob file cannot hold elements of type \(type.rawValue)")
    }
    guard let size = type.byteCount(of: elements), size <= Int.max / 16, end <= Int.max / 16,
      count < UInt32.max
    else { throw .unsupported(path, "\(elements) elements are too many for a blob file") }
    let record = max(BlobFormat.alignment, (end + 63) / 64 * 64)
    let data = record + BlobFormat.alignment
    count += 1
    end = data + size
    dataByteCount += size
    return BlobSlot(
      elementType: type, elementCount: elements, recordOffset: UInt64(record),
      dataOffset: UInt64(data), byteCount: size)
  }

  /// Throws when the bytes do not fit into the slot.
  static func check(
    _ byteCount: Int, in slot: BlobSlot, at byteOffset: Int, path: String
  ) throws(FileError) {
    guard byteOffset >= 0, byteOffset <= slot.byteCount, byteCount <= slot.byteCount - byteOffset
    else {
      throw .unsupported(
        path,
        "\(byteCount) bytes at \(byteOffset) exceed the \(slot.byteCount) bytes of the blob record "
          + "at \(slot.recordOffset)")
    }
  }

  /// The 64 bytes of metadata in front of a slot's data.
  static func metadata(_ slot: BlobSlot) -> [UInt8] {
    let padding = slot.byteCount * 8 - slot.elementCount * slot.elementType.bitWidth
    var bytes: [UInt8] = []
    append(BlobFormat.sentinel, to: &bytes)
    append(BlobFormat.code(slot.elementType) ?? 0, to: &bytes)
    append(UInt64(slot.byteCount), to: &bytes)
    append(slot.dataOffset, to: &bytes)
    append(UInt64(padding), to: &bytes)
    return bytes + [UInt8](repeating: 0, count: 64 - bytes.count)
  }

  /// The 64 bytes at the start of the file.
  var header: [UInt8] {
    var bytes: [UInt8] = []
    BlobLayout.append(count, to: &bytes)
    BlobLayout.append(BlobFormat.version, to: &bytes)
    return bytes + [UInt8](repeating: 0, count: 64 - bytes.count)
  }

  private static func append<T: FixedWidthInteger>(_ value: T, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }
}

/// A sink for dry runs: it lays records out and counts, but keeps nothing.
public final class CountingBlobSink: BlobSink {
  private let layout = Mutex(BlobLayout())

  /// A sink without records.
  public init() {}

  /// The number of records.
  public var recordCount: Int { layout.withLock { Int($0.count) } }
  /// The size that the file would have.
  public var byteCount: Int { layout.withLock { $0.end } }
  /// Bytes of data, without headers and gaps.
  public var dataByteCount: Int { layout.withLock { $0.dataByteCount } }

  /// Counts a record.
  public func reserve(_ type: ElementType, count: Int) throws(FileError) -> BlobSlot {
    try layout.withLock { (layout: inout BlobLayout) throws(FileError) -> BlobSlot in
      try layout.reserve(type, count: count, path: "blob file")
    }
  }

  /// Checks the bounds.
  public func write(
    _ bytes: UnsafeRawBufferPointer, to slot: BlobSlot, at byteOffset: Int
  ) throws(FileError) {
    try BlobLayout.check(bytes.count, in: slot, at: byteOffset, path: "blob file")
  }
}
