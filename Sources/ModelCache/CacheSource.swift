import ModelBundle
import ModelFiles
import ModelGraph
import ModelSpec

/// The model of a request: what is remembered of it, read anew only when it has changed.
struct CacheSource {
  /// The absolute path without symbolic links.
  let path: String
  let content: SourceContent
  private let model: String
  private var loaded: LoadedModel?
  /// Whether the content is worth remembering.
  private let isNew: Bool

  init(_ request: BundleCache.Request, folder: CacheFolder) throws {
    model = PathNames.trimmed(request.model)
    guard let resolved = FileSystem.resolved(model) else { throw FileError.missing(model) }
    path = resolved
    if let known = CacheRecord.read(folder.source(Self.digest(path)), as: SourceContent.self),
      known.isCurrent(path)
    {
      content = known
      isNew = false
      return
    }
    // What is decoded here is what is hashed below only if no file changes in between.
    let before = try SourcePlace(path: path).settledStatus()
    let started = FileStatus.now
    let loaded = try LoadedModel(path: model)
    self.loaded = loaded
    content = try SourceContent(loaded, path: path) { request.progress?(.hashing($0)) }
    let after = Dictionary(content.files.map { ($0.path, $0.status) }) { first, _ in first }
    guard before.allSatisfy({ after[$0.key] == $0.value }) else {
      throw CacheError.changed(path: request.model)
    }
    // A file that may change without a new time is read again the next time.
    isNew = content.isSettled(at: started)
  }

  private static func digest(_ path: String) -> String {
    var digest = ContentDigest()
    digest.update(Array(path.utf8))
    return digest.hexadecimal
  }

  func key(for request: BundleCache.Request) -> CacheKey {
    CacheKey(
      name: ModelName.stem(of: model), content: content.digest,
      target: request.targetVersion ?? content.specificationVersion,
      format: BundleCompiler.formatVersion)
  }

  func version(for request: BundleCache.Request) -> String {
    request.modelVersion ?? content.modelVersion
  }

  /// The digests of the weight files that a bundle gets as copies, by their paths in the bundle.
  func digests(of loaded: LoadedModel) -> [String: String] {
    let known = Dictionary(content.files.map { ($0.path, $0.sha256) }) { first, _ in first }
    var digests: [String: String] = [:]
    for name in loaded.weightFileNames {
      guard let path = try? loaded.container.weightPath(named: name) else { continue }
      digests[BlobReference(fileName: name, offset: 0).relativePath] = known[path]
    }
    return digests
  }

  /// The model itself.
  mutating func load() throws -> LoadedModel {
    if let loaded { return loaded }
    let loaded = try LoadedModel(path: model)
    self.loaded = loaded
    return loaded
  }

  /// Remembers the content, where it is new and the cache can be written.
  func remember(in folder: CacheFolder) {
    guard isNew, let bytes = try? CacheRecord.bytes(of: content) else { return }
    try? AtomicFile.write(bytes, to: folder.source(Self.digest(path)), force: true)
  }
}
