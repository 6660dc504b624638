import ModelFiles
import ModelGraph
import ModelInspection
import ModelSpec
import TestSupport
import Testing

@testable import ModelBundle

@Suite struct CompiledModelTests {
  typealias Version = BundleData.Version

  /// A specification with one double input, `x`.
  private let description: [UInt8] = {
    var description = ModelDescription()
    description.inputs = [FeatureDescription(name: "x", type: FeatureType(.double))]
    return ModelEncoder.encode(description)
  }()

  private let scaler: [UInt8] = {
    let payload = ProtoWriter.message(2, [0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 8, 64])
    return BundleData(
      typeNumber: 604, engine: Version(1, variant: "spec"), specification: 1,
      content: .specification([0x08, 1] + ProtoWriter.message(604, payload))
    ).bytes
  }()

  private func data(
    _ number: UInt32, _ trailer: BundleData.Trailer, variant: String = "generic",
    version: UInt64 = 8
  ) -> [UInt8] {
    BundleData(
      typeNumber: number, engine: Version(5, variant: variant), specification: version,
      content: .compiled(description: description, trailer: trailer)
    ).bytes
  }

  private let text = """
    program(1.0)
    [buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"coremlc-version", "1"}})]
    {
        func main<ios17>(tensor<fp32, [1]> x) {
                tensor<fp32, [1]> y = relu(x = x)[name = tensor<string, []>("y")];
            } -> (y);
    }
    """

  /// Opens a bundle of these files.
  private func open(_ files: [String: [UInt8]]) throws -> (TestFolder, CompiledModel) {
    let folder = try TestFolder()
    for (name, bytes) in files { try folder.write("b.mlmodelc/\(name)", bytes) }
    let container = try ModelContainer.open(path: folder("b.mlmodelc"))
    return (folder, try CompiledModel(container))
  }

  @Test func programsComeFromTheirText() throws {
    let files = [
      "coremldata.bin": data(502, .program(records: 1)), "model.mil": Array(text.utf8),
    ]
    let (folder, compiled) = try open(files)
    #expect(compiled.isWhole && compiled.textVersion == MILVersion(major: 1, minor: 0))
    #expect(compiled.model.program?.functions["main"]?.opset == "CoreML7")
    #expect(compiled.model.description?.inputs.map(\.name) == ["x"])
    let (loaded, _) = try LoadedModel.open(path: folder("b.mlmodelc"))
    let report = try ModelReport(loaded)
    #expect(report.container == .compiled && report.minimumOS.ios == "17.0")
    #expect(report.functions.first?.operationCount == 1)
  }

  @Test func errorsOfTextHaveLineAndColumn() throws {
    let broken = text.replacing("relu(x = x)", with: "relu(x = )")
    let files = [
      "coremldata.bin": data(502, .program(records: 1)), "model.mil": Array(broken.utf8),
    ]
    do {
      _ = try open(files)
      Issue.record("the text is broken")
    } catch let error as SpecError {
      #expect(error.path.hasSuffix("model.mil"))
      #expect(error.message.hasPrefix("line 5, column "))
    }
  }

  @Test func bundlesWithoutTheirTextAreRefused() throws {
    #expect(throws: FileError.self) {
      _ = try open(["coremldata.bin": data(502, .program(records: 1))])
    }
  }

  @Test func kindsThatStayWholeAreWhole() throws {
    let (_, compiled) = try open(["coremldata.bin": scaler])
    #expect(compiled.isWhole)
    #expect(compiled.model.kind.typeName == "scaler")
  }

  @Test func networksHaveTheirLayers() throws {
    let network = """
      {"format_version": 200, "layers": [
        {"name": "a", "type": "convolution", "bottom": "x", "top": "y,z", "C": 3}, {"type": "elu"}]}
      """
    let (folder, compiled) = try open([
      "coremldata.bin": data(500, .neuralNetwork(outputs: ["y"]), version: 4),
      "model.espresso.net": Array(network.utf8),
    ])
    guard case .neuralNetwork(let found) = compiled.model.kind else {
      Issue.record("\(compiled.model.kind)")
      return
    }
    #expect(found.layers.map(\.type) == ["convolution", "elu"])
    #expect(found.layers[0].outputs == ["y", "z"])
    #expect(!compiled.isWhole)
    var report = try ModelReport(LoadedModel.open(path: folder("b.mlmodelc")).loaded)
    report.limit(to: compiled)
    #expect(report.versionReasons.isEmpty && report.findings.count == 1)
  }

  @Test func pipelinesHaveTheirChildren() throws {
    var names = LittleEndianWriter()
    names.add(["scale"])
    let root = data(202, .pipeline(models: 1), variant: "generic.model0v1.0.0spec", version: 1)
    let files = [
      "coremldata.bin": root, "model0/coremldata.bin": scaler,
      "modelNames/coremldata.bin": names.bytes,
    ]
    let (_, compiled) = try open(files)
    #expect(compiled.children.map(\.data.typeNumber) == [604])
    guard case .pipeline(let pipeline) = compiled.model.kind else { return }
    #expect(pipeline.names == ["scale"])
    #expect(throws: (any Error).self) { try open(["coremldata.bin": root]) }
    let many = data(202, .pipeline(models: 1_000_000), version: 1)
    #expect(throws: SpecError.self) { try open(["coremldata.bin": many]) }
  }

  @Test func archivesAreReadWithoutUnpacking() throws {
    let (folder, _) = try open([
      "coremldata.bin": data(502, .program(records: 1)), "model.mil": Array(text.utf8),
      "weights/weight.bin": [UInt8](repeating: 0, count: 128),
    ])
    try Archive.pack(folder("b.mlmodelc"), to: folder("b.zip"))
    let (loaded, compiled) = try LoadedModel.open(path: folder("b.zip"), readingWeights: false)
    #expect(compiled?.isWhole == true && loaded.model.program != nil)
    #expect(!loaded.container.weightsAvailable)
  }
}
