import CZip

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes zip archives whose bytes depend on names and contents only.
enum ZipWriter {
  /// Files of at least this many bytes are stored when deflation would gain little.
  private static let storeThreshold = 1 << 20

  /// Packs files into a new archive at `output`: sorted names, dates 1980-01-01, modes 0644/0755.
  ///
  /// - Parameter files: Pairs of a name in the archive and a path on disk.
  static func write(
    files: [(name: String, source: String)], folders: [String] = [], to output: String
  ) throws(FileError) {
    var code: Int32 = 0
    guard let archive = zip_open(output, Int32(ZIP_CREATE | ZIP_EXCL), &code) else {
      throw .system(output, "create the archive", errno: errno)
    }
    do throws(FileError) {
      let names =
        files.map { (name: $0.name, source: $0.source as String?) }
        + folders.map { (name: $0 + "/", source: nil) }
      for entry in names.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
        try add(entry.name, entry.source, to: archive, output)
      }
    } catch {
      zip_discard(archive)
      throw error
    }
    if zip_close(archive) != 0 {
      let error = failure(archive, output)
      zip_discard(archive)
      throw error
    }
    // libzip gives its file a mode of its own; that of a file made here is the right one.
    let probe = output + ".mode"
    _ = try NewFile(probe)
    var status = stat()
    if stat(probe, &status) == 0 { chmod(output, status.st_mode & 0o777) }
    unlink(probe)
  }

  private static func add(
    _ name: String, _ source: String?, to archive: OpaquePointer, _ output: String
  ) throws(FileError) {
    let index: Int64
    if let source {
      // A length of -1 stands for all of the file.
      guard let contents = zip_source_file(archive, source, 0, -1) else {
        throw failure(archive, output)
      }
      index = zip_file_add(archive, name, contents, zip_flags_t(ZIP_FL_ENC_UTF_8))
      if index < 0 { zip_source_free(contents) }
    } else {
      index = zip_dir_add(archive, name, zip_flags_t(ZIP_FL_ENC_UTF_8))
    }
    guard index >= 0 else { throw failure(archive, output) }
    let mode = source == nil ? S_IFDIR | 0o755 : S_IFREG | 0o644
    let unix: UInt8 = 3
    let date: UInt16 = 0 << 9 | 1 << 5 | 1  // 1980-01-01
    guard
      zip_file_set_external_attributes(archive, UInt64(index), 0, unix, UInt32(mode) << 16) == 0,
      zip_file_set_dostime(archive, UInt64(index), 0, date, 0) == 0
    else { throw failure(archive, output) }
    if let source {
      let method = try shrinks(source) ? ZIP_CM_DEFLATE : ZIP_CM_STORE
      guard zip_set_file_compression(archive, UInt64(index), Int32(method), 6) == 0 else {
        throw failure(archive, output)
      }
    }
  }

  private static func failure(_ archive: OpaquePointer, _ output: String) -> FileError {
    let error = zip_get_error(archive)
    let code = zip_error_code_system(error)
    if zip_error_system_type(error) == ZIP_ET_SYS && code != 0 {
      return .system(output, "write the archive", errno: code)
    }
    return .unsupported(
      output, "the archive cannot be written: \(String(cString: zip_error_strerror(error)))")
  }

  /// Whether deflation is worth its time: small files always, large ones by the entropy of samples,
  /// taken for even and odd bytes apart because of the structure of 16-bit floats.
  private static func shrinks(_ path: String) throws(FileError) -> Bool {
    let file = try MappedFile(path: path)
    if file.count < storeThreshold { return true }
    return file.withBytes { sampledEntropy($0) < 7.7 }
  }

  /// Bits per byte of samples across the bytes, the mean of that of even and of odd ones.
  private static func sampledEntropy(_ bytes: UnsafeRawBufferPointer) -> Double {
    let pieces = 64
    let length = 4096
    var counts = [Int](repeating: 0, count: 512)
    for piece in 0..<pieces {
      let start = (bytes.count - length) / (pieces - 1) * piece / 2 * 2
      for index in start..<start + length { counts[(index & 1) << 8 | Int(bytes[index])] += 1 }
    }
    let total = Double(pieces * length / 2)
    var entropy = 0.0
    for count in counts where count > 0 {
      let share = Double(count) / total
      entropy -= share * log2(share)
    }
    return entropy / 2
  }
}
