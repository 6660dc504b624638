/// Packing of models into zip archives and unpacking.
public enum Archive {
  /// Packs a package folder, a bundle folder or a specification file into an archive.
  ///
  /// The folder keeps its name as the one entry at the archive's root. Names are sorted, dates and
  /// modes fixed: the same contents give the same bytes.
  ///
  /// - Throws: ``FileError/exists(_:)`` when `output` is there and not `force`.
  public static func pack(
    _ model: String, to output: String, force: Bool = false
  ) throws(FileError) {
    let target = try OutputTarget(output, force: force)
    let source = PathNames.trimmed(model)
    if let inside = FileSystem.resolved(PathNames.parent(target.path)),
      let folder = FileSystem.resolved(source), (inside + "/").hasPrefix(folder + "/")
    {
      throw .unsupported(target.path, "the archive would lie inside the model that it packs")
    }
    let temporary = try TemporaryFolder(besides: target.path)
    let archive = temporary.path + "/archive"
    switch FileSystem.kind(source) {
    case nil: throw .missing(source)
    case .other: throw .unsupported(source, "neither a file nor a folder")
    case .file:
      try ZipWriter.write(files: [(PathNames.last(source), source)], to: archive)
    case .folder:
      try pack(folder: source, named: PathNames.last(source), to: archive)
    }
    try FileSystem.synchronize(archive)
    try target.place(archive)
  }

  /// Packs a folder's files below the name `root` of the archive.
  static func pack(folder: String, named root: String, to archive: String) throws(FileError) {
    let tree = try FileTree(folder: folder)
    if tree.files.isEmpty { throw .malformed(folder, "the folder is empty") }
    let name = root == "." || root == ".." || root == "/" ? "model.mlpackage" : root
    try ZipWriter.write(
      files: tree.files.map { ("\(name)/\($0.path)", "\(folder)/\($0.path)") },
      folders: tree.emptyFolders.map { "\(name)/\($0)" }, to: archive)
  }

  /// Unpacks the model in an archive: a folder for a package or bundle, else a file.
  ///
  /// - Throws: ``FileError`` when the archive holds no model or an unsafe entry, inflates beyond
  ///   the limits, or `output` is there and not `force`.
  public static func unpack(
    _ archive: String, to output: String, force: Bool = false,
    limits: ArchiveLimits = ArchiveLimits()
  ) throws(FileError) {
    let target = try OutputTarget(output, force: force)
    let contents = try ArchiveContents(path: archive, limits: limits)
    let temporary = try TemporaryFolder(besides: target.path)
    let model = temporary.path + "/model"
    try FileSystem.makeFolder(model)
    try contents.unpack(into: model)
    var result = model
    if contents.kind == .specification, let file = contents.tree.files.first {
      result += "/" + file.path
    }
    try FileSystem.synchronizeTree(result)
    try target.place(result)
  }
}
