#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file of a container: its path relative to the container and its size.
public struct ContainedFile: Sendable, Equatable {
  /// The path relative to the package or bundle, "/" between its parts.
  public var path: String
  /// The size in bytes.
  public var byteCount: Int
}

/// The files below a folder or in an archive, sorted by path.
package struct FileTree {
  /// Sorted by the UTF-8 bytes of their paths.
  package private(set) var files: [ContainedFile] = []
  /// Folders without files.
  var emptyFolders: [String] = []

  /// The most files and the deepest nesting that a container may have.
  static let maximumCount = 100_000
  static let maximumDepth = 32

  /// Reads the names below `base`; links to files count as files, links to folders are refused
  /// below the base itself.
  package init(folder base: String) throws(FileError) {
    try add("", base: base, depth: 0)
    sort()
  }

  init(files: [ContainedFile], emptyFolders: [String]) {
    self.files = files
    self.emptyFolders = emptyFolders
    sort()
  }

  private mutating func sort() {
    files.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    emptyFolders.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  private mutating func add(
    _ relative: String, base: String, depth: Int
  ) throws(FileError) {
    let folder = relative.isEmpty ? base : base + "/" + relative
    if depth > FileTree.maximumDepth {
      throw .unsupported(folder, "folders nested deeper than \(FileTree.maximumDepth)")
    }
    let names = try FileSystem.names(in: folder)
    if names.isEmpty && !relative.isEmpty { emptyFolders.append(relative) }
    for name in names {
      let path = relative.isEmpty ? name : relative + "/" + name
      let full = base + "/" + path
      var status = stat()
      guard lstat(full, &status) == 0 else { throw .last(full, "read the status") }
      let isLink = status.st_mode & S_IFMT == S_IFLNK
      switch FileSystem.kind(full) {
      case nil: throw .malformed(full, "a symbolic link that leads nowhere")
      case .other: throw .unsupported(full, "neither a file nor a folder")
      case .folder:
        if isLink { throw .unsupported(full, "a symbolic link to a folder") }
        try add(path, base: base, depth: depth + 1)
      case .file(let size):
        if files.count >= FileTree.maximumCount {
          throw .unsupported(base, "more than \(FileTree.maximumCount) files")
        }
        files.append(ContainedFile(path: path, byteCount: size))
      }
    }
  }

  /// The file at exactly this path.
  func file(_ path: String) -> ContainedFile? {
    let index = FileTree.firstIndex(files.count, notBefore: path) { files[$0].path }
    return index < files.count && files[index].path == path ? files[index] : nil
  }

  /// The files inside the folder at `path`.
  func files(below path: String) -> ArraySlice<ContainedFile> {
    let start = FileTree.firstIndex(files.count, notBefore: path + "/") { files[$0].path }
    let end = FileTree.firstIndex(files.count, notBefore: path + "0") { files[$0].path }
    return files[start..<end]  // "0" follows "/"
  }

  /// Whether a file or a folder stands at `path`.
  func contains(_ path: String) -> Bool {
    if file(path) != nil || !files(below: path).isEmpty { return true }
    for name in [path, path + "/"] {
      let index = FileTree.firstIndex(emptyFolders.count, notBefore: name) { emptyFolders[$0] }
      if index < emptyFolders.count,
        emptyFolders[index] == path || emptyFolders[index].hasPrefix(path + "/")
      {
        return true
      }
    }
    return false
  }

  /// The first of `count` sorted names that does not come before `name`.
  private static func firstIndex(
    _ count: Int, notBefore name: String, _ element: (Int) -> String
  ) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if element(middle).utf8.lexicographicallyPrecedes(name.utf8) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  /// The bytes of all files.
  var byteCount: Int { files.reduce(0) { $0 &+ $1.byteCount } }
}
