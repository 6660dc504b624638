import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct UpgraderShapesTests {
  private func upgraded(
    _ inputs: [NamedValueType], outputs: [String] = ["y"],
    _ operations: GraphOperation...
  ) throws -> Program {
    var program = Build.program(6, inputs, operations, outputs: outputs)
    _ = try Upgrader.upgrade(&program, from: 6, to: 8)
    #expect(Verifier.firstError(program: program, specificationVersion: 8) == nil)
    return program
  }

  // MARK: reshape

  private func reshape(_ shape: [Int32], _ output: [Int]) -> GraphOperation {
    Build.operation(
      "reshape", ["x": .name("x"), "shape": .value(.int32s(shape))], "y",
      Build.tensor(.float32, output))
  }

  @Test func zerosOfEqualRankStay() throws {
    let operation = reshape([0, 3], [2, 3])
    #expect(try upgraded([Build.x()], operation).operations == [operation])
  }

  @Test func zerosOfOtherRanksAreReplaced() throws {
    let program = try upgraded([Build.x("x", .float32, [4, 3, 2])], reshape([0, -1], [4, 6]))
    #expect(program.constant("y_shape")?.intValues == [4, -1])
    let open = NamedValueType("x", Build.tensor(.float32, [-1, 3, 2]))
    #expect(
      try upgraded([open], reshape([0, 6], [-1, 6])).constant("y_shape")?.intValues == [-1, 6])
  }

  @Test func unknownZerosAreRefused() {
    let open = NamedValueType("x", Build.tensor(.float32, [-1, 3, 2]))
    #expect(throws: UpgradeRefusal.self) {
      _ = try upgraded([open], reshape([0, -1], [-1, 6]))
    }
  }

  @Test func computedShapesStay() throws {
    let operation = Build.operation("reshape", ["x": .name("x"), "shape": .name("s")])
    #expect(
      try upgraded([Build.x(), Build.x("s", .int32, [2])], operation).operations == [operation])
  }

  // MARK: non_maximum_suppression

  private func suppression(_ threshold: Float) -> GraphOperation {
    var operation = Build.operation(
      "non_maximum_suppression",
      [
        "boxes": .name("b"), "scores": .name("s"),
        "iou_threshold": .value(Value(.float32, [], .floats([0.5]))),
        "score_threshold": .value(Value(.float32, [], .floats([threshold]))),
        "max_boxes": .value(.int32(2)),
      ])
    operation.outputs = [
      NamedValueType("o0", .tensor(.float32, [1, 2, 4])),
      NamedValueType("o1", .tensor(.float32, [1, 2, 3])),
      NamedValueType("o2", .tensor(.int32, [1, 2])), NamedValueType("o3", .tensor(.int32, [1])),
    ]
    return operation
  }

  private static let boxes = [
    Build.x("b", .float32, [1, 5, 4]), Build.x("s", .float32, [1, 5, 3]),
  ]

  @Test func suppressionIsTransposed() throws {
    let program = try upgraded(
      Self.boxes, outputs: ["o0", "o1", "o2"], suppression(-.infinity))
    #expect(
      program.operations.map(\.type) == [
        "const", "transpose", "transpose", "non_maximum_suppression", "transpose", "transpose",
      ])
    let operation = try #require(program.first("non_maximum_suppression"))
    #expect(operation.inputs["score_threshold"] == nil)
    #expect(
      operation.outputs.map(\.type) == [
        .tensor(.float32, [1, 4, 2]), .tensor(.float32, [1, 3, 2]), .tensor(.int32, [1, 2]),
      ])
    #expect(program.operations[1].outputs[0].type == .tensor(.float32, [1, 4, 5]))
    #expect(program.operations.suffix(2).map { $0.outputs[0].name } == ["o0", "o1"])
    #expect(program.constant("non_maximum_suppression_perm") == nil)
  }

  @Test func suppressionThatMayExcludeIsRefused() {
    #expect(throws: UpgradeRefusal.self) {
      _ = try upgraded(Self.boxes, outputs: ["o0"], suppression(0))
    }
    #expect(throws: UpgradeRefusal.self) {
      _ = try upgraded(Self.boxes, outputs: ["o0", "o3"], suppression(-.infinity))
    }
  }

  @Test func scoresThatReachTheThreshold() throws {
    let scores = Build.operation(
      "sigmoid", ["x": .name("t")], "s", .tensor(.float32, [1, 5, 3]))
    let inputs = [Self.boxes[0], Build.x("t", .float32, [1, 5, 3])]
    #expect(
      try upgraded(inputs, outputs: ["o0"], scores, suppression(0)).operations.count == 7)
    #expect(throws: UpgradeRefusal.self) {
      _ = try upgraded(inputs, outputs: ["o0"], scores, suppression(0.1))
    }
  }

  // MARK: crop_resize

  private func crop(_ roi: Argument, _ output: [Int]) -> GraphOperation {
    Build.operation(
      "crop_resize",
      [
        "x": .name("x"), "roi": roi, "target_height": .value(.int32(2)),
        "target_width": .value(.int32(3)),
      ], "y", Build.tensor(.float32, output))
  }

  private func image(_ count: Int) -> NamedValueType { Build.x("x", .float32, [count, 3, 8, 8]) }

  @Test func constantBoxesWithIndices() throws {
    let roi = Value(.float32, [2, 1, 5, 1, 1], .floats([1, 0.1, 0.2, 0.3, 0.4, 0, 5, 6, 7, 8]))
    let program = try upgraded([image(2)], crop(.value(roi), [2, 1, 3, 2, 3]))
    #expect(
      program.constant("y_boxes")
        == Value(.float32, [2, 4], .floats([0.1, 0.2, 0.3, 0.4, 5, 6, 7, 8])))
    #expect(program.constant("y_box_indices") == .int32s([1, 0]))
    let operation = try #require(program.first("crop_resize"))
    #expect(operation.inputs["roi"] == nil)
    #expect(operation.inputs["target_height"] != nil)
    #expect(operation.outputs[0].type == .tensor(.float32, [2, 3, 2, 3]))
    #expect(program.operations.last?.type == "expand_dims")
    #expect(program.operations.last?.name == "y")
  }

  @Test func constantBoxesForAllImages() throws {
    let roi = Value(.float32, [2, 1, 4, 1, 1], .floats([0, 1, 2, 3, 4, 5, 6, 7]))
    let program = try upgraded([image(2)], crop(.value(roi), [2, 2, 3, 2, 3]))
    #expect(
      program.constant("y_boxes")
        == Value(.float32, [4, 4], .floats([0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7])))
    #expect(program.constant("y_box_indices") == .int32s([0, 1, 0, 1]))
    #expect(program.first("crop_resize")?.outputs[0].type == .tensor(.float32, [4, 3, 2, 3]))
    #expect(program.first("reshape")?.name == "y")
    #expect(program.constant("y_shape") == .int32s([2, 2, 3, 2, 3]))
  }

  @Test func computedBoxesWithIndices() throws {
    let roi = NamedValueType("r", Build.tensor(.float32, [-1, 1, 5, 1, 1]))
    let program = try upgraded([image(2), roi], crop(.name("r"), [-1, 1, 3, 2, 3]))
    let operation = try #require(program.first("crop_resize"))
    #expect(program.constant("y_roi_shape") == .int32s([-1, 5]))
    #expect(operation.inputs["boxes"]?.name == "y_boxes")
    #expect(operation.inputs["box_indices"]?.name == program.first("cast")?.name)
    let slices = program.operations.filter { $0.type == "slice_by_index" }
    #expect(
      slices.map { $0.outputs[0].type } == [
        Build.tensor(.float32, [-1, 4]), Build.tensor(.float32, [-1]),
      ])
  }

  @Test func computedBoxesForAllImages() throws {
    let roi = Build.x("r", .float32, [2, 1, 4, 1, 1])
    let program = try upgraded([image(2), roi], crop(.name("r"), [2, 2, 3, 2, 3]))
    #expect(program.first("tile") != nil)
    #expect(program.constant("y_box_indices") == .int32s([0, 1, 0, 1]))
    #expect(
      program.operations.first { $0.name == "y_boxes" }?.outputs[0].type
        == .tensor(.float32, [4, 4]))

    let open = NamedValueType("r", Build.tensor(.float32, [-1, 1, 4, 1, 1]))
    let single = try upgraded([image(1), open], crop(.name("r"), [-1, 1, 3, 2, 3]))
    #expect(single.first("fill_like")?.outputs[0].type == Build.tensor(.int32, [-1]))
    #expect(throws: UpgradeRefusal.self) {
      _ = try upgraded([image(2), open], crop(.name("r"), [-1, 2, 3, 2, 3]))
    }
  }

  @Test func outputsThatDoNotMatchTheBoxesAreRefused() {
    let roi = Build.x("r", .float32, [2, 1, 5, 1, 1])
    #expect(throws: UpgradeRefusal.self) {
      _ = try upgraded([image(3), roi], crop(.name("r"), [2, 3, 3, 2, 3]))
    }
  }

  @Test func unknownRegionsAreRefused() {
    let roi = NamedValueType("r", Build.tensor(.float32, [2, 1, -1, 1, 1]))
    #expect(throws: UpgradeRefusal.self) {
      _ = try upgraded([image(1), roi], crop(.name("r"), [2, 1, 3, 2, 3]))
    }
  }
}
