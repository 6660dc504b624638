import ModelFiles
import ModelSpec

/// The files of a model with their digests, and what is remembered of them between runs.
struct SourceContent: Codable, Sendable, Equatable {
  /// One file of a model.
  struct File: Codable, Sendable, Equatable {
    /// The path relative to the model's folder.
    var path: String
    /// The status at the time of reading.
    var status: FileStatus
    /// The SHA-256 of the contents in hexadecimal.
    var sha256: String
  }

  /// The files, sorted by path.
  var files: [File]
  /// The specification version of the model.
  var specificationVersion: Int
  /// The version in the model's metadata.
  var modelVersion: String

  /// The SHA-256 over names, sizes and digests of the files.
  var digest: String {
    var digest = ContentDigest()
    for file in files {
      digest.update(Array("\(file.sha256) \(file.status.byteCount) \(file.path)\n".utf8))
    }
    return digest.hexadecimal
  }

  /// Reads every file of a model.
  ///
  /// - Parameters:
  ///   - path: Where the model lies, without symbolic links.
  ///   - progress: Told the share of the bytes that are read.
  /// - Throws: `FileError`, also when a file changes meanwhile.
  init(_ loaded: LoadedModel, path: String, progress: ((Double) -> Void)?) throws {
    let place = SourcePlace(path: path)
    let paths = try place.paths(weightFiles: loaded.weightFilePaths)
    let total = try paths.reduce(0) { try $0 + FileStatus(path: place.path(of: $1)).byteCount }
    var done = 0
    files = try paths.map { path in
      let (sha256, status) = try ContentDigest.file(place.path(of: path)) { count in
        done += count
        progress?(Double(done) / Double(max(total, 1)))
      }
      return File(path: path, status: status, sha256: sha256)
    }
    specificationVersion = loaded.model.specificationVersion
    modelVersion = loaded.model.description?.metadata?.version ?? ""
  }

  /// Whether the model at `path` has the same files in the same state.
  func isCurrent(_ path: String) -> Bool {
    let place = SourcePlace(path: path)
    guard let names = try? place.paths(weightFiles: files.map(\.path)),
      names == files.map(\.path)
    else { return false }
    return files.allSatisfy { file in
      (try? FileStatus(path: place.path(of: file.path))) == file.status
    }
  }

  /// Whether any change after `time` shows in the status of a file.
  func isSettled(at time: Int64) -> Bool { files.allSatisfy { $0.status.isSettled(at: time) } }
}

/// Where the files of a model lie.
struct SourcePlace {
  /// The file or folder, without symbolic links.
  private let model: String
  /// Whether it is a folder, all of whose files belong to it.
  private let isFolder: Bool

  init(path: String) {
    model = path
    isFolder = FileSystem.kind(path) == .folder
  }

  /// Paths of the files, relative to the model's folder and sorted.
  ///
  /// - Parameter weightFiles: The names of the weight files that a file's model refers to; they
  ///   stand beside it, unless it is an archive.
  func paths(weightFiles: [String]) throws -> [String] {
    if isFolder { return try FileTree(folder: model).files.map(\.path) }
    let others = weightFiles.filter { FileSystem.exists(path(of: $0)) }
    return Set([PathNames.last(model)] + others).sorted()
  }

  /// The status of the files but for weight files beside a specification, once any further change
  /// would show in it.
  ///
  /// That is after a step of the file system's clock; files from the future are not waited for.
  func settledStatus() throws -> [String: FileStatus] {
    // A folder that is no package is not searched through.
    if isFolder && !FileStatus.isFile(model + "/Manifest.json") { return [:] }
    func status() throws -> [String: FileStatus] {
      var all: [String: FileStatus] = [:]
      for name in try paths(weightFiles: []) { all[name] = try FileStatus(path: path(of: name)) }
      return all
    }
    let found = try status()
    let now = FileStatus.now
    let wait = found.values.map { $0.settling(at: now) }.max() ?? 0
    if wait == 0 { return found }
    FileStatus.wait(nanoseconds: wait)
    return try status()
  }

  /// Where a file lies.
  func path(of name: String) -> String {
    isFolder ? "\(model)/\(name)" : "\(PathNames.parent(model))/\(name)"
  }
}
