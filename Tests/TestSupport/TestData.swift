import Foundation

/// Models that tests read: generated ones in the package, real ones beside it.
public enum TestData {
  /// The root of the package.
  public static let package: String = {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder.path
  }()

  /// The folder of shared data: `MLT_SHARED`, else `shared` beside the package.
  public static let shared: String =
    ProcessInfo.processInfo.environment["MLT_SHARED"]
    ?? URL(fileURLWithPath: package).deletingLastPathComponent().appendingPathComponent("shared")
    .path

  /// The folder that holds `zoo`, `models` and perhaps `ops`, or nil where there is none.
  public static let conformance: String? =
    ["\(package)/Tests/Conformance", "\(shared)/conformance"].first {
      TestFiles.exists("\($0)/zoo") && TestFiles.exists("\($0)/models")
    }

  /// A note for tests that are left out.
  public static let absence = "the conformance data is not at hand (Tests/Conformance, MLT_SHARED)"

  /// The path of a file of the conformance data.
  public static func conformance(_ name: String) -> String { "\(conformance ?? "")/\(name)" }

  /// Models below the folders that are there, sorted: packages, and specification files.
  public static func models(in folders: [String]) throws -> [String] {
    var models: [String] = []
    for folder in folders where TestFiles.exists(folder) {
      for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
        let parts = path.split(separator: "/")
        guard let last = parts.last else { continue }
        let isInside = parts.dropLast().contains {
          $0.hasSuffix(".mlpackage") || $0.hasSuffix(".mlmodelc")
        }
        if !isInside, last.hasSuffix(".mlpackage") || last.hasSuffix(".mlmodel") {
          models.append("\(folder)/\(path)")
        }
      }
    }
    return models.sorted()
  }
}
