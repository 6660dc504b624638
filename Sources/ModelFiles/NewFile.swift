#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The error number of a full disk.
let noSpace = ENOSPC

/// A file that is created and appended to.
final class NewFile {
  let path: String
  private let descriptor: Int32

  /// Creates the file; nothing may stand at the path.
  init(_ path: String) throws(FileError) {
    self.path = path
    descriptor = try FileSystem.open(path, O_WRONLY | O_CREAT | O_EXCL, action: "create")
  }

  /// Opens a device or pipe that is there.
  init(existing path: String) throws(FileError) {
    self.path = path
    descriptor = try FileSystem.open(path, O_WRONLY, action: "open")
  }

  deinit { close(descriptor) }

  func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    try FileSystem.append(bytes, to: descriptor, path: path)
  }

  func synchronize() throws(FileError) {
    if fsync(descriptor) != 0 && errno != EINVAL { throw .last(path, "synchronize") }
  }
}

extension NewFile {
  func append(_ bytes: [UInt8]) throws(FileError) {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(FileError) in try append(buffer) }
    }
    try result.get()
  }
}
