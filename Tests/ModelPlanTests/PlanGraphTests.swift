import ModelGraph
import ModelOperations
import ModelTensors
import TestSupport
import Testing

@testable import ModelPlan

@Suite struct PlanGraphTests {
  private func liveness(
    _ inputs: [NamedValueType], _ operations: [GraphOperation], outputs: [String] = ["y"]
  ) -> [Double] {
    Liveness(Plans.graph(inputs, operations, outputs: outputs)).bytes
  }

  private let x = Make.tensor("x", [10])

  @Test func aChainHoldsTwoValues() {
    // 20 bytes each: what is read and what is written.
    let bytes = liveness(
      [x],
      [
        Make.operation("relu", ["x": "x"], Make.tensor("a", [10])),
        Make.operation("relu", ["x": "a"], Make.tensor("b", [10])),
        Make.operation("relu", ["x": "b"], Make.tensor("y", [10])),
      ])
    #expect(bytes == [40, 40, 40])
  }

  @Test func aValueLivesUntilItsLastReader() {
    let bytes = liveness(
      [x],
      [
        Make.operation("relu", ["x": "x"], Make.tensor("a", [10])),
        Make.operation("relu", ["x": "a"], Make.tensor("b", [10])),
        Make.operation("add", ["x": "b", "y": "x"], Make.tensor("y", [10])),
      ])
    #expect(bytes == [40, 60, 60])
  }

  @Test func viewsAndUnusedResults() {
    let bytes = liveness(
      [x],
      [
        Make.operation("expand_dims", ["x": "x"], Make.tensor("a", [1, 10])),
        Make.operation("relu", ["x": "a"], Make.tensor("lost", [1, 10])),
        Make.operation("relu", ["x": "a"], Make.tensor("y", [1, 10])),
      ])
    #expect(bytes == [20, 40, 40])
  }

  @Test func outputsLiveToTheEnd() {
    let bytes = liveness(
      [x],
      [
        Make.operation("relu", ["x": "x"], Make.tensor("a", [10])),
        Make.operation("relu", ["x": "x"], Make.tensor("b", [10])),
        Make.operation("relu", ["x": "b"], Make.tensor("y", [10])),
      ], outputs: ["a", "y"])
    #expect(bytes == [40, 60, 60])
  }

  @Test func workOfAConvolution() throws {
    let model = try Plans.convolutions(1, channels: 8, size: 4)
    let graph = PlanGraph(try #require(model.program?.functions["main"]), name: "main")
    let node = try #require(graph.nodes.first)
    #expect(graph.nodes.count == 1)
    var work = OperationWork()
    work.multiplyAdds = 8 * 16 * 8 * 9
    work.channelsPerGroup = 8
    work.activationsRead = 8 * 16 * 2
    work.activationsWritten = 8 * 16 * 2
    #expect(node.work == work)
    #expect(node.storedBytes == 1152.0)
    #expect(node.kernel == [3, 3])
    #expect(node.reads == ["x"])
  }

  @Test(arguments: [
    ("q8_linear_int8_per_channel_ios16", PlanWeight.Encoding.affine),
    ("q8_linear_int8_per_channel_ios18", .affine),
    ("q4_linear_int4_block16_ios18", .blockwise), ("pal4_kmeans_ios16", .table),
    ("pal4_kmeans_ios18", .table), ("prune75_ios16", .sparse), ("prune75_ios18", .sparse),
  ])
  func encodingsOfWeights(_ name: String, _ encoding: PlanWeight.Encoding) throws {
    let model = try Plans.model("zoo/\(name).mlpackage")
    let graph = PlanGraph(try #require(model.program?.functions["main"]), name: "main")
    let weights = graph.nodes.flatMap(\.weights).filter { !$0.encodings.isEmpty }
    #expect(weights.contains { $0.encodings.first == encoding })
    for weight in weights { #expect(weight.storedBytes < weight.denseBytes, "\(weight.name)") }
  }

  @Test func encodingsThatUnitsDoNotRead() throws {
    let model = try Plans.model("zoo/q4_linear_int4_block16_ios18.mlpackage")
    func bytes(_ device: String, _ units: Planner.Units) throws -> Double {
      try Plans.planner(device, units: units).plan(model).weightBytes
    }
    // The CPU decodes at load; blocks come as stored to Neural Engines from A15 on.
    let dense = try bytes("a16", .cpu)
    let dense14 = try bytes("a14", .cpu)
    #expect(dense == dense14)
    let cost = CostModel(chip: try Plans.device("a14").chip, calibration: .standard)
    let later = CostModel(chip: try Plans.device("a15").chip, calibration: .standard)
    let graph = PlanGraph(try #require(model.program?.functions["main"]), name: "main")
    let weight = try #require(
      graph.nodes.flatMap(\.weights).first { $0.encodings.contains(.blockwise) })
    #expect(cost.bytes(of: weight, on: .ne) == weight.denseBytes)
    #expect(later.bytes(of: weight, on: .ne) == weight.storedBytes)
    #expect(later.bytes(of: weight, on: .cpu) == weight.denseBytes)
  }
}
