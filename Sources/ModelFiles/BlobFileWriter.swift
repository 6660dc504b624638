import ModelTensors
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A streaming writer of "MIL blob storage v2": records are laid out in the order they are
/// reserved, their data may come later and from several threads.
public final class BlobFileWriter: BlobSink {
  /// The name used in errors.
  public let path: String
  private let descriptor: Int32
  private let layout = Mutex(BlobLayout())
  /// How far the file's blocks are allocated.
  private let allocated = Mutex(0)

  /// Creates the file, or empties it.
  public convenience init(path: String) throws(FileError) {
    try self.init(path: path, shownAs: path)
  }

  /// Creates the file at `target`; errors name it `path`.
  init(path target: String, shownAs path: String) throws(FileError) {
    self.path = path
    descriptor = try FileSystem.open(target, O_RDWR | O_CREAT | O_TRUNC, action: "create")
  }

  deinit { close(descriptor) }

  /// The number of records.
  public var recordCount: Int { layout.withLock { Int($0.count) } }
  /// The size of the file up to the last record.
  public var byteCount: Int { layout.withLock { $0.end } }

  /// Appends a record and writes its metadata.
  ///
  /// - Throws: ``FileError`` for a type that blob files cannot hold, or when the write fails.
  public func reserve(_ type: ElementType, count: Int) throws(FileError) -> BlobSlot {
    let slot = try layout.withLock { (layout: inout BlobLayout) throws(FileError) -> BlobSlot in
      try layout.reserve(type, count: count, path: path)
    }
    allocate(Int(slot.dataOffset) + slot.byteCount)
    try write(BlobLayout.metadata(slot), at: Int(slot.recordOffset))
    return slot
  }

  /// Allocates blocks up to `end` and beyond, in large steps, which makes the writes faster.
  ///
  /// Failure is left for the write to report.
  private func allocate(_ end: Int) {
    guard end > BlobFileWriter.smallestAllocation, let allocate = LinuxCalls.allocate else {
      return
    }
    allocated.withLock { allocated in
      if end <= allocated { return }
      let target = end + min(end, BlobFileWriter.largestStep)
      _ = allocate(descriptor, 0, Int64(allocated), Int64(target - allocated))
      allocated = target
    }
  }

  private static let smallestAllocation = 1 << 20
  private static let largestStep = 64 << 20

  /// Writes part of a record's data, from any thread.
  public func write(
    _ bytes: UnsafeRawBufferPointer, to slot: BlobSlot, at byteOffset: Int
  ) throws(FileError) {
    try BlobLayout.check(bytes.count, in: slot, at: byteOffset, path: path)
    try FileSystem.write(bytes, to: descriptor, at: Int(slot.dataOffset) + byteOffset, path: path)
  }

  /// Writes the header and ends the file at its last byte of data; without records at 0 bytes.
  public func finish() throws(FileError) {
    let layout = layout.withLock { $0 }
    if layout.count > 0 { try write(layout.header, at: 0) }
    while ftruncate(descriptor, off_t(layout.end)) != 0 {
      if errno != EINTR { throw .last(path, "set the size") }
    }
  }

  /// Makes the file's contents durable.
  public func synchronize() throws(FileError) {
    if fsync(descriptor) != 0 { throw .last(path, "synchronize") }
  }

  private func write(_ bytes: [UInt8], at offset: Int) throws(FileError) {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(FileError) in
        try FileSystem.write(buffer, to: descriptor, at: offset, path: path)
      }
    }
    try result.get()
  }
}
