#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Where a finished file or folder is to stand; it gets there by one rename.
struct OutputTarget: Sendable {
  let path: String
  private let force: Bool

  /// Checks that the place is free, or that what stands there may be replaced.
  ///
  /// - Parameter isModel: Whether a model is to stand there, which replaces models only.
  /// - Throws: ``FileError/exists(_:)`` without `force`; ``FileError/place(_:_:)`` when
  ///   replacing would remove something that is no model: a device, a file or a folder of other
  ///   things.
  init(_ output: String, force: Bool, isModel: Bool = true) throws(FileError) {
    path = PathNames.trimmed(output)
    self.force = force
    let name = PathNames.last(path)
    if path.isEmpty || path.utf8.contains(0) || [".", "..", "/"].contains(name) {
      throw .place(output, "not a name for an output")
    }
    guard FileSystem.exists(path) else { return }
    if !force { throw .exists(path) }
    switch FileSystem.kind(path) {
    case .other: throw .place(path, "not a regular file, so it is not replaced")
    case .folder:
      let wasModel =
        FileSystem.exists(path + "/coremldata.bin")
        || FileSystem.exists(path + "/Manifest.json") && FileSystem.kind(path + "/Data") == .folder
      let names = try FileSystem.names(in: path)
      guard wasModel || names.isEmpty else {
        throw .place(path, "a folder that is no model package, so it is not replaced")
      }
    case .file:
      if !isModel { break }
      let wasModel =
        (try? MappedFile(path: path)).map { file in
          file.withBytes { bytes in
            bytes.isEmpty || ZipReader.isArchive(bytes) || FileSignature.startsLikeModel(bytes)
          }
        } ?? false
      guard wasModel else {
        throw .place(path, "a file that is no model, so it is not replaced")
      }
    case nil: break
    }
  }

  /// Renames `finished`, which lies in a temporary folder beside the target, to the target.
  ///
  /// What stood there takes the place of `finished` and goes with the temporary folder.
  func place(_ finished: String) throws(FileError) {
    try TemporaryFolders.uninterrupted { () throws(FileError) in
      if !force {
        try renameNew(finished)
      } else if FileSystem.exists(path) {
        try exchange(finished)
      } else if rename(finished, path) != 0 {
        throw FileError.last(path, "create")
      }
    }
    // The output stands; a folder that cannot be read cannot be synchronized either.
    try? FileSystem.synchronize(PathNames.parent(path))
  }

  private func renameNew(_ finished: String) throws(FileError) {
    if let rename = LinuxCalls.renameAt {
      if rename(AT_FDCWD, finished, AT_FDCWD, path, LinuxCalls.noReplace) == 0 { return }
      if errno == EEXIST { throw .exists(path) }
      if errno != EINVAL && errno != ENOSYS { throw .last(path, "create") }
    }
    if FileSystem.exists(path) { throw .exists(path) }
    if rename(finished, path) != 0 { throw .last(path, "create") }
  }

  private func exchange(_ finished: String) throws(FileError) {
    if let rename = LinuxCalls.renameAt {
      if rename(AT_FDCWD, finished, AT_FDCWD, path, LinuxCalls.exchange) == 0 { return }
      if errno != EINVAL && errno != ENOSYS { throw .last(path, "replace") }
    }
    // Without an exchange the old one stands aside for a moment, and comes back on failure.
    let aside = finished + ".old"
    if rename(path, aside) != 0 { throw .last(path, "replace") }
    if rename(finished, path) != 0 {
      let code = errno
      _ = rename(aside, path)
      throw .system(path, "replace", errno: code)
    }
  }
}
