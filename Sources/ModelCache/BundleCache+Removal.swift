import ModelFiles

extension BundleCache {
  /// What may stay in a cache.
  public struct Limits: Sendable, Equatable {
    /// Bytes of all bundles; those unused for longest go first.
    public var byteCount: Int?
    /// Nanoseconds since the last use.
    public var age: Int64?
    /// Newest versions of each model.
    public var versions: Int?

    /// No limits.
    public init() {}
  }

  /// What a removal did.
  public struct Removal: Sendable, Equatable {
    /// The entries removed, with the reason.
    public var removed: [(key: String, entry: CacheEntry?, reason: String)] = []
    /// Keys of entries that stayed because another process works on them.
    public var busy: [String] = []

    /// Compares keys and reasons.
    public static func == (left: Removal, right: Removal) -> Bool {
      left.busy == right.busy
        && left.removed.elementsEqual(right.removed) { $0.key == $1.key && $0.reason == $1.reason }
    }
  }

  /// Removes entries beyond the limits, those that cannot be used, and what killed processes have
  /// left.
  ///
  /// - Throws: `FileError` when the cache cannot be read or written.
  public func prune(_ limits: Limits) throws -> Removal {
    var removal = Removal()
    let keys = try folder.keys()
    if !keys.isEmpty { try folder.prepare() }
    for key in try folder.keysInWork() {
      guard let lock = try folder.lockIfFree(key) else { continue }
      try folder.clearWork(key)
      if !FileSystem.exists(folder.entry(key)) { lock.remove() }
    }
    var kept: [CacheEntry] = []
    for key in keys {
      switch state(ofKey: key, hashing: false) {
      case .usable(let entry):
        kept.append(entry)
        if let lock = try folder.lockIfFree(key) {
          try folder.clearEntry(key)
          withExtendedLifetime(lock) {}
        }
      case .damaged(let reason):
        try remove(key, CacheRecord.read(folder.record(key), as: CacheEntry.self), reason, &removal)
      case .absent: break
      }
    }
    let order = Dictionary(
      try entries().enumerated().map { ($1.key.digest, $0) }, uniquingKeysWith: min)
    kept.sort { order[$0.key.digest, default: 0] < order[$1.key.digest, default: 0] }
    func drop(_ reason: String, where isDropped: (CacheEntry) -> Bool) throws {
      for entry in kept where isDropped(entry) {
        try remove(entry.key.digest, entry, reason, &removal)
      }
      kept.removeAll(where: isDropped)
    }
    if let age = limits.age {
      let oldest = FileStatus.now &- age
      try drop("unused for longer than the limit") { use(of: $0).last < oldest }
    }
    if let versions = limits.versions {
      var old: Set<String> = []
      for (_, entries) in Dictionary(grouping: kept, by: \.key.name) {
        old.formUnion(entries.dropLast(versions).map(\.key.digest))
      }
      try drop("older than the newest \(versions)") { old.contains($0.key.digest) }
    }
    if let byteCount = limits.byteCount {
      var total = kept.reduce(0) { $0 &+ $1.byteCount }
      var surplus: Set<String> = []
      for entry in kept.sorted(by: { use(of: $0).last < use(of: $1).last }) where total > byteCount
      {
        total -= entry.byteCount
        surplus.insert(entry.key.digest)
      }
      try drop("the cache is larger than the limit") { surplus.contains($0.key.digest) }
    }
    try folder.clearSources(keeping: Set(kept.map(\.key.content)))
    return removal
  }

  /// Removes the bundles of a model.
  ///
  /// - Parameters:
  ///   - name: The model's name, or the key of one entry.
  ///   - version: Only this version; an entry that has others as well loses this one.
  public func remove(named name: String, version: String? = nil) throws -> Removal {
    var removal = Removal()
    let entries = try entries()
    if !entries.isEmpty { try folder.prepare() }
    for entry in entries where entry.key.name == name || entry.key.digest == name {
      if let version {
        guard entry.versions.contains(version) else { continue }
        if entry.versions.count > 1 {
          let lock = try folder.lock(entry.key.digest)
          defer { withExtendedLifetime(lock) {} }
          // Another process may have taken the other versions meanwhile.
          let versions = record(ofKey: entry.key.digest)?.versions ?? []
          guard versions.contains(version) else { continue }
          if versions.count > 1 {
            try update(entry.key.digest) { $0.versions.removeAll { $0 == version } }
            var label = entry
            label.versions = [version]
            label.files = []
            removal.removed.append((entry.key.digest, label, "asked for; other versions stay"))
          } else {
            try folder.remove(entry.key.digest)
            lock.remove()
            removal.removed.append((entry.key.digest, entry, "asked for"))
          }
          continue
        }
      }
      try remove(entry.key.digest, entry, "asked for", &removal)
    }
    return removal
  }

  private func remove(
    _ key: String, _ entry: CacheEntry?, _ reason: String, _ removal: inout Removal
  ) throws {
    guard let lock = try folder.lockIfFree(key) else {
      removal.busy.append(key)
      return
    }
    try folder.remove(key)
    lock.remove()
    removal.removed.append((key, entry, reason))
  }
}
