import CZip

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An entry of a zip archive, its name checked.
struct ZipEntry {
  let index: UInt64
  /// The path, "/" between its parts, none at the end.
  let name: String
  let isFolder: Bool
  /// The size as the directory declares it; what really comes out is counted again.
  let byteCount: Int
}

/// A zip archive opened for reading.
final class ZipReader {
  let path: String
  /// The size of the archive in bytes.
  let archiveBytes: Int
  /// The entries without those that only macOS's archiver adds.
  private(set) var entries: [ZipEntry] = []
  private let archive: OpaquePointer

  /// Whether a file that starts with these bytes is a zip archive.
  static func isArchive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    [[0x50, 0x4B, 3, 4], [0x50, 0x4B, 5, 6], [0x50, 0x4B, 7, 8]].contains { bytes.starts(with: $0) }
  }

  /// Reads the directory and checks every entry.
  ///
  /// - Throws: ``FileError`` for unsafe, doubled or special entries, which it names.
  init(path: String, limits: ArchiveLimits = ArchiveLimits()) throws(FileError) {
    guard case .file(let size) = FileSystem.kind(path) else { throw .missing(path) }
    self.path = path
    archiveBytes = size
    var code: Int32 = 0
    guard let archive = zip_open(path, Int32(ZIP_RDONLY), &code) else {
      let systemCode = errno
      var error = zip_error_t()
      zip_error_init_with_code(&error, code)
      defer { zip_error_fini(&error) }
      if code == ZIP_ER_OPEN || code == ZIP_ER_READ || code == ZIP_ER_SEEK {
        throw .system(path, "read the archive", errno: systemCode)
      }
      let text = String(cString: zip_error_strerror(&error))
      throw .malformed(path, "the zip archive is damaged: \(text)")
    }
    self.archive = archive
    try readEntries(limits)
  }

  deinit { zip_discard(archive) }

  private func readEntries(_ limits: ArchiveLimits) throws(FileError) {
    let count = zip_get_num_entries(archive, 0)
    guard count <= Int64(FileTree.maximumCount) else {
      throw .unsupported(path, "an archive of \(count) entries")
    }
    var folders: Set<String> = []
    var files: Set<String> = []
    var budget = InflationBudget(limits: limits, archiveBytes: archiveBytes, path: path)
    for index in 0..<UInt64(max(0, count)) {
      var status = zip_stat_t()
      guard zip_stat_index(archive, index, 0, &status) == 0,
        let cName = zip_get_name(archive, index, 0), let raw = String(validatingCString: cName)
      else { throw .malformed(path, "archive entry \(index) has no readable name") }
      func fault(_ text: String) -> FileError {
        .malformed(path, "archive entry \"\(ZipReader.printable(raw))\": \(text)")
      }
      if let reason = PathNames.fault(inRelative: raw) {
        if raw == "./" { continue }
        throw fault(reason)
      }
      if let reason = specialKind(of: index) { throw fault(reason) }
      let name = PathNames.normalized(raw)
      if ZipReader.isLitter(name) { continue }
      let isFolder = raw.hasSuffix("/")
      if isFolder {
        guard folders.insert(name).inserted else { throw fault("the name occurs twice") }
        entries.append(ZipEntry(index: index, name: name, isFolder: true, byteCount: 0))
        continue
      }
      guard files.insert(name).inserted else { throw fault("the name occurs twice") }
      guard status.encryption_method == ZIP_EM_NONE else {
        throw .unsupported(path, "archive entry \"\(ZipReader.printable(raw))\" is encrypted")
      }
      guard let size = Int(exactly: status.size) else { throw fault("a size of \(status.size)") }
      try budget.spend(size)
      entries.append(ZipEntry(index: index, name: name, isFolder: false, byteCount: size))
    }
    for name in folders.union(files) {
      var parent = PathNames.parent(name)
      if files.contains(name) && folders.contains(name) { parent = name }
      while parent != "." {
        if files.contains(parent) {
          throw .malformed(
            path, "archive entry \"\(ZipReader.printable(parent))\": both a file and a folder")
        }
        parent = PathNames.parent(parent)
      }
    }
  }

  /// Why an entry is neither a file nor a folder, or nil when it is one.
  private func specialKind(of index: UInt64) -> String? {
    var system: UInt8 = 0
    var attributes: UInt32 = 0
    guard zip_file_get_external_attributes(archive, index, 0, &system, &attributes) == 0 else {
      return "its attributes cannot be read"
    }
    // Unix (3) and macOS (19) keep the file mode in the upper half.
    guard system == 3 || system == 19 else { return nil }
    switch mode_t(attributes >> 16) & S_IFMT {
    case 0, S_IFREG, S_IFDIR: return nil
    case S_IFLNK: return "a symbolic link"
    default: return "a special file"
    }
  }

  /// Names that macOS's archiver and Finder add beside the contents.
  private static func isLitter(_ name: String) -> Bool {
    let parts = name.split(separator: "/")
    return parts.contains("__MACOSX") || parts.last.map { $0.hasPrefix("._") } ?? false
      || parts.last == ".DS_Store"
  }

  /// The name with control characters shown as "?", for messages of one line.
  static func printable(_ name: String) -> String {
    String(
      String.UnicodeScalarView(
        name.unicodeScalars.prefix(200).map { $0.value < 32 || $0.value == 127 ? "?" : $0 }))
  }

  /// Yields the entry's bytes in pieces; never more than it declares.
  func read(
    _ entry: ZipEntry, budget: inout InflationBudget,
    _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    let place = "archive entry \"\(ZipReader.printable(entry.name))\""
    guard let file = zip_fopen_index(archive, entry.index, 0) else {
      throw failure(zip_get_error(archive), place)
    }
    defer { zip_fclose(file) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 64)
    defer { buffer.deallocate() }
    var total = 0
    while true {
      let count = Int(zip_fread(file, buffer.baseAddress, UInt64(buffer.count)))
      if count < 0 { throw failure(zip_file_get_error(file), place) }
      if count == 0 { break }
      total += count
      if total > entry.byteCount {
        throw .malformed(path, "\(place): more than the \(entry.byteCount) bytes it declares")
      }
      try budget.spend(count)
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    if total != entry.byteCount {
      throw .malformed(path, "\(place): \(total) of the \(entry.byteCount) bytes it declares")
    }
  }

  /// The entry's bytes, at most `maximum`.
  func contents(
    _ entry: ZipEntry, maximum: Int, budget: inout InflationBudget
  ) throws(FileError) -> [UInt8] {
    if entry.byteCount > maximum {
      throw .unsupported(
        path, "archive entry \"\(ZipReader.printable(entry.name))\": \(entry.byteCount) bytes")
    }
    var bytes: [UInt8] = []
    try read(entry, budget: &budget) { bytes.append(contentsOf: $0) }
    return bytes
  }

  private func failure(_ error: UnsafeMutablePointer<zip_error_t>, _ place: String) -> FileError {
    let code = zip_error_code_zip(error)
    let text = String(cString: zip_error_strerror(error))
    switch code {
    case ZIP_ER_COMPNOTSUPP, ZIP_ER_ENCRNOTSUPP, ZIP_ER_NOPASSWD:
      return .unsupported(path, "\(place): \(text)")
    case ZIP_ER_READ where zip_error_code_system(error) != 0:
      return .system(path, "read the archive", errno: zip_error_code_system(error))
    default: return .malformed(path, "\(place): \(text)")
    }
  }
}
