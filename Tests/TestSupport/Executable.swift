import Foundation
import Synchronization

/// What a run of the executable left.
public struct RunResult: Sendable {
  /// The exit code; minus the signal's number when a signal ended the process.
  public var status: Int
  /// Standard output.
  public var output: String
  /// Standard error.
  public var error: String
  /// Whether the time limit ended it.
  public var isTimedOut: Bool
}

/// The built executable `mlt`, which lies beside the test bundle.
public enum Executable {
  /// Its path.
  public static let path: String = {
    var folders = [URL(fileURLWithPath: CommandLine.arguments.first ?? "")]
    if let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      folders.append(URL(fileURLWithPath: link))
    }
    folders.append(Bundle.main.bundleURL.appendingPathComponent("x"))
    folders.append(URL(fileURLWithPath: "\(TestData.package)/.build/debug/x"))
    let candidates = folders.map {
      $0.deletingLastPathComponent().appendingPathComponent("mlt").path
    }
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? "mlt"
  }()

  /// Runs the executable and waits for its end.
  ///
  /// - Parameters:
  ///   - folder: The working directory.
  ///   - environment: Variables added to the test's own.
  ///   - fileSizeLimit: The largest file that the process may write, in units of 512 bytes.
  ///   - memoryLimit: The largest address space of the process in kilobytes.
  ///   - outputFile: A file or device that takes standard output.
  ///   - script: A shell script that runs in the executable's place, which it finds as `$0`.
  ///   - timeLimit: Seconds after which the process is killed.
  ///   - started: Called with the process's id while it runs.
  public static func run(
    _ arguments: [String], in folder: String, environment: [String: String] = [:],
    fileSizeLimit: Int? = nil, memoryLimit: Int? = nil, outputFile: String? = nil,
    script: String? = nil, timeLimit: Double = 60,
    started: (Int32) -> Void = { _ in }
  ) throws -> RunResult {
    let files = try TestFolder()
    let process = Process()
    let limits = [
      fileSizeLimit.map { "ulimit -f \($0)" }, memoryLimit.map { "ulimit -v \($0)" },
    ].compactMap { $0 }
    if script != nil || !limits.isEmpty {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      let steps = limits + [script ?? "exec \"$0\" \"$@\""]
      process.arguments = ["-c", steps.joined(separator: "; "), path] + arguments
    } else {
      process.executableURL = URL(fileURLWithPath: path)
      process.arguments = arguments
    }
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = try handle(files, "output")
    let error = try handle(files, "error")
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = outputFile.flatMap { FileHandle(forWritingAtPath: $0) } ?? output
    process.standardError = error
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    try starting.withLock { _ in try unmasked { try process.run() } }
    started(process.processIdentifier)
    var isTimedOut = false
    if ended.wait(timeout: .now() + timeLimit) == .timedOut {
      isTimedOut = true
      kill(process.processIdentifier, SIGKILL)
      ended.wait()
    }
    let isSignal = process.terminationReason == .uncaughtSignal
    return RunResult(
      status: Int(process.terminationStatus) * (isSignal ? -1 : 1),
      output: String(decoding: try files.bytes("output"), as: UTF8.self),
      error: String(decoding: try files.bytes("error"), as: UTF8.self), isTimedOut: isTimedOut)
  }

  /// Held while a process starts: Foundation does not start several at a time safely.
  public static let starting = Mutex(())

  /// Runs `body` with no signal blocked: a process inherits the mask of the thread that starts it,
  /// and the threads that run tests block most signals.
  private static func unmasked(_ body: () throws -> Void) rethrows {
    var none = sigset_t()
    var previous = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    try body()
  }

  private static func handle(_ files: TestFolder, _ name: String) throws -> FileHandle {
    let path = try files.write(name, [])
    guard let handle = FileHandle(forWritingAtPath: path) else {
      throw TestFileError("\(path) cannot be opened")
    }
    return handle
  }
}
