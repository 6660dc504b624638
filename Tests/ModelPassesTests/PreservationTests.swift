import ModelToolchain
import TestSupport
import Testing

/// What a pass does not compress stays as it was.
@Suite struct PreservationTests {
  private static func unknown(_ number: UInt32) -> UnknownFields {
    UnknownFields([.init(number: number, wireType: 2, bytes: [2, 7, 8])])
  }

  /// A program with an extra of every sort.
  private func decorated() throws -> Model {
    var weights = WeightMaker()
    var value = try weights.random(.float16, [64, 48])
    value.docString = "the weight"
    var model = try Sample.linear(8, weight: value).appending([
      Make.const("bias", try weights.random(.float16, [64], seed: 2)),
      Make.operation("add", ["x": "y", "y": "bias"], Make.tensor("z", [2, 64])),
    ])
    guard var program = model.program, var function = program.functions["main"],
      var block = function.activeBlock
    else { return model }
    program.docString = "a program"
    program.attributes["buildInfo"] = Value(
      type: ValueType(.dictionary(key: .tensor(.string), value: .tensor(.string))),
      content: .immediate(
        ImmediateValue(.dictionary([.init(key: .string("tool"), value: .string("hand"))]))))
    program.unknownFields = Self.unknown(900)
    function.attributes["note"] = .string("a function")
    function.unknownFields = Self.unknown(901)
    block.attributes["hint"] = .int32(3)
    block.attributes["table"] = try weights.random(.float32, [20], seed: 7)
    block.unknownFields = Self.unknown(902)
    for index in block.operations.indices {
      block.operations[index].attributes["origin"] = .string("layer \(index)")
      block.operations[index].unknownFields = Self.unknown(903)
      for output in block.operations[index].outputs.indices {
        block.operations[index].outputs[output].unknownFields = Self.unknown(904)
      }
      block.operations[index].inputs.updateEach { _, argument in
        argument.unknownFields = Self.unknown(905)
      }
    }
    function.activeBlock = block
    program.functions["main"] = function
    model.program = program
    model.unknownFields = Self.unknown(906)
    model.description?.unknownFields = Self.unknown(907)
    model.description?.metadata = Metadata()
    model.description?.metadata?.userDefined = ["a": "b", "": "c"]
    return model
  }

  @Test func everythingElseIsKept() throws {
    let run = try PassRun(try decorated())
    let after = try run.output
    #expect(after.description == run.before.description)
    #expect(after.unknownFields == run.before.unknownFields)
    let old = try #require(run.before.byContent().program)
    let new = try #require(after.byContent().program)
    #expect(new.docString == old.docString)
    #expect(new.attributes == old.attributes)
    #expect(new.unknownFields == old.unknownFields)
    let oldMain = try #require(old.functions["main"])
    let newMain = try #require(new.functions["main"])
    #expect(newMain.attributes == oldMain.attributes)
    #expect(newMain.inputs == oldMain.inputs)
    #expect(newMain.unknownFields == oldMain.unknownFields)
    let oldBlock = try #require(oldMain.activeBlock)
    let newBlock = try #require(newMain.activeBlock)
    #expect(newBlock.attributes == oldBlock.attributes)
    #expect(newBlock.outputs == oldBlock.outputs)
    #expect(newBlock.unknownFields == oldBlock.unknownFields)
    #expect(newBlock.operations.count == oldBlock.operations.count)
    for (new, old) in zip(newBlock.operations, oldBlock.operations) where old.name != "w" {
      #expect(new == old)
    }
    let constant = try #require(after.operation("w"))
    // An unknown attribute of a constexpr operation would be an unknown parameter.
    #expect(constant.attributes["origin"] == nil)
    #expect(run.ledger.notes.contains { $0.contains("origin") && $0.contains("dropped") })
    #expect(constant.unknownFields == Self.unknown(903))
    #expect(constant.outputs.first?.unknownFields == Self.unknown(904))
    #expect(constant.name == "w")
    #expect(constant.attributes["quantized_data"]?.docString == "the weight")
  }

  /// The same with a version that rises.
  @Test func extrasSurviveARise() throws {
    let run = try PassRun(try decorated(), QuantizePass(scheme: AffineScheme(bits: 4)))
    let program = try #require(try run.output.program)
    #expect(program.attributes["buildInfo"] == run.before.program?.attributes["buildInfo"])
    #expect(program.functions["main"]?.activeBlock?.attributes["hint"] == .int32(3))
    #expect(try run.output.operation("z")?.attributes["origin"] == .string("layer 3"))
  }

