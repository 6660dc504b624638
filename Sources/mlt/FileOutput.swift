import ModelFiles

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Small files that a command writes beside a model.
enum FileOutput {
  /// Writes text so that the file appears complete or not at all; a device is written in place.
  static func write(_ text: String, to path: String) throws {
    try AtomicFile.write(Array(text.utf8), to: path, force: true)
  }

  /// Refuses a file in the place of a model, or in a package.
  ///
  /// - Parameter what: The option that names the file.
  static func check(
    _ path: String, _ what: String, against models: [(path: String, name: String)]
  ) throws {
    for (model, name) in models where !model.isEmpty {
      let isThere = isSame(path, model) || place(path) == place(model)
      if isThere || isInside(path, folder: model) {
        throw UsageError("\(what) would write to \(name)", hint: "choose another place")
      }
    }
  }

  /// Whether something stands at a path.
  static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// Whether both paths name the same existing file or folder.
  static func isSame(_ left: String, _ right: String) -> Bool {
    let resolve = { (path: String) in
      URL(filePath: path).resolvingSymlinksInPath().standardizedFileURL.path
    }
    return FileManager.default.fileExists(atPath: left) && resolve(left) == resolve(right)
  }

  /// The place that a path names, whether or not anything is there: its folder resolved.
  static func place(_ path: String) -> String {
    let url = URL(filePath: path)
    let parent = url.deletingLastPathComponent().resolvingSymlinksInPath().standardizedFileURL
    return parent.appending(path: url.lastPathComponent).path
  }

  /// Whether `path` lies in the folder `folder`, links resolved.
  static func isInside(_ path: String, folder: String) -> Bool {
    let parent = URL(filePath: path).deletingLastPathComponent().resolvingSymlinksInPath()
      .standardizedFileURL.path
    let outer = URL(filePath: folder).resolvingSymlinksInPath().standardizedFileURL.path
    let trimmed = { (path: String) in path.hasSuffix("/") ? path : path + "/" }
    return trimmed(parent).hasPrefix(trimmed(outer))
  }
}
