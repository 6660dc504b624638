import Synchronization

/// A model as it lies on disk: its specification, its weight files and the files around them.
///
/// What a container is follows from its contents, never from its name. Nothing is ever written to
/// it. An archive whose weights are wanted is unpacked to a temporary folder, which goes with this
/// object; mapped files outlive it.
public final class ModelContainer: Sendable {
  /// The form of what was opened.
  public let kind: ContainerKind
  /// The form of the model in an archive; else ``kind``.
  public let contents: ContainerKind
  /// The path that was opened.
  public let path: String
  /// The serialized `Model` message; of a compiled bundle its `coremldata.bin`.
  public let specification: MappedFile
  /// The manifest's items, the specification first, then by path; empty without a manifest.
  public let items: [PackageItem]
  /// All files by path, relative to the package or bundle, with their unpacked sizes.
  public var files: [ContainedFile] { tree.files }
  /// The weight files by name, the form in which ``blobFile(named:)`` takes them.
  public let weightFiles: [(name: String, byteCount: Int)]
  /// Whether weight files can be read: false for an archive opened for its specification only.
  public let weightsAvailable: Bool

  /// The folder with the files, or nil where they are not at hand.
  let base: String?
  /// The files and folders.
  let tree: FileTree
  /// Paths of weight files relative to `base`, by name.
  let weightPaths: [String: String]
  private let temporary: TemporaryFolder?
  /// The limits under which files are read from the archive where no folder holds them.
  private let limits: ArchiveLimits
  private let blobs = Mutex<[String: BlobFile]>([:])

  /// Opens the model at `path`.
  ///
  /// - Parameter readingWeights: Whether an archive is unpacked; without it only its directory and
  ///   the specification are read.
  /// - Throws: ``FileError`` when there is nothing, no model, or a damaged one.
  public static func open(
    path: String, readingWeights: Bool = true, limits: ArchiveLimits = ArchiveLimits()
  ) throws(FileError) -> ModelContainer {
    let path = PathNames.trimmed(path)
    switch FileSystem.kind(path) {
    case nil: throw .missing(path)
    case .other: throw .unsupported(path, "neither a file nor a folder")
    case .folder:
      let tree = try modelTree(of: path)
      return try ModelContainer(
        path: path, kind: tree.kind, contents: tree.kind, tree: tree.files,
        source: .folder(path, temporary: nil), limits: limits)
    case .file:
      let file = try MappedFile(path: path)
      guard file.withBytes(ZipReader.isArchive) else {
        try FileSignature.checkSpecification(file)
        return ModelContainer(specification: file)
      }
    }
    let archive = try ArchiveContents(path: path, limits: limits)
    guard readingWeights && archive.kind != .specification else {
      return try ModelContainer(
        path: path, kind: .archive, contents: archive.kind, tree: archive.tree,
        source: .archive(archive), limits: limits)
    }
    let temporary = try TemporaryFolder()
    try archive.unpack(into: temporary.path)
    return try ModelContainer(
      path: path, kind: .archive, contents: archive.kind, tree: archive.tree,
      source: .folder(temporary.path, temporary: temporary), limits: limits)
  }

  /// Where the files of a container are read from.
  private enum Source {
    case folder(String, temporary: TemporaryFolder?)
    case archive(ArchiveContents)
  }

  /// Tells a package from a bundle, before the folder is searched through.
  private static func modelTree(
    of path: String
  ) throws(FileError) -> (kind: ContainerKind, files: FileTree) {
    if FileSystem.exists(path + "/Manifest.json") { return (.package, try FileTree(folder: path)) }
    if FileSystem.exists(path + "/coremldata.bin") {
      return (.compiled, try FileTree(folder: path))
    }
    let names = try FileSystem.names(in: path)
    if names.isEmpty { throw .malformed(path, "the folder is empty") }
    if names.contains("Data") { throw .malformed(path, "the package has no Manifest.json") }
    let inner = names.first { name in
      ["Manifest.json", "coremldata.bin"].contains { FileSystem.exists("\(path)/\(name)/\($0)") }
    }
    let note = inner.map { "; it holds the model \($0)" } ?? ""
    throw .malformed(
      path, "the folder is no model (no Manifest.json, no coremldata.bin)" + note)
  }

