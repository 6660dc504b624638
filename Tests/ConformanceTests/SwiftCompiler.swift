import Foundation
import TestSupport

/// The Swift compiler of the toolchain that runs the tests.
enum SwiftCompiler {
  /// A note for tests that are left out.
  static let absence = "no swiftc beside the runtime library, nor in PATH"

  /// Its path, or nil where there is none.
  static let path: String? = {
    var folders: [String] = []
    let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
    if let line = maps.split(separator: "\n").first(where: { $0.hasSuffix("/libswiftCore.so") }),
      let start = line.firstIndex(of: "/")
    {
      // usr/lib/swift/linux/libswiftCore.so
      var root = URL(fileURLWithPath: String(line[start...]))
      for _ in 0..<4 { root.deleteLastPathComponent() }
      folders.append(root.appendingPathComponent("bin").path)
    }
    folders += (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .map(String.init)
    return folders.map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// Runs the compiler in a folder and returns what it says, or nil when it is content.
  ///
  /// - Parameter files: Names in the folder, handed over in a file of their own.
  static func complaint(
    _ arguments: [String], files: [String] = [], in folder: TestFolder
  ) throws -> String? {
    guard let path else { return absence }
    let list = files.map { "\"\($0)\"" }.joined(separator: "\n")
    try folder.write("files.txt", Array(list.utf8))
    let result = try Executable.run(
      arguments + (files.isEmpty ? [] : ["@files.txt"]), in: folder.path,
      script: "exec '\(path)' \"$@\"", timeLimit: 300)
    return result.status == 0 ? nil : String((result.error + result.output).prefix(4000))
  }
}
