/// Fills a folder with the files of a model.
///
/// Names are relative paths that stay below the folder; the folders above a file are made.
public struct FolderWriter: Sendable {
  /// The folder.
  public let path: String
  /// The place that errors name in the folder's.
  private let shown: String

  /// A writer into a folder that is there.
  package init(_ path: String, shownAs shown: String) {
    self.path = path
    self.shown = shown
  }

  /// A writer into a folder of the folder, which is made where it is missing.
  public func folder(_ name: String) throws(FileError) -> FolderWriter {
    let place = try self.place(name)
    try shownPaths { () throws(FileError) in try FileSystem.makeFolder(place, shared: true) }
    return FolderWriter(place, shownAs: "\(shown)/\(name)")
  }

  /// Writes a new file.
  public func write(_ bytes: [UInt8], to name: String) throws(FileError) {
    let place = try self.place(name)
    try shownPaths { () throws(FileError) in try NewFile(place).append(bytes) }
  }

  /// Writes a new file from pieces that `body` hands to its argument.
  public func write<R>(
    to name: String,
    _ body: (_ append: @escaping (UnsafeRawBufferPointer) throws -> Void) throws -> R
  ) throws -> R {
    let file = try NewFile(try place(name))
    return try body { bytes in
      try shownPaths { () throws(FileError) in try file.append(bytes) }
    }
  }

  /// Copies a file, sharing its blocks where the file system can.
  public func copy(_ source: String, to name: String) throws(FileError) {
    let place = try self.place(name)
    try shownPaths { () throws(FileError) in try FileSystem.copy(source, to: place) }
  }

  /// Copies a weight file of a model, sharing its blocks where the file system can.
  ///
  /// - Parameters:
  ///   - fileName: Its name in the specification, `@model_path/weights/weight.bin`.
  ///   - name: Its place in the folder.
  public func copyWeightFile(
    from container: ModelContainer, named fileName: String, to name: String
  ) throws(FileError) {
    let file = try container.weightPath(named: fileName)
    guard let base = container.base else {
      throw .unsupported(container.path, "the archive was opened for its specification only")
    }
    try copy("\(base)/\(file)", to: name)
  }

  /// Copies everything that a folder holds.
  public func copyTree(_ source: String) throws(FileError) {
    for name in try FileSystem.names(in: source) {
      let inner = "\(source)/\(name)"
      if FileSystem.kind(inner) == .folder {
        try folder(name).copyTree(inner)
      } else {
        try copy(inner, to: name)
      }
    }
  }

  private func place(_ name: String) throws(FileError) -> String {
    if let fault = PathNames.fault(inRelative: name) {
      throw .malformed(shown, "file name \"\(name)\": \(fault)")
    }
    let parent = PathNames.parent(name)
    if parent != "." {
      try shownPaths { () throws(FileError) in try FileSystem.makeFolders(parent, in: path) }
    }
    return "\(path)/\(name)"
  }

  private func shownPaths(_ body: () throws(FileError) -> Void) throws(FileError) {
    do throws(FileError) {
      try body()
    } catch { throw error.moved(from: path, to: shown) }
  }
}
