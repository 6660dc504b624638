import ModelFiles
import ModelGraph
import ModelOperations
import ModelSpec
import TestSupport
import Testing

@testable import ModelBundle

@Suite struct BundleCompilerTests {
  private func compile(
    _ model: Model, name: String = "m", targetVersion: Int? = nil
  ) throws -> (TestFolder, BundleCompiler.Result) {
    let folder = try TestFolder()
    try TestPackage.write(model, to: folder("m.mlpackage"))
    let output = try AtomicFolder(output: folder("b.mlmodelc"), force: false)
    let result = try BundleCompiler(name: name, targetVersion: targetVersion)
      .compile(LoadedModel(path: folder("m.mlpackage")), into: output.writer)
    try output.commit()
    return (folder, result)
  }

  private func program(_ version: Int = 9) throws -> Model {
    var weights = WeightMaker()
    return Make.model(
      version, [Make.tensor("x", [1, 4])],
      [
        Make.const("w", try weights.random(.float16, [3, 4])),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("y", [1, 3])),
      ], outputs: [Make.tensor("y", [1, 3])])
  }

  /// The program with its weight in a file of this name.
  private func program(weightFile name: String) throws -> (TestFolder, Model) {
    let folder = try TestFolder()
    try TestPackage.write(try program(), to: folder("m.mlpackage"))
    var model = try LoadedModel(path: folder("m.mlpackage")).model
    model.updateEachWeight { $0.reference.fileName = name }
    let file = BlobReference(fileName: name, offset: 0).relativePath
    let source = folder("m.mlpackage/Data/com.apple.CoreML/weights/weight.bin")
    try folder.copy(source, as: file)
    try folder.write("s.mlmodel", ModelEncoder.encode(model))
    return (folder, model)
  }

  @Test(arguments: [
    "@model_path/weights/./weight.bin", "@model_path/weights//weight.bin", "weight.bin",
    "@model_path/Weights/a\n\".bin", "@model_path/weights/weight.bin/",
  ])
  func oddNamesOfWeightFiles(_ name: String) throws {
    let (folder, _) = try program(weightFile: name)
    let output = try AtomicFolder(output: folder("b.mlmodelc"), force: false)
    _ = try BundleCompiler(name: "s").compile(
      LoadedModel(path: folder("s.mlmodel")), into: output.writer)
    try output.commit()
    let file = BlobReference(fileName: name, offset: 0).relativePath
    #expect(try folder.files("b.mlmodelc").contains(file))
    #expect(try ModelValidator().findings(path: folder("b.mlmodelc")) == [])
  }

  @Test(arguments: ["model.mil", "Coremldata.bin", "metadata.json/w", "analytics/w.bin"])
  func weightFilesInThePlaceOfOthers(_ name: String) throws {
    let (_, model) = try program(weightFile: "@model_path/" + name)
    let error = #expect(throws: BundleError.self) { try BundleCompiler(name: "s").check(model) }
    #expect(
      error?.message
        == "the model calls a weight file @model_path/\(name), where a bundle has a file of its own"
    )
  }

  @Test func programs() throws {
    let (folder, result) = try compile(try program())
    #expect(
      try folder.files("b.mlmodelc") == [
        "analytics/coremldata.bin", "coremldata.bin", "metadata.json", "model.mil",
        "weights/weight.bin",
      ])
    let weights = "Data/com.apple.CoreML/weights/weight.bin"
    #expect(
      try folder.bytes("b.mlmodelc/weights/weight.bin")
        == folder.bytes("m.mlpackage/\(weights)"))
    #expect(!result.unproved.contains { $0.contains("engine version") })
    let compiled = try CompiledModel(ModelContainer.open(path: folder("b.mlmodelc")))
    #expect(compiled.data.engine == BundleData.Version(9, variant: "generic"))
    guard case .compiled(let description, .program(records: 1)) = compiled.data.content else {
      Issue.record("\(compiled.data.content)")
      return
    }
    // A model without metadata gets empty ones.
    #expect(description.suffix(3) == [0xA2, 0x06, 0x00])
    #expect(try ModelValidator().findings(path: folder("b.mlmodelc")) == [])
  }

  @Test(arguments: [(6, 5, true), (7, 5, false), (8, 8, true), (9, 9, false), (10, 10, true)])
  func engineVersions(_ version: Int, _ engine: UInt64, _ isUnproved: Bool) throws {
    let (folder, result) = try compile(try program(version))
    let data = try CompiledModel(ModelContainer.open(path: folder("b.mlmodelc"))).data
    #expect(data.engine.major == engine && data.specification.major == UInt64(version))
    #expect(result.unproved.contains { $0.contains("engine version") } == isUnproved)
  }

  @Test func severalFunctionsHaveRecords() throws {
    var model = try program()
    let main = try #require(model.program?.functions["main"])
    model.program?.functions["other"] = main
    var description = ModelDescription()
    for name in ["main", "other"] {
      var function = FunctionDescription()
      function.name = name
      function.inputs = model.description?.inputs ?? []
      function.outputs = model.description?.outputs ?? []
      description.functions.append(function)
    }
    description.defaultFunctionName = "other"
    model.description = description
    let (folder, result) = try compile(model)
    let compiled = try CompiledModel(ModelContainer.open(path: folder("b.mlmodelc")))
    guard case .compiled(_, .program(records: 2)) = compiled.data.content else {
      Issue.record("\(compiled.data.content)")
      return
    }
    #expect(result.unproved.contains("coremldata.bin: one record per function"))
    let metadata = try #require(BundleMetadata(json: folder.bytes("b.mlmodelc/metadata.json")))
    #expect(metadata.functions?.map(\.name) == ["main", "other"])
    #expect(metadata.defaultFunctionName == "other")
    #expect(metadata.inputSchema.map(\.name) == ["x"])
    #expect(metadata.mlProgramOperationTypeHistogram == ["Ios18.linear": 1])
  }

  @Test func pipelinesHoldBundles() throws {
    var first = try program()
    first.description?.outputs[0].name = "y"
    let scaler = Model(
      specificationVersion: 1, description: ModelDescription(),
      kind: .other(OpaqueModel(typeName: "scaler", payload: [])))
    let model = Model(
      specificationVersion: 9, description: ModelDescription(),
      kind: .pipeline(Pipeline(typeName: "pipeline", models: [first, scaler], names: ["net"])))
    let (folder, result) = try compile(model)
    #expect(
      try folder.files("b.mlmodelc") == [
        "analytics/coremldata.bin", "coremldata.bin", "metadata.json", "model0/coremldata.bin",
        "model0/model.mil", "model0/weights/weight.bin", "model1/coremldata.bin",
        "modelNames/coremldata.bin",
      ])
    let compiled = try CompiledModel(ModelContainer.open(path: folder("b.mlmodelc")))
    #expect(compiled.data.engine.variant == "generic.model0v9.0.0generic.model1v1.0.0spec")
    guard case .pipeline(let pipeline) = compiled.model.kind else { return }
    #expect(pipeline.names == ["net", "model1"])
    #expect(pipeline.models.map(\.kind.typeName) == ["mlProgram", "scaler"])
    var values: [UInt8] = []
    try pipeline.models[0].program?.forEachWeight {
      values += try $0.source.elements(as: UInt16.self).flatMap {
        [UInt8($0 & 255), UInt8($0 >> 8)]
      }
    }
    #expect(values.count == 24)
    #expect(result.unproved.contains("coremldata.bin: pipelines have engine version 1.0.1"))
    #expect(try ModelValidator().findings(path: folder("b.mlmodelc")) == [])
  }

  @Test func targetsBelowTheModelAreRefused() throws {
    _ = try compile(try program(8), targetVersion: 9)
    #expect(throws: BundleError.self) { try compile(try program(9), targetVersion: 8) }
    let newest = try program(9)
    do {
      try BundleCompiler(name: "m", targetVersion: 7).check(newest)
    } catch {
      #expect(error.kind == .target && error.message.contains("iOS 16"))
    }
  }

  @Test func networksAreRefused() throws {
    let network = Model(
      specificationVersion: 4, description: nil,
      kind: .neuralNetwork(NeuralNetwork(typeName: "neuralNetwork", payload: [], layers: [])))
    #expect(throws: BundleError.self) { try BundleCompiler(name: "m").check(network) }
    let pipeline = Model(
      specificationVersion: 4, description: nil,
      kind: .pipeline(Pipeline(typeName: "pipeline", models: [network], names: [])))
    do {
      try BundleCompiler(name: "m").check(pipeline)
      Issue.record("the pipeline holds a network")
    } catch {
      #expect(error.kind == .unsupported && error.message.contains("model0"))
    }
  }

  @Test func invalidProgramsAreRefused() throws {
    var model = try program()
    model.program?.functions["main"]?.activeBlock?.outputs = ["nothing"]
    #expect(throws: BundleError.self) { try BundleCompiler(name: "m").check(model) }
  }

  @Test(arguments: [
    ("add_model", "add_model"), ("my model-2", "my_model_2"), ("3d", "_3d"), ("é", "_"), ("", "_"),
  ]) func classNames(_ name: String, _ expected: String) throws {
    #expect(BundleCompiler(name: name).className == expected)
    let (folder, result) = try compile(try program(), name: name)
    let metadata = try #require(BundleMetadata(json: folder.bytes("b.mlmodelc/metadata.json")))
    #expect(metadata.generatedClassName == expected)
    #expect(
      result.unproved.contains("metadata.json: the characters of generatedClassName")
        == (name != expected))
  }

  @Test func sameModelSameBytes() throws {
    let (one, first) = try compile(try program())
    let (other, second) = try compile(try program())
    #expect(first == second)
    for file in try one.files("b.mlmodelc") {
      #expect(try one.bytes("b.mlmodelc/\(file)") == other.bytes("b.mlmodelc/\(file)"), "\(file)")
    }
  }
}
