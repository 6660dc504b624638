#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes single files that appear complete or not at all.
public enum AtomicFile {
  /// Writes `bytes` to `path`.
  ///
  /// - Throws: ``FileError/exists(_:)`` when the file is there and not `force`.
  public static func write(
    _ bytes: [UInt8], to path: String, force: Bool = false
  ) throws(FileError) {
    try write(to: path, force: force) { file throws(FileError) in try file.append(bytes) }
  }

  /// Writes what `body` appends; a device or pipe at `path` is written in place.
  static func write(
    to path: String, force: Bool, _ body: (NewFile) throws(FileError) -> Void
  ) throws(FileError) {
    if FileSystem.kind(path) == .other {
      let stream = try NewFile(existing: path)
      return try body(stream)
    }
    if FileSystem.kind(path) == .folder { throw .exists(path) }
    let target = try OutputTarget(path, force: force, isModel: false)
    let temporary = try TemporaryFolder(besides: target.path)
    let file = try NewFile(temporary.path + "/file")
    try body(file)
    try file.synchronize()
    try target.place(file.path)
  }
}
