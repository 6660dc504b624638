import ModelBundle
import ModelFiles
import ModelGraph
import ModelSpec

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The cache of compiled bundles on disk, shared by any number of processes.
///
/// Bundles are found by the contents of their model, the target and the compiler's format. What a
/// killed process leaves is never found. Functions block; ``CompiledModelCache`` is the face for
/// asynchronous code.
public struct BundleCache: Sendable {
  /// What is asked for.
  public struct Request: Sendable {
    /// The model: a package, an archive or a specification file.
    public var model: String
    /// The specification version of the target; nil for that of the model.
    public var targetVersion: Int?
    /// The version under which the bundle is found by name; nil for that of the model's metadata.
    public var modelVersion: String?
    /// Whether a bundle that is there is hashed before it is used.
    public var verifies = false
    /// Told what is going on.
    public var progress: (@Sendable (CacheProgress) -> Void)?

    /// A request for the bundle of a model.
    public init(model: String) { self.model = model }
  }

  /// Where the cache lies.
  public var directory: String { folder.path }
  let folder: CacheFolder

  /// A cache in `directory`, which is made when it is first written.
  public init(directory: String) { folder = CacheFolder(path: PathNames.trimmed(directory)) }

  /// The folder that is used when none is named: `$MLT_CACHE_DIR`, `$XDG_CACHE_HOME/mlt`, else
  /// `~/.cache/mlt`; nil where the environment names none of them.
  public static func defaultDirectory(environment: [String: String]) -> String? {
    if let own = environment["MLT_CACHE_DIR"], !own.isEmpty { return own }
    // The XDG specification: what is no absolute path is ignored.
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return base + "/mlt" }
    guard let home = environment["HOME"], !home.isEmpty else { return nil }
    return PathNames.trimmed(home) + "/.cache/mlt"
  }

  /// The bundle of a model: from the cache, else made and kept there.
  ///
  /// - Throws: `FileError`, `SpecError`, `BundleError`, ``CacheError``.
  public func bundle(_ request: Request) throws -> CachedBundle {
    var source = try CacheSource(request, folder: folder)
    let key = source.key(for: request)
    if case .usable(let entry) = state(of: key, hashing: request.verifies) {
      return hit(try labelled(entry, source.version(for: request), isLocked: false), source)
    }
    do {
      return try missed(key, &source, request)
    } catch let error as FileError {
      if folder.isFault(error) { throw CacheError.unusable(error) }
      throw error
    }
  }

  /// Makes a bundle, unless another process does so first.
  private func missed(
    _ key: CacheKey, _ source: inout CacheSource, _ request: Request
  ) throws -> CachedBundle {
    let loaded = try source.load()
    let compiler = BundleCompiler(name: key.name, targetVersion: request.targetVersion)
    try compiler.check(loaded.model)
    try folder.prepare()
    let lock = try folder.lock(key.digest) { request.progress?(.waiting) }
    defer { withExtendedLifetime(lock) {} }
    let state = state(of: key, hashing: request.verifies)
    if case .usable(let entry) = state {
      return hit(try labelled(entry, source.version(for: request), isLocked: true), source)
    }
    let miss = try CacheMiss(key, state: state, source: source.content, in: self)
    request.progress?(.compiling)
    let entry = try make(key, loaded, compiler, source, request)
    source.remember(in: folder)
    return CachedBundle(
      entry: entry, version: source.version(for: request), path: folder.bundle(key), miss: miss)
  }

  /// Makes the entry of a key; its lock must be held.
  private func make(
    _ key: CacheKey, _ loaded: LoadedModel, _ compiler: BundleCompiler, _ source: CacheSource,
    _ request: Request
  ) throws -> CacheEntry {
    try folder.clearWork(key.digest)
    let work = try folder.workFolder(key.digest)
    defer { work.remove() }
    let name = CacheFolder.bundleName(key.name)
    let place = work.path + "/entry"
    try FileSystem.makeFolder(place)
    try FileSystem.makeFolder("\(place)/\(name)")
    let writer = FolderWriter("\(place)/\(name)", shownAs: folder.bundle(key))
    let result = try compiler.compile(loaded, into: writer)
    guard source.content.isCurrent(source.path) else {
      throw CacheError.changed(path: request.model)
    }
    let copied = source.digests(of: loaded)
    let files = try FileTree(folder: writer.path).files.map { file in
      let path = "\(writer.path)/\(file.path)"
      let sha256 = try copied[file.path] ?? ContentDigest.file(path).digest
      return CacheEntry.File(
        path: file.path, bytes: file.byteCount, modified: try FileStatus(path: path).modified,
        sha256: sha256)
    }
    // A damaged entry leaves its versions: the new bundle is what they stood for.
    let version = source.version(for: request)
    let known = CacheRecord.read(folder.record(key.digest), as: CacheEntry.self)
    let versions = (known?.key == key ? known?.versions ?? [] : []).filter { $0 != version }
    let entry = CacheEntry(
      key: key, versions: versions + [version], source: source.path,
      sourceFiles: source.content.files, created: FileStatus.now, files: files,
      unproved: result.unproved, dropped: result.dropped)
    try FolderWriter(place, shownAs: folder.entry(key.digest))
      .write(CacheRecord.bytes(of: entry), to: "entry.json")
    try FileSystem.synchronizeTree(place)
    try folder.place(place, key.digest)
    return entry
  }

  private func hit(_ entry: CacheEntry, _ source: CacheSource) -> CachedBundle {
    source.remember(in: folder)
    // A cache that cannot be written still answers.
    try? FileSystem.append([0], to: folder.hits(entry.key.digest))
    return CachedBundle(
      entry: entry, version: entry.versions.last ?? "", path: folder.bundle(entry.key), miss: nil)
  }

  /// The entry with a version as the last of its own.
  private func labelled(
    _ entry: CacheEntry, _ version: String, isLocked: Bool
  ) throws -> CacheEntry {
    if entry.versions.last == version { return entry }
    func add(_ entry: inout CacheEntry) {
      entry.versions.removeAll { $0 == version }
      entry.versions.append(version)
    }
    do {
      let lock = isLocked ? nil : try folder.lock(entry.key.digest)
      defer { withExtendedLifetime(lock) {} }
      try update(entry.key.digest, add)
    } catch let error as FileError {
      // A cache that cannot be written still answers.
      guard case .system = error else { throw error }
    }
    var copy = entry
    add(&copy)
    return copy
  }

  /// Changes the record of an entry; its lock must be held.
  func update(_ key: String, _ change: (inout CacheEntry) -> Void) throws {
    let path = folder.record(key)
    try folder.clearEntry(key)
    guard var entry = CacheRecord.read(path, as: CacheEntry.self) else { return }
    change(&entry)
    try AtomicFile.write(CacheRecord.bytes(of: entry), to: path, force: true)
  }
}

/// How far a request is.
public enum CacheProgress: Sendable, Equatable {
  /// The model is read; the share of its bytes.
  case hashing(Double)
  /// Another process makes the same bundle.
  case waiting
  /// The bundle is made.
  case compiling
}

/// A bundle in the cache.
public struct CachedBundle: Sendable, Equatable {
  /// What the cache knows of it.
  public var entry: CacheEntry
  /// The version that it was asked for.
  public var version: String
  /// The bundle's folder; not to be changed.
  public var path: String
  /// Why it had to be made; nil when it was there.
  public var miss: CacheMiss?

  /// Copies the bundle into an empty folder, sharing blocks where the file system can.
  ///
  /// - Throws: ``CacheError/unusable(_:)`` when the cache's files cannot be read, for instance since
  ///   another process has removed them; `FileError` when the folder cannot be written.
  public func copy(into folder: FolderWriter) throws {
    for file in entry.files {
      do throws(FileError) {
        try folder.copy("\(path)/\(file.path)", to: file.path)
      } catch {
        throw error.path.hasPrefix(path + "/") ? CacheError.unusable(error) : error
      }
    }
  }
}
