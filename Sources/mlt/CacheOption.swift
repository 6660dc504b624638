import ModelCache

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Option {
  /// The option of the commands that use the cache.
  static let cacheDirectory = Option.value(
    "cache-dir", "DIR",
    "the cache's folder (default: $MLT_CACHE_DIR, $XDG_CACHE_HOME/mlt or ~/.cache/mlt)")
}

extension BundleCache {
  /// The cache that a command line asks for.
  init(_ arguments: Arguments) throws {
    if arguments.string("cache-dir") == "" { throw UsageError("--cache-dir names no folder") }
    let environment = ProcessInfo.processInfo.environment
    guard
      let directory = arguments.string("cache-dir")
        ?? BundleCache.defaultDirectory(environment: environment)
    else {
      throw UsageError("no folder for the cache is known", hint: "name one with --cache-dir")
    }
    self.init(directory: directory)
  }
}