  private init(specification: MappedFile) {
    kind = .specification
    contents = .specification
    path = specification.path
    self.specification = specification
    items = []
    tree = FileTree(
      files: [
        ContainedFile(path: PathNames.last(specification.path), byteCount: specification.count)
      ], emptyFolders: [])
    weightFiles = []
    weightPaths = [:]
    weightsAvailable = true
    base = PathNames.parent(specification.path)
    temporary = nil
    limits = ArchiveLimits()
  }

  private init(
    path: String, kind: ContainerKind, contents: ContainerKind, tree: FileTree, source: Source,
    limits: ArchiveLimits
  ) throws(FileError) {
    self.path = path
    self.kind = kind
    self.contents = contents
    self.tree = tree
    switch source {
    case .folder(let folder, let temporary):
      base = folder
      self.temporary = temporary
    case .archive:
      base = nil
      temporary = nil
    }
    self.limits = limits
    weightsAvailable = base != nil || contents == .specification

    func load(_ name: String, maximum: Int? = nil) throws(FileError) -> MappedFile {
      switch source {
      case .folder(let folder, _):
        let file = try MappedFile(path: "\(folder)/\(name)", shownAs: "\(path)/\(name)")
        return try ModelContainer.checked(file, maximum)
      case .archive(let archive):
        return MappedFile(
          contents: try archive.contents(name, maximum: maximum), path: "\(path)/\(name)")
      }
    }
    switch contents {
    case .package:
      let file = try load("Manifest.json", maximum: Manifest.maximumBytes)
      let manifest = try file.withBytes { json throws(FileError) in
        try Manifest(json: json, path: file.path)
      }
      try ModelContainer.check(manifest, tree, path)
      items = manifest.items
      specification = try load("Data/" + (manifest.root?.path ?? ""))
      try FileSignature.checkSpecification(specification)
      weightPaths = ModelContainer.weights(of: manifest, tree)
    case .compiled:
      items = []
      specification = try load("coremldata.bin", maximum: ModelContainer.maximumBundleFile)
      if specification.count == 0 { throw .malformed(specification.path, "the file is empty") }
      if specification.isLFSPointer {
        throw .malformed(specification.path, FileError.lfsPointerMessage)
      }
      weightPaths = ModelContainer.bundleWeights(tree)
    case .specification, .archive:
      items = []
      specification = try load(tree.files.first?.path ?? "")
      try FileSignature.checkSpecification(specification)
      weightPaths = [:]
    }
    let sizes = Dictionary(tree.files.map { ($0.path, $0.byteCount) }) { first, _ in first }
    weightFiles = weightPaths.sorted { $0.key < $1.key }.map { ($0.key, sizes[$0.value] ?? 0) }
  }

  /// The manifest's items without a file or folder.
  ///
  /// Git and many archivers drop empty folders, so only the specification's absence is an error
  /// here; Apple's loader refuses any.
  public var absentItems: [PackageItem] {
    items.filter { !tree.contains("Data/" + $0.path) }
  }

  /// Checks that the specification that a manifest names is a file.
  private static func check(
    _ manifest: Manifest, _ tree: FileTree, _ path: String
  ) throws(FileError) {
    guard let root = manifest.root, tree.file("Data/" + root.path) == nil else { return }
    let place = "Data/" + root.path
    let reason = tree.contains(place) ? "is a folder" : "is absent"
    throw .malformed(
      path + "/Manifest.json", "the specification \(place) (item \(root.identifier)) \(reason)")
  }

  /// The weight files of a package: those of its weights items, else of all items but the root.
  private static func weights(of manifest: Manifest, _ tree: FileTree) -> [String: String] {
    let declared = manifest.items.filter(\.isWeights)
    let items = declared.isEmpty ? manifest.items.filter { !$0.isRoot } : declared
    var paths: [String: String] = [:]
    for item in items {
      let place = "Data/" + item.path
      if tree.file(place) != nil {
        paths[PathNames.last(place)] = place
      } else {
        paths.merge(names(tree.files(below: place), folder: place)) { first, _ in first }
      }
    }
    return paths
  }

  /// The weight files of a bundle and of the bundles in it: those in folders named `weights`.
  private static func bundleWeights(_ tree: FileTree) -> [String: String] {
    var paths = names(tree.files(below: "weights"), folder: "weights")
    for file in tree.files where !paths.values.contains(file.path) {
      let folders = file.path.split(separator: "/").dropLast()
      if folders.contains("weights") { paths[file.path] = file.path }
    }
    return paths
  }

