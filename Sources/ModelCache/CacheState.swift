import ModelFiles

/// Whether an entry can be used.
enum CacheState: Equatable {
  case usable(CacheEntry)
  case absent
  /// Why not.
  case damaged(String)
}

extension BundleCache {
  /// The state of an entry: file list, sizes and times agree with its record, or contents do.
  ///
  /// - Parameter hashing: Whether every file is read.
  func state(of key: CacheKey, hashing: Bool) -> CacheState {
    let state = state(ofKey: key.digest, hashing: hashing)
    if case .usable(let entry) = state, entry.key != key {
      return .damaged("its record is that of another key")
    }
    return state
  }

  /// The state of the entry in a folder of this name.
  func state(ofKey key: String, hashing: Bool) -> CacheState {
    guard FileSystem.exists(folder.entry(key)) else { return .absent }
    // An entry may go at any moment: what is then not found is no damage.
    func damaged(_ reason: String) -> CacheState {
      FileSystem.exists(folder.entry(key)) ? .damaged(reason) : .absent
    }
    guard let entry = record(ofKey: key) else { return damaged("its record cannot be read") }
    do {
      let state = try check(entry, hashing: hashing)
      if case .damaged(let reason) = state { return damaged(reason) }
      return state
    } catch { return damaged("\(error)") }
  }

  /// The record of the entry in a folder of this name; nil where it cannot be read or is that of
  /// another entry.
  func record(ofKey key: String) -> CacheEntry? {
    guard let entry = CacheRecord.read(folder.record(key), as: CacheEntry.self),
      entry.schema == CacheEntry.currentSchema, entry.key.digest == key
    else { return nil }
    return entry
  }

  private func check(_ entry: CacheEntry, hashing: Bool) throws -> CacheState {
    let bundle = folder.bundle(entry.key)
    let found = try FileTree(folder: bundle).files
    guard found.map(\.path) == entry.files.map(\.path) else {
      let names = Set(found.map(\.path))
      let missing = entry.files.first { !names.contains($0.path) }
      return .damaged(missing.map { "\($0.path) is missing" } ?? "it has files of others")
    }
    var entry = entry
    var isRenewed = false
    for (index, file) in entry.files.enumerated() {
      guard found[index].byteCount == file.bytes else {
        return .damaged("\(file.path) has \(found[index].byteCount) bytes, not \(file.bytes)")
      }
      let path = "\(bundle)/\(file.path)"
      let modified = try FileStatus(path: path).modified
      if modified == file.modified && !hashing { continue }
      guard try ContentDigest.file(path).digest == file.sha256 else {
        return .damaged("the contents of \(file.path) have changed")
      }
      entry.files[index].modified = modified
      isRenewed = isRenewed || modified != file.modified
    }
    // A copied cache has other times; they are as good as the old ones.
    let key = entry.key.digest
    if isRenewed, let lock = try? folder.lockIfFree(key) {
      defer { withExtendedLifetime(lock) {} }
      let files = entry.files
      try? update(key) { $0.files = files }
    }
    return .usable(entry)
  }
}
