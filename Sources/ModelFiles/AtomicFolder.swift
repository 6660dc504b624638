/// A folder that appears at its place complete or not at all, such as a compiled bundle.
public final class AtomicFolder: Sendable {
  /// The folder to fill; it moves on commit.
  public let path: String
  private let target: OutputTarget
  private let temporary: TemporaryFolder

  /// Checks the output's place and makes an empty folder beside it.
  ///
  /// - Throws: ``FileError/exists(_:)`` when the output is there and not `force`.
  public init(output: String, force: Bool) throws(FileError) {
    target = try OutputTarget(output, force: force)
    temporary = try TemporaryFolder(besides: target.path)
    path = temporary.path + "/folder"
    try FileSystem.makeFolder(path)
  }

  /// Writes a file of the folder and makes the folders above it.
  ///
  /// - Parameter name: A relative path that stays below the folder.
  public func write(_ bytes: [UInt8], to name: String) throws(FileError) {
    try NewFile(try place(name)).append(bytes)
  }

  /// Copies a file into the folder, sharing its blocks where the file system can.
  public func copy(_ source: String, to name: String) throws(FileError) {
    try FileSystem.copy(source, to: try place(name))
  }

  private func place(_ name: String) throws(FileError) -> String {
    if let fault = PathNames.fault(inRelative: name) {
      throw .malformed(target.path, "file name \"\(name)\": \(fault)")
    }
    let parent = PathNames.parent(name)
    if parent != "." { try FileSystem.makeFolders(parent, in: path) }
    return "\(path)/\(name)"
  }

  /// Makes the folder durable and renames it to the output.
  public func commit() throws(FileError) {
    defer { temporary.remove() }
    do throws(FileError) {
      try OutputTarget.synchronizeTree(path)
      try target.place(path)
    } catch { throw error.moved(from: path, to: target.path) }
  }

  /// Removes what was written; losing the last reference does so too.
  public func discard() { temporary.remove() }
}
