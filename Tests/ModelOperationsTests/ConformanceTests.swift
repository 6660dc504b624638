import Foundation
import ModelGraph
import ModelOperations
import ModelSpec
import Testing

/// Valid packages that coremltools wrote: the verifier accepts them, and what the upgrader makes
/// of them.
@Suite(
  .enabled(
    if: SharedData.isPresent("conformance"), "the conformance data is not beside the package"))
struct ConformanceTests {
  /// The programs below the folder of conformance data, with their paths in it.
  private static func forEachModel(_ body: (String, Model) throws -> Void) throws {
    let root = SharedData.path("conformance")
    let specification = "/Data/com.apple.CoreML/model.mlmodel"
    let decoder = ModelDecoder(weights: UnopenedWeights())
    let files = FileManager.default.enumerator(atPath: root)
    var paths: [String] = []
    while let path = files?.nextObject() as? String {
      if path.hasSuffix(specification) { paths.append(path) }
    }
    #expect(!paths.isEmpty)
    for path in paths.sorted() {
      let data = try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(path)"))
      let model = try data.withUnsafeBytes { try decoder.decode($0, path: path) }
      try body(String(path.dropLast(specification.count)), model)
    }
  }

  @Test func validModelsHaveNoErrors() throws {
    try Self.forEachModel { path, model in
      let errors = Verifier.findings(model).filter { $0.severity == .error }
      #expect(errors.isEmpty, "\(path)")
    }
  }

  @Test func upgradedModelsHaveNoErrors() throws {
    var refused: Set<String> = []
    try Self.forEachModel { path, model in
      guard let program = model.program else { return }
      let version = model.specificationVersion
      for target in 7...10 where target > version {
        var upgraded = program
        do {
          _ = try Upgrader.upgrade(&upgraded, from: version, to: target)
        } catch {
          refused.insert(String(path.split(separator: "/").last ?? ""))
          continue
        }
        let error = Verifier.firstError(
          program: upgraded, specificationVersion: target, description: model.description)
        #expect(error == nil, "\(path) at \(target)")
      }
    }
    // Their number of boxes is an output.
    let expected = refused.filter { $0.hasPrefix("non_maximum_suppression__ios16") }
    #expect(refused == expected)
  }
}
