import Synchronization

/// Writes a model so that it appears at its place complete or not at all.
///
/// Everything goes to a hidden temporary folder beside the output; ``commit(specification:)`` writes
/// the specification and the manifest, makes all durable and renames. Discarding, losing the last
/// reference or a signal removes the temporary folder.
public final class PackageWriter: Sendable {
  /// Where the model is to stand.
  public let output: String
  /// The form in which it is written.
  public let form: OutputForm

  private let target: OutputTarget
  private let temporary: TemporaryFolder
  private let state = Mutex(State())

  private struct State {
    var writers: [BlobFileWriter] = []
    var items: [PackageItem] = []
    var hasWeights = false
    var names: Set<String> = []
    var isDone = false
    var timings = WriteTimings()
  }

  private static let dataFolder = "Data/com.apple.CoreML"
  private static let author = "com.apple.CoreML"

  /// Checks the output's place and starts.
  ///
  /// - Parameter form: nil for the one that the output's name asks for.
  /// - Throws: ``FileError/exists(_:)`` when the output is there and not `force`, before any work.
  public init(output: String, force: Bool, form: OutputForm? = nil) throws(FileError) {
    target = try OutputTarget(output, force: force)
    self.output = target.path
    self.form = form ?? OutputForm(path: output)
    temporary = try TemporaryFolder(besides: target.path)
    try FileSystem.makeFolder(model)
    try FileSystem.makeFolders(PackageWriter.dataFolder, in: model)
  }

  /// The package under construction; a specification file is built in its place of a package.
  private var model: String { temporary.path + "/model" }
  private var specificationPath: String { "\(model)/\(PackageWriter.dataFolder)/model.mlmodel" }
  private var weightsFolder: String { "\(model)/\(PackageWriter.dataFolder)/weights" }

  /// How long parts of the write took; complete after the commit.
  public var timings: WriteTimings { state.withLock { $0.timings } }

  /// Starts the weight file that the specification will call `fileName`.
  ///
  /// - Throws: ``FileError/unsupported(_:_:)`` for a specification file, which can have none;
  ///   ``FileError/exists(_:)`` when the file was started before.
  public func weightWriter(fileName: String) throws(FileError) -> BlobFileWriter {
    let path = try newWeightPath(fileName)
    let shown = output + path.dropFirst(model.count)
    let writer = try BlobFileWriter(path: path, shownAs: shown)
    state.withLock { $0.writers.append(writer) }
    return writer
  }

  /// Copies a weight file as it is.
  ///
  /// - Parameter fileName: Its name in both specifications.
  public func copyWeightFile(from source: ModelContainer, name fileName: String) throws(FileError) {
    let file = try source.weightPath(named: fileName)
    guard let base = source.base else {
      throw .unsupported(source.path, "the archive was opened for its specification only")
    }
    let path = try newWeightPath(fileName)
    try shown { () throws(FileError) in try FileSystem.copy("\(base)/\(file)", to: path) }
  }

  /// The path of a weight file that is not there yet.
  private func newWeightPath(_ fileName: String) throws(FileError) -> String {
    guard form != .specification else {
      throw .unsupported(output, "a specification file cannot have weight files")
    }
    let name = PathNames.last(fileName)
    if let fault = PathNames.fault(inRelative: name) {
      throw .malformed(output, "weight file name \"\(fileName)\": \(fault)")
    }
    try FileSystem.makeFolder(weightsFolder, shared: true)
    let isNew = state.withLock { state in
      state.hasWeights = true
      return state.names.insert(name).inserted
    }
    let path = "\(weightsFolder)/\(name)"
    if !isNew || FileSystem.exists(path) { throw .exists(output + path.dropFirst(model.count)) }
    return path
  }

  /// Runs `body`; its errors name the output in place of the temporary folder.
  private func shown(_ body: () throws(FileError) -> Void) throws(FileError) {
    do throws(FileError) {
      try body()
    } catch {
      throw error.moved(from: model, to: output).moved(from: temporary.path, to: output)
    }
  }

