/// Why a bundle was not in the cache.
public struct CacheMiss: Sendable, Equatable {
  /// The part of the key that differs from the nearest entry.
  public enum Cause: String, Sendable, Equatable {
    /// There is no entry of the model's name.
    case new
    /// The model's files have changed.
    case content
    /// The target is another one.
    case target
    /// The entry is of another version of the compiler's format.
    case format
    /// The entry does not verify.
    case damaged
  }

  /// The part that differs.
  public var cause: Cause
  /// What exactly, in one line.
  public var detail: String

  /// The cause and the detail.
  public var description: String { "\(cause.rawValue): \(detail)" }

  init(
    _ key: CacheKey, state: CacheState, source: SourceContent, in cache: BundleCache
  ) throws {
    if case .damaged(let reason) = state {
      (cause, detail) = (.damaged, "the entry does not verify: \(reason)")
      return
    }
    let others = try cache.entries().filter { $0.key.name == key.name }
    func newest(_ isNear: (CacheEntry) -> Bool) -> CacheEntry? {
      others.filter(isNear).max { $0.created < $1.created }
    }
    if let entry = newest({ $0.key.content == key.content && $0.key.format == key.format }) {
      (cause, detail) = (
        .target, "the target is \(key.targetName), the cache has \(entry.key.targetName)"
      )
    } else if let entry = newest({ $0.key.content == key.content }) {
      (cause, detail) = (
        .format, "the compiler's format is \(key.format), the cache has \(entry.key.format)"
      )
    } else if let entry = newest({ _ in true }) {
      (cause, detail) = (.content, CacheMiss.difference(entry.sourceFiles, source.files))
    } else {
      (cause, detail) = (.new, "the cache has no bundle named \(key.name)")
    }
  }

  /// What differs between the files of two models.
  private static func difference(
    _ old: [SourceContent.File], _ new: [SourceContent.File]
  ) -> String {
    let old = Dictionary(old.map { ($0.path, $0.sha256) }) { first, _ in first }
    let names = Set(new.map(\.path))
    let changed = new.filter { old[$0.path] != nil && old[$0.path] != $0.sha256 }
    let parts = [
      ("changed", changed.map(\.path)), ("new", new.map(\.path).filter { old[$0] == nil }),
      ("gone", old.keys.filter { !names.contains($0) }.sorted()),
    ].filter { !$1.isEmpty }.map { word, paths in
      let rest = paths.count > 3 ? " and \(paths.count - 3) more" : ""
      return "\(word) \(paths.prefix(3).joined(separator: ", "))\(rest)"
    }
    return "the model's files differ: " + parts.joined(separator: "; ")
  }
}
