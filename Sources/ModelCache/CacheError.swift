import ModelFiles

/// What can go wrong with the cache.
public enum CacheError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The model's files changed while it was compiled.
  case changed(path: String)
  /// The system refused to read or write the cache.
  case unusable(FileError)
  /// The cache holds no bundle of this name and version that verifies.
  case absent(name: String, version: String?)

  /// What is wrong, in one line.
  public var description: String {
    switch self {
    case .unusable(let error): "the cache cannot be used: \(error.message)"
    case .changed: "the model changed while it was compiled"
    case .absent(let name, let version?):
      "the cache holds no usable bundle of version \(version) of \(name)"
    case .absent(let name, nil): "the cache holds no usable bundle of \(name)"
    }
  }
}
