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
package final class TemporaryFolder: Sendable {
  /// Where it is.
  package let path: String

  /// Makes a hidden folder in the one that holds `output`, so that a rename can finish the work.
  convenience init(besides output: String) throws(FileError) {
    let last = PathNames.last(output)
    let name = last.utf8.count > 150 ? "model" : last  // names have at most 255 bytes
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
  }

  deinit { remove() }

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
