import Foundation

/// A folder for one test, removed when the test lets it go.
public final class TestFolder: Sendable {
  /// Where it is.
  public let path: String

  /// Makes an empty folder in the system's place for temporary files.
  public init() throws {
    let name = "mlt-test-\(UUID().uuidString)"
    let place = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    path = place.appendingPathComponent(name).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of `name` in the folder.
  public func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and the folders above it; returns its path.
  @discardableResult
  public func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    let file = URL(fileURLWithPath: self(name))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
    return file.path
  }

  /// Copies a file or folder from elsewhere; returns its new path.
  @discardableResult
  public func copy(_ source: String, as name: String) throws -> String {
    let place = URL(fileURLWithPath: self(name))
    try FileManager.default.createDirectory(
      at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: source, toPath: place.path)
    return place.path
  }

  /// The bytes of a file.
  public func bytes(_ name: String) throws -> [UInt8] { try TestFiles.bytes(self(name)) }

  /// Paths of all files in the folder or in one of its folders, sorted, hidden ones included.
  public func files(_ name: String = "") throws -> [String] {
    try TestFiles.list(name.isEmpty ? path : self(name))
  }
}

/// Reading files in tests.
public enum TestFiles {
  /// The bytes of a file.
  public static func bytes(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// Paths of all files below a folder, relative to it and sorted, hidden ones included.
  public static func list(_ folder: String) throws -> [String] {
    var files: [String] = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder),
        !isFolder.boolValue
      {
        files.append(path)
      }
    }
    return files.sorted()
  }

  /// Whether something is there.
  public static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }
}
