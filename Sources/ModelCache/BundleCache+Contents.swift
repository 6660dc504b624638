import ModelFiles

extension BundleCache {
  /// How an entry has been used.
  public struct Use: Sendable, Equatable {
    /// How often it was found.
    public var hits: Int
    /// When it was last made or found, in nanoseconds since 1970.
    public var last: Int64
  }

  /// All entries whose records can be read, by name, version and age.
  ///
  /// - Throws: `FileError` when the cache's folder cannot be read; none where there is no cache.
  public func entries() throws -> [CacheEntry] {
    let entries = try folder.keys().compactMap(record(ofKey:))
    return entries.sorted { left, right in
      if left.key.name != right.key.name { return left.key.name < right.key.name }
      return BundleCache.precedes(left, right)
    }
  }

  /// Whether `left` is the older version of a model.
  private static func precedes(_ left: CacheEntry, _ right: CacheEntry) -> Bool {
    let (own, other) = (left.newestVersion, right.newestVersion)
    if VersionOrder.precedes(own, other) { return true }
    if VersionOrder.precedes(other, own) { return false }
    return (left.created, left.key.digest) < (right.created, right.key.digest)
  }

  /// How an entry has been used.
  public func use(of entry: CacheEntry) -> Use {
    guard let status = try? FileStatus(path: folder.hits(entry.key.digest)) else {
      return Use(hits: 0, last: entry.created)
    }
    return Use(hits: status.byteCount, last: max(entry.created, status.modified))
  }

  /// Where the bundle of an entry lies.
  public func path(of entry: CacheEntry) -> String { folder.bundle(entry.key) }

  /// The newest bundle of a model that verifies.
  ///
  /// - Parameters:
  ///   - version: Only this version.
  ///   - skipping: Told of every newer one that does not verify, and why.
  /// - Throws: ``CacheError/absent(name:version:)`` when there is none.
  public func latest(
    named name: String, version: String? = nil,
    skipping: ((_ entry: CacheEntry, _ reason: String) -> Void)? = nil
  ) throws -> CachedBundle {
    for entry in try entries().reversed() where entry.key.name == name {
      if let version, !entry.versions.contains(version) { continue }
      switch state(of: entry.key, hashing: true) {
      case .usable(let entry):
        return CachedBundle(
          entry: entry, version: version ?? entry.newestVersion, path: folder.bundle(entry.key),
          miss: nil)
      case .damaged(let reason): skipping?(entry, reason)
      case .absent: skipping?(entry, "it is gone")
      }
    }
    throw CacheError.absent(name: name, version: version)
  }

  /// What reading all files of an entry has shown.
  public enum Verification: Sendable, Equatable {
    /// Nothing is wrong.
    case sound
    /// Another process has removed the entry meanwhile.
    case gone
    /// What is wrong.
    case fault(String)
  }

  /// Reads every file of an entry.
  public func verification(of key: String) -> Verification {
    switch state(ofKey: key, hashing: true) {
    case .usable: .sound
    case .absent: .gone
    case .damaged(let reason): .fault(reason)
    }
  }

  /// The keys of all entries, those included whose records cannot be read.
  public func keys() throws -> [String] { try folder.keys() }
}

extension CacheEntry {
  /// The newest of the versions.
  public var newestVersion: String {
    versions.max { VersionOrder.precedes($0, $1) } ?? ""
  }
}
