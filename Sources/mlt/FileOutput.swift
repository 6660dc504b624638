#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Small files that a command writes beside a model.
enum FileOutput {
  /// Writes text beside its place and renames it there.
  static func write(_ text: String, to path: String) throws {
    do {
      try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    } catch {
      throw Failure(
        code: 74, kind: "system", message: "cannot be written: \(reason(error))", path: path)
    }
  }

  /// Whether both paths name the same existing file or folder.
  static func isSame(_ left: String, _ right: String) -> Bool {
    let resolve = { (path: String) in
      URL(filePath: path).resolvingSymlinksInPath().standardizedFileURL.path
    }
    return FileManager.default.fileExists(atPath: left) && resolve(left) == resolve(right)
  }

  private static func reason(_ error: any Error) -> String {
    guard let error = error as? CocoaError else { return "\(error)" }
    switch error.code {
    case .fileWriteNoPermission: return "permission denied"
    case .fileWriteOutOfSpace: return "no space left on device"
    case .fileNoSuchFile: return "no such folder"
    default: return "error \(error.code.rawValue)"
    }
  }
}
