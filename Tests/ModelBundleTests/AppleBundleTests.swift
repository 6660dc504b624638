import Foundation
import ModelFiles
import ModelGraph
import ModelSpec
import TestSupport
import Testing

@testable import ModelBundle

/// Bundles that Apple's compiler wrote, rebuilt from what is decoded from them.
@Suite(.enabled(if: AppleBundles.isPresent, "the real bundles are not at hand (MLT_SHARED)"))
struct AppleBundleTests {
  static let programs = ["add_model", "TokenDurationPrediction"]
  static let networks = ["photo_noise3_model", "s4tf_model_retrained"]

  private func open(_ name: String) throws -> (ModelContainer, CompiledModel) {
    let container = try ModelContainer.open(path: "\(AppleBundles.folder)/\(name).mlmodelc")
    return (container, try CompiledModel(container))
  }

  @Test(arguments: programs) func dataFilesOfProgramsAreRebuilt(_ name: String) throws {
    let (container, compiled) = try open(name)
    let model = compiled.model
    let data = BundleData(
      typeNumber: 502, engine: BundleData.Version(5, variant: "generic"),
      specification: UInt64(model.specificationVersion),
      content: .compiled(
        description: ModelEncoder.encode(try #require(model.description)),
        trailer: .program(records: 1)))
    #expect(data.bytes == container.specification.withBytes { Array($0) })
  }

  @Test(arguments: networks) func dataFilesOfNetworksAreRebuilt(_ name: String) throws {
    let (container, compiled) = try open(name)
    #expect(compiled.data.bytes == container.specification.withBytes { Array($0) })
    guard case .compiled(let description, .neuralNetwork(let outputs)) = compiled.data.content
    else {
      Issue.record("\(compiled.data.content)")
      return
    }
    let interface = try #require(compiled.model.description)
    #expect(ModelEncoder.encode(interface) == description)
    #expect(outputs == interface.outputs.map(\.name))
    guard case .neuralNetwork(let network) = compiled.model.kind else { return }
    #expect(!network.layers.isEmpty)
  }

  @Test(arguments: programs) func metadataIsTheSame(_ name: String) throws {
    let (container, compiled) = try open(name)
    let metadata = BundleMetadata(compiled.model, className: name)
    let ours = try JSONSerialization.jsonObject(with: Data(metadata.json)) as? NSArray
    let file = try container.file(at: "metadata.json").withBytes { Data($0) }
    let theirs = try JSONSerialization.jsonObject(with: file) as? NSArray
    #expect(ours != nil && ours == theirs)
  }

  @Test(arguments: programs) func analyticsAreTheSame(_ name: String) throws {
    let (container, _) = try open(name)
    let file = try container.file(at: "analytics/coremldata.bin")
    let data = try file.withBytes { bytes in
      try AnalyticsData(bytes, path: file.path)
    }
    #expect(data.bytes == file.withBytes { Array($0) })
    #expect(data.sections.map(\.name) == ["NeuralNetworkModelDetails", "SpecificationDetails"])
  }

  @Test(arguments: programs) func programsCompileToTheSameText(_ name: String) throws {
    let scratch = try TestFolder()
    let (container, compiled) = try open(name)
    let source = LoadedModel(container: container, model: compiled.model)
    let folder = try AtomicFolder(output: scratch("b.mlmodelc"), force: false)
    _ = try BundleCompiler(name: name).compile(source, into: folder.writer)
    try folder.commit()
    func lines(_ text: [UInt8]) -> [Substring] {
      String(decoding: text, as: UTF8.self).split(separator: "\n")
    }
    let ours = lines(try scratch.bytes("b.mlmodelc/model.mil"))
    let theirs = lines(try container.file(at: "model.mil").withBytes { Array($0) })
    // The second line names the version of the compiler.
    #expect(ours.count == theirs.count && ours[0] == theirs[0])
    #expect(ours.dropFirst(2) == theirs.dropFirst(2))
    #expect(
      try scratch.bytes("b.mlmodelc/coremldata.bin")
        == container.specification.withBytes { Array($0) })
  }
}

/// Where the bundles are.
private enum AppleBundles {
  static let folder = "\(TestData.shared)/models/09-source-and-compiled"
  static let isPresent = TestFiles.exists(folder)
}
