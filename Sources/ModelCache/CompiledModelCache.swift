import Dispatch
import ModelBundle
import ModelFiles
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The cache of compiled bundles for asynchronous code: application servers, build systems.
///
/// Calls for one bundle that come while it is made share the work. Work runs on threads of its own
/// and never blocks the caller's executor. Processes share the cache as described at
/// ``BundleCache``.
public actor CompiledModelCache {
  /// Whom a running request tells of its progress.
  private final class Listeners: Sendable {
    private let all = Mutex<[@Sendable (CacheProgress) -> Void]>([])

    func add(_ listener: (@Sendable (CacheProgress) -> Void)?) {
      if let listener { all.withLock { $0.append(listener) } }
    }

    func tell(_ progress: CacheProgress) {
      for listener in all.withLock({ $0 }) { listener(progress) }
    }
  }

  private struct Wish: Hashable {
    var model: String
    var targetVersion: Int?
    var modelVersion: String?
    var verifies: Bool
  }

  private let cache: BundleCache
  private var running: [Wish: (task: Task<CachedBundle, any Error>, listeners: Listeners)] = [:]

  /// A cache in a folder.
  ///
  /// - Parameter directory: nil for the folder that `mlt` uses without `--cache-dir`.
  /// - Throws: `FileError` when no folder is given and the environment names none.
  public init(directory: URL? = nil) throws {
    let environment = ProcessInfo.processInfo.environment
    guard
      let path = directory?.path
        ?? BundleCache.defaultDirectory(environment: environment)
    else { throw FileError.unsupported("", "neither MLT_CACHE_DIR nor HOME names a cache folder") }
    cache = BundleCache(directory: path)
  }

  /// The bundle of a model: from the cache, else made and kept there.
  ///
  /// - Parameters:
  ///   - model: A package, an archive or a specification file.
  ///   - targetVersion: The specification version of the system that shall load the bundle; nil for
  ///     that of the model.
  ///   - modelVersion: The version under which ``latest(named:version:)`` finds the bundle; nil for
  ///     that of the model's metadata.
  ///   - verifying: Whether a bundle that is there is hashed before it is used.
  ///   - progress: Told what is going on, on any thread.
  /// - Throws: `FileError`, `SpecError`, `BundleError`, ``CacheError``.
  public func bundle(
    for model: URL, targetVersion: Int? = nil, modelVersion: String? = nil,
    verifying: Bool = false, progress: (@Sendable (CacheProgress) -> Void)? = nil
  ) async throws -> CachedBundle {
    let wish = Wish(
      model: model.path, targetVersion: targetVersion, modelVersion: modelVersion,
      verifies: verifying)
    if let (task, listeners) = running[wish] {
      listeners.add(progress)
      return try await task.value
    }
    let listeners = Listeners()
    listeners.add(progress)
    var request = BundleCache.Request(model: wish.model)
    request.targetVersion = targetVersion
    request.modelVersion = modelVersion
    request.verifies = verifying
    request.progress = { listeners.tell($0) }
    let task = Task { [cache, request] in
      try await CompiledModelCache.onThread { try cache.bundle(request) }
    }
    running[wish] = (task, listeners)
    defer { running[wish] = nil }
    return try await task.value
  }

  /// The newest bundle of a model that verifies; older ones stand in for damaged ones.
  ///
  /// - Throws: ``CacheError/absent(name:version:)`` when there is none.
  public func latest(named name: String, version: String? = nil) async throws -> CachedBundle {
    try await CompiledModelCache.onThread { [cache] in
      try cache.latest(named: name, version: version)
    }
  }

  /// All entries, by name, version and age.
  public func entries() async throws -> [CacheEntry] {
    try await CompiledModelCache.onThread { [cache] in try cache.entries() }
  }

  /// Removes entries beyond the limits and what cannot be used.
  @discardableResult
  public func prune(_ limits: BundleCache.Limits) async throws -> BundleCache.Removal {
    try await CompiledModelCache.onThread { [cache] in try cache.prune(limits) }
  }

  /// Runs blocking work on a thread that no asynchronous code waits for.
  private static func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Swift.Result { try body() })
      }
    }
  }
}
