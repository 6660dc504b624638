import ModelGraph
import ModelInspection
import ModelTensors
import Testing

@testable import mlt

@Suite struct InspectOutputTests {
  /// A linear layer on a flexible input, with one weight.
  private func report(readingWeights: Bool = false) throws -> ModelReport {
    let weight = Value.weight(
      Weight(
        reference: BlobReference(fileName: "@model_path/weights/weight.bin", offset: 64),
        source: try MemoryTensor(
          elementType: .float32, shape: [2, 8], values: (0..<16).map { Float($0) })))
    let layer = GraphOperation(
      type: "linear", inputs: ["x": .name("x"), "weight": .name("w")],
      outputs: [NamedValueType("y", .tensor(.float32, [1, 2]))],
      attributes: ["name": .string("dense")])
    let function = Function(
      inputs: [NamedValueType("x", .tensor(.float32, [1, 8]))], opset: "CoreML6",
      specializations: [
        "CoreML6": Block(outputs: ["y"], operations: [.const("w", weight), layer])
      ])
    var description = ModelDescription()
    var input = ArrayType(shape: [1, 8], dataType: .float32)
    input.flexibility = .range([
      SizeRange(lowerBound: 1, upperBound: -1), SizeRange(lowerBound: 8, upperBound: 8),
    ])
    description.inputs = [FeatureDescription(name: "x", type: FeatureType(.multiArray(input)))]
    let model = Model(
      specificationVersion: 7, description: description,
      kind: .program(Program(functions: ["main": function])))
    return try ModelReport(
      model: model,
      container: ModelReport.ContainerFacts(
        path: "some/Net.mlpackage", kind: .package,
        sizes: SizeFact(totalBytes: 2_000_000, specificationBytes: 500_000, weightBytes: 1_500_000)),
      readingWeights: readingWeights)
  }

  private func keys(_ value: JSONValue?) -> [String] {
    if case .object(let members) = value { return members.map(\.0) }
    return []
  }

  private func member(_ value: JSONValue?, _ key: String) -> JSONValue? {
    if case .object(let members) = value { return members.first { $0.0 == key }?.1 }
    return nil
  }

  private func first(_ value: JSONValue?) -> JSONValue? {
    if case .array(let elements) = value { return elements.first }
    return nil
  }

  @Test func documentHasTheKeysOfTheContract() throws {
    let document = InspectJSON.document(try report(readingWeights: true), operations: nil)
    let contract = [
      "schema", "path", "container", "model_type", "specification_version", "minimum_os",
      "version_reasons", "metadata", "updatable", "functions", "sizes", "parameters", "weights",
      "children", "details",
    ]
    #expect(keys(document).first == "schema")
    #expect(keys(document).filter(contract.contains) == contract)
    #expect(
      keys(member(document, "minimum_os")) == ["ios", "macos", "watchos", "tvos", "visionos"])
    #expect(
      keys(first(member(document, "functions"))) == [
        "name", "default", "opset", "inputs", "outputs", "states", "operation_count", "operations",
      ])
    #expect(
      keys(first(member(document, "weights"))) == [
        "name", "functions", "consumers", "shape", "dtype", "encoding", "parameters",
        "stored_bytes", "dense_bytes", "bits_per_parameter", "min", "max", "mean", "std",
        "sparsity", "unique_values", "finite",
      ])
    let feature = first(member(first(member(document, "functions")), "inputs"))
    #expect(
      keys(feature) == [
        "name", "kind", "dtype", "shape", "flexibility", "optional", "description",
      ])
    #expect(member(feature, "flexibility")?.text.contains("null") == true)
  }

  @Test func statisticsAreLeftOutUnlessRead() throws {
    let document = InspectJSON.document(try report(), operations: nil)
    #expect(!keys(first(member(document, "weights"))).contains("min"))
  }

  @Test func textTellsTheImportantFirst() throws {
    let lines = InspectText(report: try report(), listsWeights: false, operations: nil).lines
    #expect(
      lines.first
        == "Net.mlpackage  mlProgram, 2.00 MB (weights 1.50 MB), 16 parameters")
    #expect(lines.contains { $0.contains("needs iOS 16, macOS 13") })
    #expect(lines.contains { $0.contains("! declares specification version 7") })
    #expect(lines.contains("  input  x  array fp32  1 × 8 (1… × 8)"))
    #expect(lines.contains { $0.contains("w") && $0.contains("linear dense") })
    #expect(lines.allSatisfy { !$0.hasSuffix(" ") && !$0.contains("\u{1B}") })
  }

  @Test func longRunsOfEqualInputsAreShortened() throws {
    var facts = try report()
    let input = facts.functions[0].inputs[0]
    facts.functions[0].inputs = (0..<40).map { index in
      var copy = input
      copy.name = "f\(index)"
      return copy
    }
    let lines = InspectText(report: facts, listsWeights: false, operations: nil).lines
    #expect(lines.contains { $0.contains("… 36 more") })
    #expect(lines.contains { $0.contains(" f39 ") })
    #expect(!lines.contains { $0.contains(" f20 ") })
  }
}
