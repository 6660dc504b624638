import ModelToolchain
import TestSupport
import Testing

/// The channel axis follows the consumer, blocks lie along its input axis.
@Suite struct QuantizeAxisTests {
  struct Consumer: Sendable, CustomTestStringConvertible {
    var type: String
    var input: String
    var shape: [Int]
    var axis: Int
    var blockAxis: Int?
    var flags: [String] = []

    var testDescription: String { "\(type).\(input) \(shape) \(flags)" }

    /// A program in which the operation uses the constant `w`.
    func model(_ version: Int) throws -> Model {
      var weights = WeightMaker()
      var operations = [Make.const("w", try weights.random(.float16, shape))]
      for flag in flags { operations.append(Make.const(flag, .bool(true))) }
      let matrix = Array(shape.suffix(2))
      let (data, result): ([Int], [Int]) =
        switch (type, input) {
        case ("conv", _): ([1, shape[1], 8, 8], [1, shape[0], 6, 6])
        case ("conv_transpose", _): ([1, shape[0], 8, 8], [1, shape[1], 9, 9])
        case ("linear", _): ([2, shape[1]], [2, shape[0]])
        case ("matmul", "y"):
          flags.isEmpty
            ? ([2, matrix[0]], [2, matrix[1]]) : ([2, matrix[1]], [2, matrix[0]])
        case ("matmul", _):
          flags.isEmpty
            ? ([matrix[1], 2], [matrix[0], 2]) : ([matrix[0], 2], [matrix[1], 2])
        default: (shape, shape)
        }
      var operation = Make.operation(type, [:], Make.tensor("out", result))
      operation.inputs[input] = .name("w")
      for flag in flags { operation.inputs[flag] = .name(flag) }
      if type == "gather" {
        operations.append(Make.const("indices", .int32s([1, 2])))
        operations.append(Make.const("axis", .int32(0)))
        operation.inputs["indices"] = .name("indices")
        operation.inputs["axis"] = .name("axis")
        operation.outputs = [Make.tensor("out", [2, shape[1]])]
      } else {
        operation.inputs[input == "x" ? "y" : "x"] = .name("in")
      }
      for (name, value) in windowParameters {
        operations.append(Make.const(name, value))
        operation.inputs[name] = .name(name)
      }
      return Make.model(
        version, [Make.tensor("in", data)], operations + [operation],
        outputs: operation.outputs)
    }

    private var windowParameters: [(String, Value)] {
      guard type.hasPrefix("conv") else { return [] }
      return [
        ("strides", .int32s([1, 1])), ("pad_type", .string("valid")),
        ("pad", .int32s([0, 0, 0, 0])), ("dilations", .int32s([1, 1])), ("groups", .int32(1)),
      ]
    }
  }

  static let consumers: [Consumer] = [
    Consumer(type: "conv", input: "weight", shape: [32, 16, 3, 3], axis: 0, blockAxis: 1),
    Consumer(
      type: "conv_transpose", input: "weight", shape: [32, 24, 2, 2], axis: 1, blockAxis: 0),
    Consumer(type: "linear", input: "weight", shape: [48, 64], axis: 0, blockAxis: 1),
    Consumer(type: "matmul", input: "y", shape: [64, 48], axis: 1, blockAxis: 0),
    Consumer(
      type: "matmul", input: "y", shape: [64, 48], axis: 0, blockAxis: 1, flags: ["transpose_y"]),
    Consumer(type: "matmul", input: "x", shape: [64, 48], axis: 0, blockAxis: 1),
    Consumer(
      type: "matmul", input: "x", shape: [64, 48], axis: 1, blockAxis: 0, flags: ["transpose_x"]),
    Consumer(type: "gather", input: "x", shape: [80, 40], axis: 0, blockAxis: 1),
    Consumer(type: "add", input: "y", shape: [64, 48], axis: 0, blockAxis: 1),
    Consumer(type: "add", input: "y", shape: [1, 64, 48], axis: 1, blockAxis: 2),
  ]

  @Test(arguments: consumers)
  func vectorsOfScales(_ consumer: Consumer) throws {
    let run = try PassRun(consumer.model(7))
    let operation = try #require(try run.output.operation("w"))
    #expect(operation.type == "constexpr_affine_dequantize")
    #expect(operation.attributes["axis"]?.intValue == consumer.axis)
    let scale = try #require(operation.attributes["scale"]?.tensorSource)
    #expect(scale.shape == [consumer.shape[consumer.axis]])
    #expect(operation.attributes["quantized_data"]?.tensorSource?.shape == consumer.shape)
    try expectChannelScales(run, consumer, try Make.floats(scale))
  }

