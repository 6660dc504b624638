#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// System calls with this module's errors.
package enum FileSystem {
  /// What stands at a path, symbolic links followed.
  package enum Kind: Equatable {
    case file(byteCount: Int)
    case folder
    case other
  }

  /// What stands at `path`, or nil when nothing does or a link leads nowhere.
  package static func kind(_ path: String) -> Kind? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return kind(of: status)
  }

  /// Whether a name stands at `path`, be it a link that leads nowhere.
  package static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  static func kind(of status: stat) -> Kind {
    switch status.st_mode & S_IFMT {
    case S_IFREG: .file(byteCount: Int(status.st_size))
    case S_IFDIR: .folder
    default: .other
    }
  }

  /// Opens `path`, closed on exec; the caller closes the descriptor.
  static func open(
    _ path: String, _ flags: Int32, mode: mode_t = 0o644, action: String
  ) throws(FileError) -> Int32 {
    while true {
      let descriptor = openFile(path, flags | O_CLOEXEC, mode)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw .last(path, action) }
    }
  }

  private static func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    #if canImport(Glibc)
      Glibc.open(path, flags, mode)
    #elseif canImport(Musl)
      Musl.open(path, flags, mode)
    #else
      Darwin.open(path, flags, mode)
    #endif
  }

  /// Writes all of `bytes` at `offset` of the file.
  static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int, path: String
  ) throws(FileError) {
    var done = 0
    while done < bytes.count {
      let piece = UnsafeRawBufferPointer(rebasing: bytes[done..<min(bytes.count, done + 1 << 30)])
      let count = pwrite(descriptor, piece.baseAddress, piece.count, off_t(offset + done))
      if count < 0 {
        if errno == EINTR { continue }
        throw .last(path, "write")
      }
      done += count
    }
  }

  /// Appends all of `bytes` to a stream that need not be seekable.
  static func append(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, path: String
  ) throws(FileError) {
    var done = 0
    while done < bytes.count {
      let piece = UnsafeRawBufferPointer(rebasing: bytes[done..<min(bytes.count, done + 1 << 30)])
      #if canImport(Glibc)
        let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
      #elseif canImport(Musl)
        let count = Musl.write(descriptor, piece.baseAddress, piece.count)
      #else
        let count = Darwin.write(descriptor, piece.baseAddress, piece.count)
      #endif
      if count < 0 {
        if errno == EINTR { continue }
        throw .last(path, "write")
      }
      done += count
    }
  }

  /// Creates a new file of `bytes`.
  static func create(_ path: String, _ bytes: UnsafeRawBufferPointer) throws(FileError) {
    let descriptor = try open(path, O_WRONLY | O_CREAT | O_EXCL, action: "create")
    defer { close(descriptor) }
    try append(bytes, to: descriptor, path: path)
  }

  /// Makes a folder; one that stands there already is not an error when `shared`.
  package static func makeFolder(
    _ path: String, mode: mode_t = 0o755, shared: Bool = false
  ) throws(FileError) {
    if mkdir(path, mode) == 0 { return }
    if shared && errno == EEXIST && kind(path) == .folder { return }
    throw .last(path, "create the folder")
  }

  /// Makes the folder `relative` and those above it inside `base`.
  static func makeFolders(_ relative: some StringProtocol, in base: String) throws(FileError) {
    var path = base
    for name in relative.split(separator: "/") {
      path += "/" + name
      try makeFolder(path, shared: true)
    }
  }

  /// Appends bytes to a file, which is made where it is missing, by one system call.
  package static func append(_ bytes: [UInt8], to path: String) throws(FileError) {
    // Without O_NONBLOCK the opening of a named pipe waits for its reader.
    let descriptor = try open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, action: "open")
    defer { close(descriptor) }
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(FileError) in try append(buffer, to: descriptor, path: path) }
    }
    try result.get()
  }

  /// Renames a file or folder on one file system; nothing may stand at the new place.
  package static func move(_ path: String, to target: String) throws(FileError) {
    if rename(path, target) != 0 { throw .last(target, "create") }
  }

  /// Makes a folder and those above it.
  package static func makePath(_ path: String) throws(FileError) {
    if kind(path) == .folder { return }
    let parent = PathNames.parent(path)
    if parent != "." && parent != path { try makePath(parent) }
    try makeFolder(path, shared: true)
  }

  /// The names in a folder, sorted by their UTF-8 bytes.
  ///
  /// - Parameter orNone: Whether a folder that is missing has no names; else that is an error.
  package static func names(
    in path: String, orNone: Bool = false
  ) throws(FileError) -> [String] {
    guard let stream = opendir(path) else {
      if orNone && errno == ENOENT { return [] }
      throw .last(path, "read the folder")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: field.pointee))
        { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Removes a file, a link or a folder with all it holds; links are not followed.
  ///
  /// - Returns: Whether nothing is left at the path.
  @discardableResult
  package static func removeTree(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return true }
    if status.st_mode & S_IFMT != S_IFDIR { return unlink(path) == 0 }
    if let names = try? names(in: path) {
      for name in names { removeTree(path + "/" + name) }
    }
    return rmdir(path) == 0
  }

  /// Makes a file, or a folder and all it holds, durable.
  package static func synchronizeTree(_ path: String) throws(FileError) {
    if kind(path) == .folder {
      for name in try names(in: path) { try synchronizeTree(path + "/" + name) }
    }
    try synchronize(path)
  }

  /// Makes the contents of a file, or the names of a folder, durable.
  package static func synchronize(_ path: String) throws(FileError) {
    let descriptor = try open(path, O_RDONLY, action: "synchronize")
    defer { close(descriptor) }
    if fsync(descriptor) != 0 && errno != EINVAL { throw .last(path, "synchronize") }
  }

  /// Copies a regular file to a new one, sharing its blocks where the file system can.
  static func copy(_ source: String, to target: String) throws(FileError) {
    let input = try open(source, O_RDONLY, action: "open")
    defer { close(input) }
    let output = try open(target, O_WRONLY | O_CREAT | O_EXCL, action: "create")
    defer { close(output) }
    if let copyRange = LinuxCalls.copyFileRange {
      while true {
        let count = copyRange(input, nil, output, nil, 1 << 30, 0)
        if count > 0 { continue }
        if count == 0 { break }
        if errno == EINTR { continue }
        if [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EBADF].contains(errno) { break }
        throw .last(target, "copy")
      }
    }
    // What is left (all of it where the kernel cannot copy) goes through a buffer.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    while true {
      let count = read(input, buffer.baseAddress, buffer.count)
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR { continue }
        throw .last(source, "read")
      }
      try append(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: output, path: target)
    }
  }

  /// The absolute path without symbolic links, or nil when it does not exist.
  package static func resolved(_ path: String) -> String? {
    guard let text = realpath(path, nil) else { return nil }
    defer { free(text) }
    return String(cString: text)
  }

  /// Bytes that an unprivileged process can still write beside `path`, or nil when unknown.
  static func freeBytes(_ path: String) -> Int? {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    let (bytes, overflow) = Int(clamping: status.f_bavail).multipliedReportingOverflow(
      by: Int(clamping: status.f_frsize))
    return overflow ? nil : bytes
  }

  /// A clock for measured times, in seconds.
  static func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}

/// Linux calls that the C library's module does not show to Swift, found by name; nil where the C
/// library has none.
enum LinuxCalls {
  typealias CopyFileRange =
    @convention(c) (
      Int32, UnsafeMutablePointer<Int64>?, Int32, UnsafeMutablePointer<Int64>?, Int, UInt32
    ) -> Int
  typealias RenameAt =
    @convention(c) (
      Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
    ) -> Int32

  typealias Allocate = @convention(c) (Int32, Int32, Int64, Int64) -> Int32

  /// `copy_file_range(2)`.
  static let copyFileRange: CopyFileRange? = symbol("copy_file_range")
  /// `renameat2(2)`.
  static let renameAt: RenameAt? = symbol("renameat2")
  /// `fallocate(2)`.
  static let allocate: Allocate? = symbol("fallocate")
  /// The flags of `renameat2(2)`.
  static let noReplace: UInt32 = 1
  static let exchange: UInt32 = 2

  private static func symbol<T>(_ name: String) -> T? {
    #if os(Linux)
      guard let address = dlsym(nil, name) else { return nil }
      return unsafeBitCast(address, to: T.self)
    #else
      return nil
    #endif
  }
}
