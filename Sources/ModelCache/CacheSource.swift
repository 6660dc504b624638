import ModelBundle
import ModelFiles
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
    let started = FileStatus.now
    let loaded = try LoadedModel(path: model)
    self.loaded = loaded
    content = try SourceContent(loaded, path: path) { request.progress?(.hashing($0)) }
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
