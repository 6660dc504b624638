import ModelGraph
import ModelTensors
import Testing

@testable import ModelInspection

@Suite struct ProgramReportTests {
  let input = NamedValueType("x", .tensor(.float32, [1, 4]))

  @Test func countsOperationsOfNestedBlocksWithoutConstants() throws {
    let branch = Block(
      outputs: ["r"], operations: [operation("relu", "r", .tensor(.float32, [1, 4]))])
    let model = program(
      [
        .const("c", .bool(true)),
        operation("cond", "y", .tensor(.float32, [1, 4]), blocks: [branch, branch]),
      ], inputs: [input])
    let function = try #require(try report(model).functions.first)
    #expect(function.operationCount == 3)
    #expect(function.operations.map(\.type) == ["relu", "cond"])
    #expect(function.operations.map(\.count) == [2, 1])
    #expect(function.isDefault)
    #expect(function.opset == "CoreML5")
    #expect(function.inputs.map(\.name) == ["x"])
    #expect(function.outputs.first?.shape == [1, 4])
  }

  @Test func listsBlobsAndLongImmediatesOnce() throws {
    let model = program(
      [
        .const("w", try blob(.float32, [3, 4], [Float](repeating: 1.5, count: 12), at: 64)),
        .const("small", try blob(.float16, [2], [UInt16](repeating: 0, count: 2), at: 192)),
        .const("axes", .int32s([0, 1])),
        .const("table", .int32s(Array(0..<10))),
        operation(
          "linear", "h", .tensor(.float32, [1, 3]),
          inputs: ["x": .name("x"), "weight": .name("w"), "bias": .name("small")]),
        operation(
          "gather", "y", .tensor(.float32, [1, 3]),
          inputs: ["x": .name("h"), "indices": .name("table"), "axis": .name("axes")]),
      ], inputs: [input])
    let facts = try report(model, readingWeights: true)
    #expect(facts.weights.map(\.name) == ["w", "small", "table"])
    #expect(facts.weights.map(\.encoding) == ["dense", "dense", "dense"])
    #expect(facts.weights.map(\.storedBytes) == [48, 4, 40])
    #expect(
      facts.weights[0].consumers == [
        .init(function: "main", operation: "h", type: "linear", input: "weight")
      ])
    #expect(facts.parameters.count == 24)
    #expect(facts.parameters.storedBytes == 92)
    #expect(facts.weights[0].statistics?.max == 1.5)
    #expect(facts.weights[0].statistics?.uniqueValues == 1)
    #expect(facts.weights[1].statistics?.sparsity == 1)
    #expect(facts.weights[2].statistics?.mean == 4.5)
  }

  @Test func sharedBlobsOfTwoFunctionsAreOneWeight() throws {
    func function(_ name: String) throws -> Function {
      Function(
        inputs: [input], opset: "CoreML8",
        specializations: [
          "CoreML8": Block(
            outputs: ["y"],
            operations: [
              .const(
                "w_\(name)", try blob(.float32, [4, 4], [Float](repeating: 0, count: 16), at: 64)),
              operation(
                "linear", "y", .tensor(.float32, [1, 4]),
                inputs: ["x": .name("x"), "weight": .name("w_\(name)")]),
            ])
        ])
    }
    let model = Model(
      specificationVersion: 9, description: nil,
      kind: .program(Program(functions: ["b": try function("b"), "main": try function("main")])))
    let facts = try report(model)
    #expect(facts.functions.map(\.name) == ["main", "b"])
    #expect(facts.functions.map(\.isDefault) == [true, false])
    #expect(facts.weights.count == 1)
    #expect(facts.weights.first?.functions == ["b", "main"])
    #expect(facts.weights.first?.consumers.map(\.function) == ["b", "main"])
    #expect(facts.parameters.count == 16)
    #expect(facts.parameters.storedBytes == 64)
    #expect(facts.neededVersion == 9)
    #expect(facts.versionReasons.first?.reason == "several functions")
  }

  @Test func chainsOfDecodersAreOneWeight() throws {
    let model = program(
      [
        operation(
          "constexpr_blockwise_shift_scale", "lut", .tensor(.float16, [1, 1, 4, 1]),
          inputs: [
            "data": .value(
              try blob(.int8, [1, 1, 4, 1], [Int8](arrayLiteral: -1, 0, 1, 2), at: 64)),
            "scale": .value(Value(.float16, [1, 1, 1, 1], .bytes([0x00, 0x38]))),
          ]),
        operation(
          "constexpr_lut_to_dense", "w", .tensor(.float16, [4, 8]),
          inputs: [
            "indices": .value(try uint2(Array(repeating: 0b11_10_01_00, count: 8))),
            "lut": .name("lut"),
          ]),
        operation(
          "linear", "y", .tensor(.float16, [1, 4]),
          inputs: ["x": .name("x"), "weight": .name("w")]),
      ], inputs: [input], version: 9)
    let facts = try report(model, readingWeights: true)
    let weight = try #require(facts.weights.first)
    #expect(facts.weights.count == 1)
    #expect(weight.name == "w")
    #expect(weight.encoding == "lut+blockwise")
    #expect(weight.parameters == 32)
    // 8 bytes of indices, 4 of the table, 2 of its scale.
    #expect(weight.storedBytes == 14)
    #expect(weight.bitsPerParameter == 3.5)
    #expect(weight.denseBytes == 64)
    #expect(weight.statistics?.min == -0.5)
    #expect(weight.statistics?.max == 1)
    #expect(weight.statistics?.uniqueValues == 4)
    #expect(facts.neededVersion == 9)
  }

  private func uint2(_ bytes: [UInt8]) throws -> Value {
    .weight(
      Weight(
        reference: BlobReference(fileName: "@model_path/weights/weight.bin", offset: 256),
        source: try MemoryTensor(elementType: .uint2, shape: [4, 8], bytes: bytes)))
  }

  @Test func namesNearTheWantedOneAreSuggested() throws {
    let model = program([
      .const("encoder_weight", .int32s(Array(0..<12))), .const("bias", .int32s(Array(0..<12))),
    ])
    let catalog = WeightCatalog(model)
    #expect(catalog.entry(named: "encoder_weight")?.fact.parameters == 12)
    #expect(catalog.entry(named: "weight") == nil)
    #expect(catalog.names(near: "weight") == ["encoder_weight"])
    #expect(catalog.names(near: "biass") == ["bias"])
    let source = try catalog.source(of: try #require(catalog.entry(named: "bias")))
    #expect(try WeightValues.first(3, of: source) == [0, 1, 2])
  }

  @Test func nonFiniteValuesAreFound() throws {
    let values = [Float](repeating: 1, count: 15) + [.infinity]
    let model = program([.const("w", try blob(.float32, [4, 4], values, at: 64))])
    let facts = try report(model, readingWeights: true)
    #expect(facts.findings.contains { $0.contains("w holds infinite") })
    #expect(facts.weights.first?.statistics?.max == 1)
  }
}
