#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What the system says of a file beside its contents: the same status, the same contents, unless the
/// file is younger than the time step of its file system.
public struct FileStatus: Codable, Sendable, Equatable {
  /// The device that holds the file.
  public var device: UInt64
  /// The number of the file on its device.
  public var inode: UInt64
  /// The size in bytes.
  public var byteCount: Int
  /// When the contents last changed, in nanoseconds since 1970.
  public var modified: Int64
  /// When contents or attributes last changed, in nanoseconds since 1970; no program can set it.
  public var changed: Int64

  /// The status of the regular file at `path`, links followed.
  ///
  /// - Throws: ``FileError``.
  public init(path: String) throws(FileError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .last(path, "open") }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw .unsupported(path, "not a regular file")
    }
    self.init(status)
  }

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(status.st_ino)
    byteCount = Int(status.st_size)
    #if canImport(Darwin)
      modified = FileStatus.nanoseconds(status.st_mtimespec)
      changed = FileStatus.nanoseconds(status.st_ctimespec)
    #else
      modified = FileStatus.nanoseconds(status.st_mtim)
      changed = FileStatus.nanoseconds(status.st_ctim)
    #endif
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// The system's clock in nanoseconds since 1970.
  public static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
  }

  /// Whether a change after `time` would show in the times of the file.
  ///
  /// File systems count in steps: of the kernel's clock, at most 10 ms, or of 1 or 2 s, which whole
  /// seconds tell. A file that changed within a step before `time` may change once more without a
  /// new time.
  public func isSettled(at time: Int64) -> Bool {
    max(modified, changed) <= time &- step
  }

  private var step: Int64 { changed % 1_000_000_000 == 0 ? 2_000_000_000 : 20_000_000 }

  /// How long after `time` the file is settled, in nanoseconds; 0 when it is, or has a time to come.
  package func settling(at time: Int64) -> Int64 {
    let last = max(modified, changed)
    return last > time || isSettled(at: time) ? 0 : step &- (time &- last)
  }

  /// Whether a regular file stands at a path, links followed.
  package static func isFile(_ path: String) -> Bool { (try? FileStatus(path: path)) != nil }

  /// Lets time pass.
  package static func wait(nanoseconds: Int64) {
    usleep(UInt32(clamping: (nanoseconds &+ 999) / 1000))
  }
}

extension ContentDigest {
  /// The SHA-256 of a file in hexadecimal, with the status that the file had meanwhile.
  ///
  /// - Parameter progress: Told the number of bytes of each piece.
  /// - Throws: ``FileError``, also when the file changes while it is read.
  public static func file(
    _ path: String, progress: ((Int) -> Void)? = nil
  ) throws(FileError) -> (digest: String, status: FileStatus) {
    let descriptor = try FileSystem.open(path, O_RDONLY | O_NONBLOCK, action: "open")
    defer { close(descriptor) }
    func status() throws(FileError) -> FileStatus {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .last(path, "read the status") }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw .unsupported(path, "not a regular file")
      }
      return FileStatus(status)
    }
    let before = try status()
    var digest = ContentDigest()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw .last(path, "read")
      }
      digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      progress?(count)
    }
    guard try status() == before else {
      throw .malformed(path, "the file changed while it was read")
    }
    return (digest.hexadecimal, before)
  }
}
