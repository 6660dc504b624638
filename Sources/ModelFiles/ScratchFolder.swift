/// A folder in the system's place for temporary files, removed with this object and on a signal.
public final class ScratchFolder: Sendable {
  private let folder: TemporaryFolder

  /// The path of the folder.
  public var path: String { folder.path }

  /// Makes an empty folder.
  ///
  /// - Throws: ``FileError/system(_:_:errno:)``.
  public init() throws(FileError) { folder = try TemporaryFolder() }
}
