import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A folder for work in progress, removed with all it holds on ``remove()``, on deinit, and when
/// SIGINT, SIGTERM or SIGHUP ends the process.
///
/// One beside an output whose process is killed goes with the next output of the same name.
package final class TemporaryFolder: Sendable {
  /// Where it is.
  package let path: String
  /// The folder, open and locked while this object lives; −1 where that is not possible.
  private let descriptor: Int32

  /// Makes a hidden folder in the one that holds `output`, so that a rename can finish the work.
  convenience init(besides output: String) throws(FileError) {
    let last = PathNames.last(output)
    let name = last.utf8.count > 150 ? "model" : last  // names have at most 255 bytes
    TemporaryFolder.removeLeftovers(in: PathNames.parent(output), prefix: ".\(name).")
    do {
      try self.init(in: PathNames.parent(output), prefix: ".\(name).")
    } catch .system(_, _, let code) {
      throw .system(output, "create", errno: code)
    }
  }

  /// Makes a folder in the system's place for temporary files.
  convenience init() throws(FileError) {
    let place = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    let folder = place.isEmpty ? "/tmp" : PathNames.trimmed(place)
    try self.init(in: folder, prefix: "mlt-", mode: 0o700)
  }

  /// Makes a folder in `folder` whose name begins with `prefix`.
  package init(in folder: String, prefix: String, mode: mode_t = 0o755) throws(FileError) {
    let random = String(UInt32.random(in: 0...UInt32.max), radix: 36)
    let path = (folder == "/" ? "" : folder) + "/\(prefix)\(getpid())-\(random).tmp"
    self.path = path
    try TemporaryFolders.make(path, mode: mode)
    descriptor = TemporaryFolder.locked(path) ?? -1
  }

  deinit {
    remove()
    if descriptor >= 0 { close(descriptor) }
  }

  /// Opens and locks a folder; nil when somebody else has locked it, or it cannot be locked.
  private static func locked(_ path: String) -> Int32? {
    guard
      let descriptor = try? FileSystem.open(
        path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, action: "open")
    else { return nil }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// Seconds after which a folder that nobody has locked is one of a process that was killed; before,
  /// its maker may be about to lock it.
  private static let youth = 60

  /// Removes the folders of processes that were killed.
  private static func removeLeftovers(in folder: String, prefix: String) {
    guard let names = try? FileSystem.names(in: folder) else { return }
    for name in names where isOwn(name, prefix: prefix) {
      let path = (folder == "/" ? "" : folder) + "/" + name
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
        status.st_uid == geteuid(), time(nil) - status.st_mtimeSeconds > youth,
        let descriptor = locked(path)
      else { continue }
      FileSystem.removeTree(path)
      close(descriptor)
    }
  }

  /// Whether a name is one that this class gives: the prefix, a process and a random number.
  private static func isOwn(_ name: String, prefix: String) -> Bool {
    guard name.hasPrefix(prefix), name.hasSuffix(".tmp") else { return false }
    let parts = name.dropFirst(prefix.count).dropLast(4).split(
      separator: "-", omittingEmptySubsequences: false)
    return parts.count == 2 && Int(parts[0]) != nil && UInt32(parts[1], radix: 36) != nil
  }

  /// Removes the folder; a second call does nothing.
  package func remove() { TemporaryFolders.remove(path) }
}

/// The temporary folders of the process and the signals that end it.
enum TemporaryFolders {
  private static let paths = Mutex<Set<String>>([])

  static func make(_ path: String, mode: mode_t) throws(FileError) {
    _ = SignalWatch.shared
    try paths.withLock { (paths: inout Set<String>) throws(FileError) in
      try FileSystem.makeFolder(path, mode: mode)
      paths.insert(path)
    }
  }

  static func remove(_ path: String) {
    let known = paths.withLock { $0.remove(path) != nil }
    if known { FileSystem.removeTree(path) }
  }

  /// Runs `body` while no signal can interrupt: between the renames that put an output in place.
  static func uninterrupted(_ body: () throws(FileError) -> Void) throws(FileError) {
    try paths.withLock { (_: inout Set<String>) throws(FileError) in try body() }
  }

  /// Removes every temporary folder and ends the process; other threads may still be writing.
  static func exit(signal: Int32) -> Never {
    paths.withLock { paths in
      for path in paths.sorted() {
        for _ in 0..<100 where !FileSystem.removeTree(path) { usleep(2000) }
      }
      _exit(128 + signal)
    }
  }
}

/// The write end of the pipe from the signal handler; set before a handler is installed.
private nonisolated(unsafe) var signalPipe: Int32 = -1

/// Turns a signal into work on an ordinary thread: the handler only writes the number to a pipe.
private final class SignalWatch: Sendable {
  static let shared = SignalWatch()
  private nonisolated(unsafe) let source: (any DispatchSourceRead)?

  /// Watches the signals that nobody has claimed: those ignored or handled elsewhere stay so.
  private init() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      source = nil
      return
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let input = ends[0]
    signalPipe = ends[1]
    let source = DispatchSource.makeReadSource(
      fileDescriptor: input, queue: DispatchQueue(label: "mlt.signals"))
    source.setEventHandler {
      var number: UInt8 = 0
      if read(input, &number, 1) == 1 { TemporaryFolders.exit(signal: Int32(number)) }
    }
    source.resume()
    self.source = source
    for number in [SIGINT, SIGTERM, SIGHUP] {
      let previous = signal(number) { caught in
        var byte = UInt8(truncatingIfNeeded: caught)
        let code = errno
        _ = write(signalPipe, &byte, 1)
        errno = code
      }
      if let previous { _ = signal(number, previous) }
    }
    // A file beyond the process's size limit is then an error of the write, not the end.
    if let previous = signal(SIGXFSZ, SIG_IGN) { _ = signal(SIGXFSZ, previous) }
  }
}

extension stat {
  /// When the contents last changed, in seconds since 1970.
  fileprivate var st_mtimeSeconds: Int {
    #if canImport(Darwin)
      Int(st_mtimespec.tv_sec)
    #else
      Int(st_mtim.tv_sec)
    #endif
  }
}