  @Test func sharedWeightsOfFunctionsAreDecidedOnce() throws {
    var weights = WeightMaker()
    let shared = try weights.random(.float16, [64, 48], seed: 1)
    let own = try weights.random(.float16, [64, 48], seed: 2)
    let function = { (name: String, weight: Value) in
      Make.function(
        9, [Make.tensor("x", [2, 48])],
        [
          Make.const(name, weight),
          Make.operation("linear", ["x": "x", "weight": name], Make.tensor("y", [2, 64])),
        ], outputs: ["y"])
    }
    var description = ModelDescription()
    for name in ["main", "other", "third"] {
      var entry = FunctionDescription()
      entry.name = name
      entry.inputs = [Make.feature("x", [2, 48])]
      entry.outputs = [Make.feature("y", [2, 64])]
      description.functions.append(entry)
    }
    description.defaultFunctionName = "main"
    let model = Model(
      specificationVersion: 9, description: description,
      kind: .program(
        Program(functions: [
          "main": function("w", shared), "other": function("v", shared),
          "third": function("u", own),
        ])))
    let run = try PassRun(model)
    #expect(run.ledger.rows.map(\.name) == ["w", "u"])
    #expect(try run.row("w").functions == ["main", "other"])
    let first = try run.output.operation("w", in: "main")?.inputs["data"]?.value?.weight
    let second = try run.output.operation("v", in: "other")?.inputs["data"]?.value?.weight
    #expect(first != nil && first?.reference == second?.reference)
    let stored = try run.folder.bytes(
      "\(PassRun.outputName)/Data/com.apple.CoreML/weights/weight.bin")
    #expect(stored.prefix(4) == [4, 0, 0, 0])  // codes and scales of two weights

    // What is compressed already is listed once too.
    let again = try PassRun(try run.output)
    #expect(again.ledger.rows.map(\.name) == ["w", "u"])
    #expect(try again.row("w").functions == ["main", "other"])

    // Only one function: the constant that it shares changes for both.
    let only = try PassRun(model) { $0.function = "other" }
    #expect(try only.row("w").status == .compressed)
    #expect(try only.row("u").status == .skipped)
    #expect(try only.output.operation("w", in: "main")?.isConstexpr == true)
    #expect(try only.output.operation("u", in: "third")?.isConst == true)
    #expect(throws: PassError.self) { try PassRun(model) { $0.function = "fourth" } }
  }

  @Test func equalWeightsAreStoredOnce() throws {
    var weights = WeightMaker()
    let values = RandomNumbers.floats(64 * 64)
    var operations: [GraphOperation] = []
    for name in ["a", "b", "c"] {
      let value =
        name == "c"
        ? try weights.random(.float16, [64, 64], seed: 5)
        : try weights.value(.float16, [64, 64], values)
      operations.append(Make.const(name, value))
      operations.append(
        Make.operation("linear", ["x": "x", "weight": name], Make.tensor("\(name)y", [2, 64])))
    }
    let model = Make.model(
      9, [Make.tensor("x", [2, 64])], operations, outputs: [Make.tensor("cy", [2, 64])])
    let run = try PassRun(model)
    let places = try ["a", "b", "c"].map {
      try #require(try run.output.operation($0)?.inputs["data"]?.value?.weight?.reference)
    }
    #expect(places[0] == places[1])
    #expect(places[0] != places[2])
    #expect(run.ledger.totals.compressed == 3)
    // Also where they are kept.
    let kept = try PassRun(model) { $0.only = [WeightPattern("c")] }
    let constants = try ["a", "b"].map {
      try #require(try kept.output.operation($0)?.attributes["val"]?.weight?.reference)
    }
    #expect(constants[0] == constants[1])
    #expect(try kept.output.constant("b")?.bytes() == kept.before.constant("b")?.bytes())
  }

  @Test func severalWeightFiles() throws {
    var weights = WeightMaker()
    let files = ["@model_path/weights/0-weight.bin", "@model_path/weights/extra.bin", "plain.dat"]
    var operations: [GraphOperation] = []
    for (index, file) in files.enumerated() {
      let value = try weights.random(.float16, [64, 64], seed: UInt64(index), file: file)
      operations.append(Make.const("w\(index)", value))
      operations.append(
        Make.operation(
          "linear", ["x": "x", "weight": "w\(index)"], Make.tensor("y\(index)", [2, 64])))
    }
    let model = Make.model(
      7, [Make.tensor("x", [2, 64])], operations, outputs: [Make.tensor("y2", [2, 64])])
    let run = try PassRun(model) { $0.skip = [WeightPattern("w1")] }
    for (index, file) in files.enumerated() {
      let operation = try #require(try run.output.operation("w\(index)"))
      let weight = operation.attributes[index == 1 ? "val" : "quantized_data"]?.weight
      #expect(weight?.reference.fileName == file)
    }
    let names = try run.folder.files("\(PassRun.outputName)/Data/com.apple.CoreML/weights")
    #expect(names == ["0-weight.bin", "extra.bin", "plain.dat"])
  }

