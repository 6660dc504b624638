/// A folder that appears at its place complete or not at all, such as a compiled bundle.
public final class AtomicFolder: Sendable {
  /// Writes into the folder; the files move on commit.
  public let writer: FolderWriter
  private let target: OutputTarget
  private let temporary: TemporaryFolder

  /// Checks the output's place and makes an empty folder beside it.
  ///
  /// - Throws: ``FileError/exists(_:)`` when the output is there and not `force`.
  public init(output: String, force: Bool) throws(FileError) {
    target = try OutputTarget(output, force: force)
    temporary = try TemporaryFolder(besides: target.path)
    let path = temporary.path + "/folder"
    try FileSystem.makeFolder(path)
    writer = FolderWriter(path, shownAs: target.path)
  }

  /// Makes the folder durable and renames it to the output.
  public func commit() throws(FileError) {
    defer { temporary.remove() }
    do throws(FileError) {
      try FileSystem.synchronizeTree(writer.path)
      try target.place(writer.path)
    } catch { throw error.moved(from: writer.path, to: target.path) }
  }

  /// Removes what was written; losing the last reference does so too.
  public func discard() { temporary.remove() }
}
