/// What a zip archive holds: one package, one bundle or one specification file.
struct ArchiveContents {
  let reader: ZipReader
  let kind: ContainerKind
  /// The folder in the archive that is the package or bundle, with its slash; "" at the root.
  let prefix: String
  /// The files of the model, relative to `prefix`.
  let tree: FileTree
  private let entries: [String: ZipEntry]
  private let limits: ArchiveLimits

  init(path: String, limits: ArchiveLimits = ArchiveLimits()) throws(FileError) {
    reader = try ZipReader(path: path, limits: limits)
    self.limits = limits
    let files = reader.entries.filter { !$0.isFolder }
    if files.isEmpty { throw .malformed(path, "the archive is empty") }
    if let root = try ArchiveContents.root(of: "Manifest.json", in: files, path: path) {
      kind = .package
      prefix = root
    } else if let root = try ArchiveContents.root(of: "coremldata.bin", in: files, path: path) {
      kind = .compiled
      prefix = root
    } else {
      kind = .specification
      let named = files.filter { PathNames.hasSuffix($0.name, ".mlmodel") }
      let models = files.count == 1 ? files : named
      guard let model = models.first else {
        throw .malformed(
          path, "the archive holds no model (no Manifest.json, coremldata.bin or .mlmodel file)")
      }
      if models.count > 1 {
        let names = ArchiveContents.list(models.map(\.name))
        throw .unsupported(path, "the archive holds \(models.count) models: \(names)")
      }
      let name = PathNames.last(model.name)
      prefix = String(model.name.dropLast(name.count))
    }
    let all = FileTree(
      files: files.map { ContainedFile(path: $0.name, byteCount: $0.byteCount) }, emptyFolders: [])
    var kept: [ContainedFile] = []
    var emptyFolders: [String] = []
    var entries: [String: ZipEntry] = [:]
    for entry in reader.entries where entry.name.hasPrefix(prefix) {
      let name = String(entry.name.dropFirst(prefix.count))
      if kind == .specification {
        if entry.isFolder || name.contains("/") { continue }
        if files.count > 1 && !PathNames.hasSuffix(name, ".mlmodel") { continue }
      }
      if entry.isFolder {
        if all.files(below: entry.name).isEmpty && !name.isEmpty { emptyFolders.append(name) }
        continue
      }
      kept.append(ContainedFile(path: name, byteCount: entry.byteCount))
      entries[name] = entry
    }
    tree = FileTree(files: kept, emptyFolders: emptyFolders)
    self.entries = entries
  }

  /// The folder, nearest to the archive's root, that holds a file of this name.
  private static func root(
    of name: String, in files: [ZipEntry], path: String
  ) throws(FileError) -> String? {
    let found = files.map(\.name).filter { $0 == name || $0.hasSuffix("/" + name) }
    let depth = { (name: String) in name.utf8.count { $0 == UInt8(ascii: "/") } }
    guard let least = found.map(depth).min() else { return nil }
    let nearest = found.filter { depth($0) == least }.map { String($0.dropLast(name.count)) }
    if nearest.count > 1 {
      throw .unsupported(path, "the archive holds \(nearest.count) models: \(list(nearest))")
    }
    return nearest.first
  }

  private static func list(_ names: [String]) -> String {
    let shown = names.sorted().prefix(4).map(ZipReader.printable).joined(separator: ", ")
    return names.count > 4 ? shown + ", …" : shown
  }

  /// The bytes of a file of the model.
  func contents(_ name: String, maximum: Int? = nil) throws(FileError) -> [UInt8] {
    guard let entry = entries[name] else { throw .missing(reader.path + "/" + prefix + name) }
    var budget = newBudget
    let maximum = min(maximum ?? .max, limits.maximumMemory)
    return try reader.contents(entry, maximum: maximum, budget: &budget)
  }

  private var newBudget: InflationBudget {
    InflationBudget(limits: limits, archiveBytes: reader.archiveBytes, path: reader.path)
  }

  /// Unpacks the model's files into a folder that is there and empty.
  func unpack(into base: String) throws(FileError) {
    if let free = FileSystem.freeBytes(base), tree.byteCount > free {
      throw .system(reader.path, "unpack \(tree.byteCount) bytes to \(base)", errno: noSpace)
    }
    var budget = newBudget
    for folder in tree.emptyFolders { try FileSystem.makeFolders(folder, in: base) }
    for file in tree.files {
      guard let entry = entries[file.path] else { continue }
      let parent = PathNames.parent(file.path)
      if parent != "." { try FileSystem.makeFolders(parent, in: base) }
      let target = base + "/" + file.path
      let output = try NewFile(target)
      try reader.read(entry, budget: &budget) { bytes throws(FileError) in
        try output.append(bytes)
      }
    }
  }
}
