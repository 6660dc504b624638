import ModelGraph
import ModelTensors

/// The axes of a weight that hold its channels.
public struct ChannelAxes: Sendable, Hashable {
  /// The axis of the output channels: one scale, or one group of tables, per index.
  public var output: Int
  /// The axis of the input channels, along which blocks lie; nil when there is none.
  public var input: Int?

  /// These axes.
  public init(output: Int, input: Int?) {
    self.output = output
    self.input = input
  }
}

/// Which axes of a weight hold its channels, by the operation that consumes it.
public enum WeightAxes {
  /// The channel axes of a constant bound to an input of an operation, or nil for a scalar.
  ///
  /// - `conv`, `linear`, `gather` and recurrent layers: output 0, input 1.
  /// - `conv_transpose`: output 1, input 0.
  /// - `matmul`: of `y` the last axis is the output and the one before it the input, of `x` the
  ///   other way round; a transpose flag swaps them.
  /// - `einsum`: the output is the axis whose label the result keeps and no other operand has, the
  ///   input the axis whose label is summed away.
  /// - All others, element-wise ones above all: the first axis longer than 1 is the output, the
  ///   next longer one the input. An axis of size 1 is stretched over the other operand and holds
  ///   no channel: of a position table [1, 64, 768] the 64 rows are the channels, as they would be
  ///   in an embedding table.
  ///
  /// - Parameters:
  ///   - binding: Which binding of the input the constant is.
  ///   - constant: Yields the value of a `const` operation by the name of its output.
  public static func axes(
    for operation: GraphOperation, input: String, binding: Int = 0, shape: [Int],
    constant: (String) -> Value? = { _ in nil }
  ) -> ChannelAxes? {
    let rank = shape.count
    if rank == 0 { return nil }
    if rank == 1 { return ChannelAxes(output: 0, input: nil) }
    switch (operation.type, input) {
    case ("conv", _), ("linear", _), ("gather", _), ("conv_quantized", _),
      ("lstm", _), ("gru", _), ("rnn", _):
      return ChannelAxes(output: 0, input: 1)
    case ("conv_transpose", "weight"):
      return ChannelAxes(output: 1, input: 0)
    case ("matmul", "x"), ("matmul", "y"):
      let flag = operation.inputs["transpose_\(input)"]
      let value = flag?.value ?? flag?.name.flatMap(constant)
      let isLast = (value?.boolValue ?? false) != (input == "y")
      return ChannelAxes(
        output: isLast ? rank - 1 : rank - 2, input: isLast ? rank - 2 : rank - 1)
    case ("einsum", "values"):
      let argument = operation.inputs["equation"]
      let value = argument?.value ?? argument?.name.flatMap(constant)
      return value?.stringValue.flatMap { einsumAxes($0, operand: binding, rank: rank) }
        ?? broadcastAxes(shape)
    default:
      return broadcastAxes(shape)
    }
  }

  /// The outcome of ``agreedAxes(_:)``.
  public enum Agreement: Sendable, Hashable {
    case axes(ChannelAxes)
    /// The consumers want different axes; the text says which.
    case disagreement(String)

    /// The axes, or nil where the consumers disagree.
    public var axes: ChannelAxes? {
      if case .axes(let axes) = self { return axes }
      return nil
    }
  }

  /// The axes that all consumers of a weight share.
  ///
  /// A consumer without an input axis agrees with any that has the same output axis. Of no
  /// consumers the axes are 0 and 1.
  public static func agreedAxes(
    _ consumers: [(consumer: String, axes: ChannelAxes)]
  ) -> Agreement {
    guard let first = consumers.first else { return .axes(ChannelAxes(output: 0, input: 1)) }
    var agreed = first.axes
    for other in consumers.dropFirst() {
      let inputsAgree =
        agreed.input == nil || other.axes.input == nil || agreed.input == other.axes.input
      guard other.axes.output == agreed.output, inputsAgree else {
        return .disagreement(
          "\(first.consumer) has its output channels on axis \(first.axes.output), "
            + "\(other.consumer) on axis \(other.axes.output)"
            + (other.axes.output == agreed.output ? ", with other input channels" : ""))
      }
      agreed.input = agreed.input ?? other.axes.input
    }
    return .axes(agreed)
  }

  /// The first two axes longer than 1; axis 0 when there is none.
  private static func broadcastAxes(_ shape: [Int]) -> ChannelAxes {
    let long = shape.indices.filter { shape[$0] > 1 }
    guard let output = long.first else { return ChannelAxes(output: 0, input: nil) }
    return ChannelAxes(output: output, input: long.dropFirst().first)
  }

  /// The axes by the labels of an equation such as `nchw,nwhu->nchu`, or nil when they decide
  /// nothing.
  private static func einsumAxes(_ equation: String, operand: Int, rank: Int) -> ChannelAxes? {
    let sides = equation.filter { $0 != " " }.split(
      separator: "->", omittingEmptySubsequences: false)
    guard sides.count == 2 else { return nil }
    let operands = sides[0].split(separator: ",", omittingEmptySubsequences: false)
    guard operands.indices.contains(operand) else { return nil }
    let labels = Array(operands[operand])
    guard labels.count == rank else { return nil }
    let others = operands.indices.filter { $0 != operand }.flatMap { Array(operands[$0]) }
    let output = labels.firstIndex { sides[1].contains($0) && !others.contains($0) }
    guard let output else { return nil }
    let input = labels.firstIndex { !sides[1].contains($0) && others.contains($0) }
    return ChannelAxes(output: output, input: input)
  }
}
