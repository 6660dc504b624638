import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct WeightAxesTests {
  private func axes(
    _ type: String, _ input: String, _ shape: [Int], _ inputs: NamedList<Argument> = [:],
    binding: Int = 0, constant: (String) -> Value? = { _ in nil }
  ) -> [Int?]? {
    WeightAxes.axes(
      for: Build.operation(type, inputs), input: input, binding: binding, shape: shape,
      constant: constant
    ).map { [$0.output, $0.input] }
  }

  @Test func layers() {
    #expect(axes("conv", "weight", [64, 32, 3, 3]) == [0, 1])
    #expect(axes("conv", "weight", [1, 32, 3, 3]) == [0, 1])
    #expect(axes("linear", "weight", [64, 32]) == [0, 1])
    #expect(axes("conv_transpose", "weight", [64, 32, 3, 3]) == [1, 0])
    #expect(axes("gather", "x", [30000, 768]) == [0, 1])
    #expect(axes("lstm", "weight_ih", [256, 64]) == [0, 1])
    #expect(axes("linear", "bias", [64]) == [0, nil])
    #expect(axes("mul", "y", []) == nil)
  }

  @Test func matmulMindsTheFlags() {
    #expect(axes("matmul", "y", [64, 32]) == [1, 0])
    #expect(axes("matmul", "y", [8, 64, 32]) == [2, 1])
    #expect(axes("matmul", "x", [64, 32]) == [0, 1])
    #expect(axes("matmul", "y", [64, 32], ["transpose_y": .value(.bool(true))]) == [0, 1])
    #expect(axes("matmul", "x", [64, 32], ["transpose_x": .value(.bool(true))]) == [1, 0])
    // The other operand's flag has no effect.
    #expect(axes("matmul", "x", [64, 32], ["transpose_y": .value(.bool(true))]) == [0, 1])
    #expect(
      axes("matmul", "y", [64, 32], ["transpose_y": .name("flag")]) { name in
        name == "flag" ? .bool(true) : nil
      } == [0, 1])
  }

  @Test func axesOfSizeOneHoldNoChannels() {
    #expect(axes("add", "y", [1, 64, 768]) == [1, 2])
    #expect(axes("mul", "y", [1, 768, 1, 1]) == [1, nil])
    #expect(axes("concat", "values", [1, 1, 768]) == [2, nil])
    #expect(axes("add", "y", [64, 768]) == [0, 1])
    #expect(axes("add", "y", [1, 1]) == [0, nil])
  }

  @Test func einsumFollowsItsEquation() {
    let equation: NamedList<Argument> = ["equation": .value(.string("bnc,cd->bnd"))]
    #expect(axes("einsum", "values", [64, 32], equation, binding: 1) == [1, 0])
    let spaced: NamedList<Argument> = ["equation": .value(.string("nchw, nwhu -> nchu"))]
    #expect(axes("einsum", "values", [2, 3, 4, 5], spaced, binding: 1) == [3, 1])
    #expect(axes("einsum", "values", [2, 3, 4, 5], spaced, binding: 0) == [1, 3])
    // Without a usable equation the shape decides.
    #expect(axes("einsum", "values", [1, 32], [:], binding: 0) == [1, nil])
  }

  @Test func consumersAgreeOrNot() {
    let plain = ChannelAxes(output: 0, input: 1)
    let turned = ChannelAxes(output: 1, input: 0)
    #expect(
      WeightAxes.agreedAxes([("a", plain), ("b", plain)]).axes == plain)
    #expect(
      WeightAxes.agreedAxes([("a", ChannelAxes(output: 0, input: nil)), ("b", plain)]).axes
        == plain)
    let disagreement = WeightAxes.agreedAxes([("a", plain), ("b", turned)])
    #expect(disagreement.axes == nil)
    #expect(
      disagreement
        == .disagreement("a has its output channels on axis 0, b on axis 1"))
    #expect(WeightAxes.agreedAxes([]).axes == plain)
  }
}
