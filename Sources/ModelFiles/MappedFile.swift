#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file's bytes, mapped for reading; an empty file is an empty buffer.
public final class MappedFile: Sendable {
  /// The name used in errors.
  public let path: String
  /// The size in bytes.
  public let count: Int
  private nonisolated(unsafe) let base: UnsafeMutableRawPointer?
  private let isMapped: Bool

  /// Maps the file at `path`.
  ///
  /// - Throws: ``FileError`` when it is absent, a folder or no regular file.
  public convenience init(path: String) throws(FileError) {
    try self.init(path: path, shownAs: path)
  }

  /// Maps the file at `path`; errors name it `name`.
  init(path: String, shownAs name: String) throws(FileError) {
    let descriptor: Int32
    do {
      // Without O_NONBLOCK the opening of a named pipe waits for its writer.
      descriptor = try FileSystem.open(path, O_RDONLY | O_NONBLOCK, action: "open")
    } catch .missing { throw .missing(name) } catch .system(_, let action, let code) {
      throw .system(name, action, errno: code)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .last(name, "read the status") }
    switch FileSystem.kind(of: status) {
    case .folder: throw .malformed(name, "a folder where a file is expected")
    case .other: throw .unsupported(name, "not a regular file")
    case .file(let size):
      self.path = name
      count = size
      isMapped = size > 0
      if size == 0 {
        base = nil
        return
      }
      let address = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
      guard let address, address != MAP_FAILED else { throw .last(name, "map") }
      base = address
    }
  }

  /// Holds bytes that have no file of their own, such as those unpacked from an archive.
  public init(contents: [UInt8], path: String) {
    self.path = path
    count = contents.count
    isMapped = false
    if contents.isEmpty {
      base = nil
    } else {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: contents.count, alignment: 64)
      UnsafeMutableRawBufferPointer(start: memory, count: contents.count).copyBytes(from: contents)
      base = memory
    }
  }

  deinit {
    guard let base else { return }
    if isMapped { munmap(base, count) } else { base.deallocate() }
  }

  /// The bytes; valid as long as the file object lives, which its last use may end: prefer
  /// ``withBytes(_:)`` where nothing else holds the object.
  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Calls `body` with the bytes and keeps the file alive meanwhile.
  public func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    defer { withExtendedLifetime(self) {} }
    return try body(bytes)
  }

  /// Says that the whole pages inside the byte range are not needed soon; they stay readable.
  public func release(_ range: Range<Int>) {
    guard isMapped, let base else { return }
    let page = MappedFile.pageSize
    let range = range.clamped(to: 0..<count)
    let first = (range.lowerBound + page - 1) / page * page
    // The end of the file ends its last page.
    let last = range.upperBound == count ? count : range.upperBound / page * page
    if first < last { madvise(base + first, last - first, MADV_DONTNEED) }
  }

  private static let pageSize = max(1, Int(sysconf(Int32(_SC_PAGESIZE))))

  /// The little-endian integer at a byte offset, or nil when the file ends before it does.
  func integer<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) -> T? {
    guard offset >= 0, count >= MemoryLayout<T>.size, offset <= count - MemoryLayout<T>.size else {
      return nil
    }
    return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// Whether the file starts with `prefix`.
  func starts(with prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

  /// Whether Git LFS left a pointer in the file's place.
  var isLFSPointer: Bool { starts(with: "version https://git-lfs.github.com/spec/") }
}
