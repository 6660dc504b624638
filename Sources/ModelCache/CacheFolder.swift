import ModelFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The layout of a cache on disk.
///
/// ```
/// CACHEDIR.TAG                     tells backups to leave the folder out
/// v1/bundles/KEY/entry.json        the record
///                /hits             one byte per hit; its time is that of the last
///                /NAME.mlmodelc/   the bundle
/// v1/sources/DIGEST.json           what is remembered of a model, by its path
/// v1/locks/KEY                     held while an entry is made or removed
/// v1/work/KEY-….tmp/               an entry in the making
/// ```
///
/// An entry appears by one rename, complete and synced. Whoever holds the lock of a key may remove
/// what earlier holders have left in `work`.
struct CacheFolder: Sendable {
  let path: String

  private var root: String { path + "/v1" }
  private var bundles: String { root + "/bundles" }
  private var sources: String { root + "/sources" }
  private var locks: String { root + "/locks" }
  private var work: String { root + "/work" }

  /// Makes the folders that are missing.
  ///
  /// - Throws: `FileError.system` where that is refused.
  func prepare() throws(FileError) {
    let folders = [root, bundles, sources, locks, work]
    if folders.allSatisfy({ FileSystem.kind($0) == .folder }) { return }
    try FileSystem.makePath(path)
    for folder in folders { try FileSystem.makeFolder(folder, shared: true) }
    let tag = path + "/CACHEDIR.TAG"
    if !FileSystem.exists(tag) {
      let text = "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of mlt.\n"
      try FileSystem.append(Array(text.utf8), to: tag)
    }
  }

  /// Whether an error is the cache's: about it, something in it, or a folder above it that is missing.
  func isFault(_ error: FileError) -> Bool {
    let place = error.path
    switch error {
    case .system: return place == path || place.hasPrefix(path + "/") || path.hasPrefix(place + "/")
    // Somebody removes the cache right now.
    case .missing: return place.hasPrefix(root + "/")
    default: return false
    }
  }

  /// The folder of an entry.
  func entry(_ key: String) -> String { "\(bundles)/\(key)" }
  /// The record of an entry.
  func record(_ key: String) -> String { "\(bundles)/\(key)/entry.json" }
  /// The bundle of an entry.
  func bundle(_ key: CacheKey) -> String {
    "\(entry(key.digest))/\(CacheFolder.bundleName(key.name))"
  }
  /// The file that counts the hits of an entry.
  func hits(_ key: String) -> String { "\(bundles)/\(key)/hits" }
  /// The file that remembers a model.
  func source(_ digest: String) -> String { "\(sources)/\(digest).json" }

  /// The name of the folder of a bundle; a long name is cut, folders have at most 255 bytes.
  static func bundleName(_ name: String) -> String {
    var stem = name.map { $0 == "/" || $0 == "\0" ? "_" : $0 }
    while String(stem).utf8.count > 200 { stem.removeLast() }
    return (stem.isEmpty ? "model" : String(stem)) + ".mlmodelc"
  }

  /// The keys of all entries, sorted; none where there is no cache.
  func keys() throws(FileError) -> [String] {
    try FileSystem.names(in: bundles, orNone: true)
  }

  /// Waits for the lock of a key.
  func lock(_ key: String, waiting: (() -> Void)? = nil) throws(FileError) -> FileLock {
    try FileLock("\(locks)/\(key)", waiting: waiting)
  }

  /// The lock of a key, or nil when somebody holds it.
  func lockIfFree(_ key: String) throws(FileError) -> FileLock? {
    try FileLock.ifFree("\(locks)/\(key)")
  }

  /// A new folder for an entry in the making; the lock of the key must be held.
  func workFolder(_ key: String) throws(FileError) -> TemporaryFolder {
    try TemporaryFolder(in: work, prefix: "\(key)-")
  }

  /// Removes what processes that were killed have left of a key; its lock must be held.
  func clearWork(_ key: String) throws(FileError) {
    for name in try FileSystem.names(in: work) where name.hasPrefix(key + "-") {
      FileSystem.removeTree("\(work)/\(name)")
    }
  }

  /// The keys that have something in the making, by the living or the dead.
  func keysInWork() throws(FileError) -> Set<String> {
    let names = try FileSystem.names(in: work, orNone: true).map { String($0.prefix { $0 != "-" }) }
    return Set(names.filter { !$0.isEmpty })
  }

  /// Removes what processes that were killed have left beside the record of an entry; its lock must
  /// be held.
  func clearEntry(_ key: String) throws(FileError) {
    let temporary = ".\(PathNames.last(record(key)))."
    for name in try FileSystem.names(in: entry(key), orNone: true) where name.hasPrefix(temporary) {
      FileSystem.removeTree("\(entry(key))/\(name)")
    }
  }

  /// Removes what is remembered of models of which there is no bundle, and what killed processes left
  /// there.
  func clearSources(keeping contents: Set<String>) throws(FileError) {
    for name in try FileSystem.names(in: sources, orNone: true) {
      let record = CacheRecord.read("\(sources)/\(name)", as: SourceContent.self)
      if let record, contents.contains(record.digest) { continue }
      FileSystem.removeTree("\(sources)/\(name)")
    }
  }

  /// Removes an entry: first from sight, by a rename, then from disk; its lock must be held.
  func remove(_ key: String) throws(FileError) {
    guard FileSystem.exists(entry(key)) else { return }
    let folder = try workFolder(key)
    try FileSystem.move(entry(key), to: folder.path + "/entry")
    folder.remove()
  }

  /// Puts a finished entry in its place; its lock must be held.
  func place(_ finished: String, _ key: String) throws(FileError) {
    try remove(key)
    try FileSystem.move(finished, to: entry(key))
    try FileSystem.synchronize(bundles)
  }
}
