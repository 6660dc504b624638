#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A lock among processes and threads, on a file of its own; the system releases it when its holder
/// ends, however that happens.
package final class FileLock: Sendable {
  private let path: String
  private let descriptor: Int32

  /// Waits for the lock.
  ///
  /// - Parameter waiting: Called once when somebody else holds it.
  package convenience init(_ path: String, waiting: (() -> Void)? = nil) throws(FileError) {
    while true {
      let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT, action: "lock")
      if try FileLock.lock(descriptor, LOCK_EX | LOCK_NB, path) == false {
        waiting?()
        _ = try FileLock.lock(descriptor, LOCK_EX, path)
      }
      if FileLock.isCurrent(descriptor, path) {
        self.init(path: path, descriptor: descriptor)
        return
      }
      // The last holder has removed the file; a lock on it excludes nobody.
      close(descriptor)
    }
  }

  /// The lock, or nil when somebody else holds it.
  package static func ifFree(_ path: String) throws(FileError) -> FileLock? {
    let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT, action: "lock")
    if try lock(descriptor, LOCK_EX | LOCK_NB, path), isCurrent(descriptor, path) {
      return FileLock(path: path, descriptor: descriptor)
    }
    close(descriptor)
    return nil
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Removes the lock's file, which releases the lock for those to come.
  package func remove() { unlink(path) }

  private static func lock(
    _ descriptor: Int32, _ operation: Int32, _ path: String
  ) throws(FileError) -> Bool {
    while flock(descriptor, operation) != 0 {
      if errno == EINTR { continue }
      if errno == EWOULDBLOCK { return false }
      let code = errno
      close(descriptor)
      throw .system(path, "lock", errno: code)
    }
    return true
  }

  /// Whether the path still names the open file.
  private static func isCurrent(_ descriptor: Int32, _ path: String) -> Bool {
    var own = stat()
    var named = stat()
    return fstat(descriptor, &own) == 0 && stat(path, &named) == 0 && own.st_ino == named.st_ino
      && own.st_dev == named.st_dev
  }
}