  @Test(arguments: consumers)
  func scalesAtFullRank(_ consumer: Consumer) throws {
    let run = try PassRun(consumer.model(9))
    let operation = try #require(try run.output.operation("w"))
    #expect(operation.type == "constexpr_blockwise_shift_scale")
    let scale = try #require(operation.inputs["scale"]?.value?.tensorSource)
    var expected = consumer.shape.map { _ in 1 }
    expected[consumer.axis] = consumer.shape[consumer.axis]
    #expect(scale.shape == expected)
    #expect(operation.inputs["offset"] == nil)
    try expectChannelScales(run, consumer, try Make.floats(scale))
  }

  /// Every channel's scale is near its greatest magnitude by 127, and the error is below a step.
  private func expectChannelScales(
    _ run: PassRun, _ consumer: Consumer, _ scales: [Float]
  ) throws {
    let before = try Make.floats(try #require(try run.before.constant("w")))
    let after = try Make.floats(try #require(try run.output.constant("w")))
    let inner = consumer.shape[(consumer.axis + 1)...].reduce(1, *)
    var peaks = [Float](repeating: 0, count: scales.count)
    for (index, value) in before.enumerated() {
      let channel = index / inner % scales.count
      peaks[channel] = max(peaks[channel], abs(value))
      #expect(abs(value - after[index]) <= scales[channel] * 0.76)
    }
    for (peak, scale) in zip(peaks, scales) {
      #expect(abs(scale * 127 / peak - 1) < 0.01)
    }
  }

  @Test(arguments: consumers)
  func blocksLieAlongTheInputAxis(_ consumer: Consumer) throws {
    let blockAxis = try #require(consumer.blockAxis)
    let run = try PassRun(consumer.model(9), QuantizePass(granularity: .block(8)))
    let operation = try #require(try run.output.operation("w"))
    let scale = try #require(operation.inputs["scale"]?.value?.tensorSource)
    var expected = consumer.shape.map { _ in 1 }
    expected[consumer.axis] = consumer.shape[consumer.axis]
    expected[blockAxis] = consumer.shape[blockAxis] / 8
    #expect(scale.shape == expected)
    #expect(try run.row("w").scheme?.contains("block of 8 (axis \(blockAxis))") == true)
  }

  @Test(arguments: consumers)
  func oneScaleForAll(_ consumer: Consumer) throws {
    let run = try PassRun(consumer.model(7), QuantizePass(granularity: .tensor))
    let operation = try #require(try run.output.operation("w"))
    #expect(operation.attributes["scale"]?.tensorSource?.shape == [])
    #expect(operation.attributes["zero_point"]?.tensorSource?.shape == [])
  }

  /// A block that does not divide the axis becomes the largest divisor below it that still shrinks
  /// the weight, else the whole axis.
  @Test(arguments: [
    (48, 32, 24), (48, 48, 48), (48, 100, 48), (50, 32, 25), (60, 16, 15), (47, 32, 47),
    (94, 32, 94), (64, 32, 32), (45, 4, 3),
  ])
  func blocksThatDoNotDivide(_ length: Int, _ wanted: Int, _ block: Int) throws {
    let run = try PassRun(
      Sample.linear(9, shape: [64, length]), QuantizePass(granularity: .block(wanted)))
    let scale = try run.output.operation("w")?.inputs["scale"]?.value?.tensorSource
    #expect(scale?.shape == [64, length / block])
  }

  @Test func consumersThatDisagree() throws {
    var weights = WeightMaker()
    let model = Make.model(
      7, [Make.tensor("x", [2, 64])],
      [
        Make.const("w", try weights.random(.float16, [64, 64])),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("a", [2, 64])),
        Make.operation("matmul", ["x": "a", "y": "w"], Make.tensor("y", [2, 64])),
      ], outputs: [Make.tensor("y", [2, 64])])
    let run = try PassRun(model)
    #expect(run.after == nil)
    #expect(try run.row("w").reason?.contains("disagree") == true)
    // One scale suits both.
    let tensor = try PassRun(model, QuantizePass(granularity: .tensor))
    #expect(try tensor.row("w").status == .compressed)
  }

  @Test func consumersThatAgree() throws {
    var weights = WeightMaker()
    let model = Make.model(
      7, [Make.tensor("x", [2, 64])],
      [
        Make.const("w", try weights.random(.float16, [64, 64])), Make.const("t", .bool(true)),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("a", [2, 64])),
        Make.operation(
          "matmul", ["x": "a", "y": "w", "transpose_y": "t"], Make.tensor("y", [2, 64])),
      ], outputs: [Make.tensor("y", [2, 64])])
    #expect(try PassRun(model).row("w").scheme?.contains("axis 0") == true)
  }
}