  /// Copies what a new model keeps of an old package: items that are neither specification nor
  /// weights, and files in the weights items that are not `replaced` and not yet written.
  ///
  /// - Parameter replaced: Names of the source's weight files that the new model does without.
  public func carryOver(
    from source: ModelContainer, replacing replaced: Set<String> = []
  ) throws(FileError) {
    guard form != .specification, source.contents == .package else { return }
    guard let base = source.base else {
      throw .unsupported(source.path, "the archive was opened for its specification only")
    }
    let dropped = Set(replaced.map(PathNames.last))
    for item in source.items where !item.isRoot {
      let place = "Data/" + item.path
      let inside = source.tree.files(below: place) + (source.tree.file(place).map { [$0] } ?? [])
      var copied = false
      for file in inside {
        let relative = file.path == place ? "" : String(file.path.dropFirst(place.count + 1))
        var destination = file.path
        if item.isWeights {
          let name = relative.isEmpty ? PathNames.last(place) : relative
          if dropped.contains(PathNames.last(name)) { continue }
          destination = "\(PackageWriter.dataFolder)/weights/\(name)"
        }
        let ours = [specificationPath, weightsFolder].map { String($0.dropFirst(model.count + 1)) }
        if !item.isWeights && ours.contains(where: { (destination + "/").hasPrefix($0 + "/") }) {
          continue
        }
        if FileSystem.exists("\(model)/\(destination)") { continue }
        try shown { () throws(FileError) in
          try FileSystem.makeFolders(PathNames.parent(destination), in: model)
          try FileSystem.copy("\(base)/\(file.path)", to: "\(model)/\(destination)")
        }
        copied = true
      }
      if item.isWeights {
        if copied { state.withLock { $0.hasWeights = true } }
        continue
      }
      if inside.isEmpty { try FileSystem.makeFolders(place, in: model) }
      let taken = ["com.apple.CoreML/model.mlmodel", "com.apple.CoreML/weights"]
      if taken.contains(item.path) { continue }
      state.withLock { state in
        if !state.items.contains(where: { $0.path == item.path }) { state.items.append(item) }
      }
    }
  }

  /// Writes the specification and the manifest and puts the model in its place.
  ///
  /// - Parameter specification: The serialized `Model` message.
  public func commit(specification: UnsafeRawBufferPointer) throws(FileError) {
    let (writers, items, hasWeights, isDone) = state.withLock { state in
      defer { state.isDone = true }
      return (state.writers, state.items, state.hasWeights, state.isDone)
    }
    if isDone { throw .unsupported(output, "the model was committed or discarded before") }
    do throws(FileError) {
      for writer in writers { try writer.finish() }
      try FileSystem.create(specificationPath, specification)
      try writeManifest(specification, carried: items, hasWeights: hasWeights)
      let finished = try finishedPath()
      let start = FileSystem.seconds()
      try FileSystem.synchronizeTree(finished)
      try target.place(finished)
      state.withLock { $0.timings.synchronize = FileSystem.seconds() - start }
    } catch {
      temporary.remove()
      throw error.moved(from: model, to: output).moved(from: temporary.path, to: output)
    }
    temporary.remove()
  }

  /// Writes the specification and the manifest and puts the model in its place.
  public func commit(specification: [UInt8]) throws(FileError) {
    let result = specification.withUnsafeBytes { bytes in
      Result { () throws(FileError) in try commit(specification: bytes) }
    }
    try result.get()
  }

  /// Removes what was written; the output's place stays as it was.
  public func discard() {
    state.withLock { $0.isDone = true }
    temporary.remove()
  }

  /// The file or folder to rename: the package, its specification, or the package packed.
  private func finishedPath() throws(FileError) -> String {
    switch form {
    case .package: return model
    case .specification: return specificationPath
    case .archive:
      let start = FileSystem.seconds()
      let archive = temporary.path + "/archive"
      try Archive.pack(folder: model, named: packageName, to: archive)
      state.withLock { $0.timings.pack = FileSystem.seconds() - start }
      return archive
    }
  }

  /// The name of the package inside an archive: `X.mlpackage` for `X.zip` and `X.mlpackage.zip`.
  private var packageName: String {
    var name = PathNames.last(output)
    for suffix in [".zip", ".pkg", ".mlpackage"] where PathNames.hasSuffix(name, suffix) {
      name = String(name.dropLast(suffix.count))
    }
    return (name.isEmpty ? "model" : name) + ".mlpackage"
  }

  private static var specificationItem: PackageItem {
    PackageItem(
      identifier: "", author: author, name: "model.mlmodel",
      description: "CoreML Model Specification", path: "com.apple.CoreML/model.mlmodel",
      isRoot: true)
  }

  /// Bytes of the manifest of a package that holds a specification and nothing else.
  public static var plainManifestBytes: Int {
    var item = specificationItem
    item.identifier = Manifest.identifier(
      specification: ContentDigest().bytes, itemPath: item.path)
    return Manifest(items: [item]).json.utf8.count
  }

  private func writeManifest(
    _ specification: UnsafeRawBufferPointer, carried: [PackageItem], hasWeights: Bool
  ) throws(FileError) {
    var digest = ContentDigest()
    digest.update(specification)
    let contents = digest.bytes
    var items = [PackageWriter.specificationItem]
    if hasWeights {
      items.append(
        PackageItem(
          identifier: "", author: PackageWriter.author, name: "weights",
          description: "CoreML Model Weights", path: "com.apple.CoreML/weights", isRoot: false))
    }
    items += carried
    for index in items.indices {
      items[index].identifier = Manifest.identifier(
        specification: contents, itemPath: items[index].path)
    }
    let text = Array(Manifest(items: items).json.utf8)
    let file = try NewFile(model + "/Manifest.json")
    try file.append(text)
  }
}
