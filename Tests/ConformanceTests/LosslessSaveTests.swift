import Foundation
import ModelToolchain
import TestSupport
import Testing

/// Load, then save: equal specification, bit-identical weights.
@Suite struct LosslessSaveTests {
  /// Models that are saved with their weights; the many operation cases are not.
  static let models: [String] = {
    var folders = [
      TestData.conformance("zoo"), TestData.conformance("models"), "\(TestData.shared)/models",
    ]
    folders.removeAll { $0.hasPrefix("/zoo") || $0.hasPrefix("/models") }
    return (try? TestData.models(in: folders)) ?? []
  }()

  static let operationModels: [String] = {
    let roots = [TestData.conformance, "\(TestData.shared)/conformance"].compactMap { $0 }
    let folders = Set(roots).flatMap { root in ["ops", "ops_peer"].map { "\(root)/\($0)" } }
    return (try? TestData.models(in: folders)) ?? []
  }()

  @Test(
    .enabled(if: !models.isEmpty, Comment(rawValue: TestData.absence)), arguments: models)
  func savedModelIsEqual(_ path: String) throws {
    let folder = try TestFolder()
    let loaded = try LoadedModel(path: path)
    let isFile = loaded.container.kind == .specification
    let ending = isFile ? "mlmodel" : "mlpackage"
    let first = folder("first.\(ending)")
    try loaded.save(to: first)
    let saved = try LoadedModel(path: first)
    Self.expectEqual(saved, loaded)

    let second = folder("second.\(ending)")
    try saved.save(to: second)
    if isFile {
      #expect(try TestFiles.bytes(first) == TestFiles.bytes(second))
    } else {
      let files = try TestFiles.list(first)
      #expect(try files == TestFiles.list(second))
      for file in files {
        #expect(try TestFiles.bytes("\(first)/\(file)") == TestFiles.bytes("\(second)/\(file)"))
      }
    }
  }

  /// Through an archive and back.
  @Test(.enabled(if: TestData.conformance != nil, Comment(rawValue: TestData.absence)))
  func archivesHoldTheSameModel() throws {
    let folder = try TestFolder()
    let loaded = try LoadedModel(path: TestData.conformance("zoo/base_ios16.mlpackage"))
    try loaded.save(to: folder("model.zip"))
    let saved = try LoadedModel(path: folder("model.zip"))
    #expect(saved.container.kind == .archive)
    Self.expectEqual(saved, loaded)
  }

  @Test(
    .enabled(if: !operationModels.isEmpty, Comment(rawValue: TestData.absence)))
  func specificationsOfOperationCasesAreEqual() throws {
    let decoder = ModelDecoder(weights: UnopenedWeights())
    for path in Self.operationModels {
      let bytes = try TestFiles.bytes("\(path)/Data/com.apple.CoreML/model.mlmodel")
      let model = try bytes.withUnsafeBytes { try decoder.decode($0, path: path) }
      #expect(try ModelEncoder.encode(model) == bytes, "\(path)")
    }
  }

  /// Compares the serialized specifications, and the weight files by bytes.
  private static func expectEqual(_ saved: LoadedModel, _ loaded: LoadedModel) {
    let path = loaded.container.path
    let before = loaded.container.specification.withBytes { Array($0) }
    let after = saved.container.specification.withBytes { Array($0) }
    #expect(before == after, "\(path)")
    #expect(
      saved.container.weightFiles.map(\.name) == loaded.container.weightFiles.map(\.name),
      "\(path)")
    for file in loaded.container.weightFiles {
      let old = try? loaded.container.blobFile(named: file.name).file.withBytes { Array($0) }
      let new = try? saved.container.blobFile(named: file.name).file.withBytes { Array($0) }
      #expect(old != nil && old == new, "\(path): \(file.name)")
    }
  }
}