  @Test func statesStay() throws {
    var weights = WeightMaker()
    let type = ValueType(.state(.tensor(.float16, [2, 64])))
    var model = Make.model(
      9, [Make.tensor("x", [2, 64]), NamedValueType("memory", type)],
      [
        Make.operation("read_state", ["input": "memory"], Make.tensor("m", [2, 64])),
        Make.const("w", try weights.random(.float16, [64, 64])),
        Make.operation("linear", ["x": "m", "weight": "w"], Make.tensor("a", [2, 64])),
        Make.operation("add", ["x": "x", "y": "a"], Make.tensor("y", [2, 64])),
        Make.operation("write_state", ["input": "memory", "data": "y"]),
      ], outputs: [Make.tensor("y", [2, 64])])
    let array = ArrayType(shape: [2, 64], dataType: .float16)
    model.description?.inputs = [Make.feature("x", [2, 64])]
    model.description?.states = [
      FeatureDescription(name: "memory", type: FeatureType(.state(array)))
    ]
    for bits in [8, 4] {
      let run = try PassRun(model, QuantizePass(scheme: AffineScheme(bits: bits)))
      #expect(try run.row("w").status == .compressed)
      #expect(
        try run.output.operations().filter { $0.name != "w" }
          == run.before.operations().filter { $0.name != "w" })
      #expect(try run.output.description == run.before.description)
    }
  }

  @Test func pipelinesKeepTheirOtherChildren() throws {
    let tree = Model(
      specificationVersion: 1, description: nil,
      kind: .other(OpaqueModel(typeName: "glmRegressor", payload: [9, 1, 2, 3, 4, 5, 6, 7, 8])))
    var inner = Pipeline(
      typeName: "pipelineRegressor", models: [try Sample.linear(6), tree], names: ["net", "line"])
    inner.wrapperUnknownFields = Self.unknown(908)
    var outer = Pipeline(
      typeName: "pipeline",
      models: [
        Model(specificationVersion: 6, description: nil, kind: .pipeline(inner)), tree,
      ], names: ["first"])
    outer.unknownFields = Self.unknown(909)
    let model = Model(
      specificationVersion: 6, description: ModelDescription(), kind: .pipeline(outer))
    let run = try PassRun(model)
    #expect(run.ledger.rows.map(\.name) == ["first/net/w"])
    let after = try run.output
    #expect(after.specificationVersion == 7)
    guard case .pipeline(let top) = after.kind, case .pipeline(let nested) = top.models[0].kind,
      case .other(let kept) = nested.models[1].kind
    else {
      Issue.record("no pipeline")
      return
    }
    #expect(top.names == ["first"])
    #expect(top.unknownFields == outer.unknownFields)
    #expect(nested.wrapperUnknownFields == inner.wrapperUnknownFields)
    #expect(nested.models[0].specificationVersion == 7)
    #expect(nested.models[0].operation("w")?.isConstexpr == true)
    #expect(kept.payload == [9, 1, 2, 3, 4, 5, 6, 7, 8])
    #expect(nested.models[1].specificationVersion == 1)
  }

  @Test func modelsWithoutPrograms() throws {
    let network = Model(
      specificationVersion: 4, description: ModelDescription(),
      kind: .neuralNetwork(NeuralNetwork(typeName: "neuralNetwork", payload: [], layers: [])))
    let folder = try TestFolder()
    try folder.write("nn.mlmodel", try ModelEncoder.encode(network))
    let loaded = try LoadedModel(path: folder("nn.mlmodel"))
    #expect(throws: PassError.self) {
      try Compressor().run(QuantizePass(), on: loaded, to: nil)
    }
  }
}

extension Model {
  /// The model with references that stand for the content of weights in place of their positions.
  func byContent() throws -> Model {
    var copy = self
    try copy.updateEachWeight { weight in
      var digest: UInt64 = 0xCBF2_9CE4_8422_2325
      for byte in try weight.source.bytes() { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
      weight.reference = BlobReference(fileName: weight.reference.fileName, offset: digest)
    }
    return copy
  }
}
