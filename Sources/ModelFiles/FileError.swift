#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What can go wrong with a file, a folder or an archive.
public enum FileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// There is nothing at the path.
  case missing(_ path: String)
  /// The contents break the format; `offset` is a byte offset in the file where one is known.
  case malformed(_ path: String, _ message: String, offset: UInt64? = nil)
  /// The contents may be right, but this library does not read or write them.
  case unsupported(_ path: String, _ message: String)
  /// The output is there already and may not be replaced.
  case exists(_ path: String)
  /// No output may stand there, whatever is asked for.
  case place(_ path: String, _ message: String)
  /// The system refused `action` with the error number `errno`.
  case system(_ path: String, _ action: String, errno: Int32)

  /// The file or folder that the error is about.
  public var path: String {
    switch self {
    case .missing(let path), .malformed(let path, _, _), .unsupported(let path, _),
      .exists(let path), .place(let path, _), .system(let path, _, _):
      path
    }
  }

  /// The name of the case, for machines.
  public var kind: String {
    switch self {
    case .missing: "missing"
    case .malformed: "malformed"
    case .unsupported: "unsupported"
    case .exists: "exists"
    case .place: "output"
    case .system: "system"
    }
  }

  /// What is wrong, on one line, without the path.
  public var message: String {
    switch self {
    case .missing: "no such file or folder"
    case .malformed(_, let message, let offset):
      if let offset { "\(message) (byte offset \(offset))" } else { message }
    case .unsupported(_, let message): message
    case .exists: "already exists"
    case .place(_, let message): message
    case .system(_, let action, let code): "cannot \(action): \(String(cString: strerror(code)))"
    }
  }

  /// What the user can do about it, where that is known.
  public var hint: String? {
    switch self {
    case .malformed(_, FileError.lfsPointerMessage, _): "fetch the contents with: git lfs pull"
    default: nil
    }
  }

  /// The path and the message.
  public var description: String { "\(path): \(message)" }

  /// The message for a file that Git LFS left as a pointer.
  static let lfsPointerMessage = "a Git LFS pointer, not the file it stands for (git lfs pull)"

  /// The same error about a path below `new` where it was one below `old`.
  func moved(from old: String, to new: String) -> FileError {
    guard path.hasPrefix(old + "/") || path == old else { return self }
    let place = new + path.dropFirst(old.count)
    switch self {
    case .missing: return .missing(place)
    case .malformed(_, let message, let offset):
      return .malformed(place, message, offset: offset)
    case .unsupported(_, let message): return .unsupported(place, message)
    case .exists: return .exists(place)
    case .place(_, let message): return .place(place, message)
    case .system(_, let action, let code): return .system(place, action, errno: code)
    }
  }

  /// The error of the system call that has just failed.
  static func last(_ path: String, _ action: String) -> FileError {
    errno == ENOENT && action == "open" ? .missing(path) : .system(path, action, errno: errno)
  }
}