  /// Files by their last component; where several share one, the others by their path below the
  /// folder.
  private static func names(_ files: ArraySlice<ContainedFile>, folder: String) -> [String: String]
  {
    var paths: [String: String] = [:]
    let depth = { (file: ContainedFile) in file.path.split(separator: "/").count }
    for file in files.sorted(by: { depth($0) < depth($1) }) {
      let name = PathNames.last(file.path)
      if PathNames.hasSuffix(name, ".ds_store") { continue }
      let key = paths[name] == nil ? name : String(file.path.dropFirst(folder.count + 1))
      paths[key] = file.path
    }
    return paths
  }

  /// Bytes of all files, unpacked.
  public var totalBytes: Int { tree.byteCount }
  /// Bytes of the specification.
  public var specificationBytes: Int { specification.count }
  /// Bytes of the weight files, those of compiled neural networks included.
  public var weightBytes: Int {
    let networks = files.filter {
      contents == .compiled && PathNames.last($0.path) == "model.espresso.weights"
    }
    return (weightFiles.map(\.byteCount) + networks.map(\.byteCount)).reduce(0, &+)
  }

  /// The weight file that a specification calls `fileName`, such as
  /// `@model_path/weights/weight.bin`; opened once.
  ///
  /// - Throws: ``FileError/missing(_:)`` when there is none; ``FileError/unsupported(_:_:)`` when
  ///   ``weightsAvailable`` is false.
  public func blobFile(named fileName: String) throws(FileError) -> BlobFile {
    try blobFile(at: try weightPath(named: fileName))
  }

  /// The weight file at a path as in ``files``; opened once.
  public func blobFile(at place: String) throws(FileError) -> BlobFile {
    try blobs.withLock { (blobs: inout [String: BlobFile]) throws(FileError) -> BlobFile in
      if let blob = blobs[place] { return blob }
      let blob = try BlobFile(try file(at: place))
      blobs[place] = blob
      return blob
    }
  }

  /// The most bytes of a file of a bundle that is read as a whole; Core ML's messages have no more.
  public static let maximumBundleFile = 1 << 31

  private static func checked(
    _ file: MappedFile, _ maximum: Int?
  ) throws(FileError) -> MappedFile {
    if let maximum, file.count > maximum {
      throw .unsupported(file.path, "the file has \(file.count) bytes, more than \(maximum)")
    }
    return file
  }

  /// A file of the container, mapped; of an archive that is not unpacked, read, weights excepted.
  ///
  /// - Parameters:
  ///   - name: A path as in ``files``.
  ///   - maximum: The most bytes that it may have, where it is to be read as a whole.
  public func file(at name: String, maximum: Int? = nil) throws(FileError) -> MappedFile {
    guard let base else {
      guard kind == .archive, !weightPaths.values.contains(name) else {
        throw .unsupported(path, "the archive was opened for its specification only (\(name))")
      }
      let archive = try ArchiveContents(path: path, limits: limits)
      return MappedFile(
        contents: try archive.contents(name, maximum: maximum), path: "\(path)/\(name)")
    }
    if let fault = PathNames.fault(inRelative: name) {
      throw .malformed(path, "file name \"\(name)\": \(fault)")
    }
    let shown = contents == .specification ? base + "/" + name : path + "/" + name
    return try ModelContainer.checked(
      try MappedFile(path: base + "/" + name, shownAs: shown), maximum)
  }

  /// The path, relative to the base, of the weight file that a specification calls `fileName`.
  package func weightPath(named fileName: String) throws(FileError) -> String {
    let prefix = "@model_path/"
    let relative = fileName.hasPrefix(prefix) ? String(fileName.dropFirst(prefix.count)) : fileName
    if let fault = PathNames.fault(inRelative: relative) {
      throw .malformed(path, "weight file name \"\(fileName)\": \(fault)")
    }
    let parts = PathNames.normalized(relative).split(separator: "/").map(String.init)
    // A bundle has the files where its text says, usually in a folder `weights`.
    if contents == .compiled, tree.file(parts.joined(separator: "/")) != nil {
      return parts.joined(separator: "/")
    }
    // The longest suffix that names a file; usually that is the last component.
    for start in parts.indices {
      if let place = weightPaths[parts[start...].joined(separator: "/")] { return place }
    }
    if kind == .specification, let base {
      // The bare file may be one of a package's; then the weights stand beside it.
      let place = parts.joined(separator: "/")
      if case .file = FileSystem.kind(base + "/" + place) { return place }
    }
    throw .missing("\(path)/\(parts.joined(separator: "/"))")
  }
}
