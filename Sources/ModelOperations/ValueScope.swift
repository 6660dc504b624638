import ModelGraph
import ModelTensors

/// The values that an operation sees, by name: inputs and what stands before it in its block and
/// in the blocks around it.
public struct ValueScope: Sendable {
  /// Where a value comes from.
  public enum Producer: Sendable {
    case input(ValueType?)
    case operation(GraphOperation, output: Int)
  }

  private var producers: [String: Producer] = [:]

  /// A scope of function or block inputs.
  public init(inputs: [NamedValueType] = []) { add(inputs) }

  /// Adds the inputs of a function or block.
  public mutating func add(_ inputs: [NamedValueType]) {
    for input in inputs { producers[input.name] = .input(input.type) }
  }

  /// Adds the outputs of an operation.
  public mutating func add(_ operation: GraphOperation) {
    for (index, output) in operation.outputs.enumerated() {
      producers[output.name] = .operation(operation, output: index)
    }
  }

  /// The producer of a value, or nil when none is in scope.
  public func producer(_ name: String) -> Producer? { producers[name] }

  /// The type of a value.
  public func type(_ name: String) -> ValueType? {
    switch producers[name] {
    case .input(let type): type
    case .operation(let operation, let output): operation.outputs[output].type
    case nil: nil
    }
  }

  /// The value of a `const` operation.
  public func constant(_ name: String) -> Value? {
    guard case .operation(let operation, _) = producers[name], operation.isConst else {
      return nil
    }
    return operation.attributes["val"]
  }

  /// The constant that an input of an operation is bound to, by name or as a value, or that is an
  /// attribute of the operation; nil when the input is computed or absent.
  public func constant(_ operation: GraphOperation, _ input: String) -> Value? {
    guard let argument = operation.inputs[input] else { return operation.attributes[input] }
    return argument.value ?? argument.name.flatMap { constant($0) }
  }

  /// The type of the value that an input with one binding is bound to.
  public func type(_ operation: GraphOperation, _ input: String) -> ValueType? {
    guard let argument = operation.inputs[input] else { return operation.attributes[input]?.type }
    return argument.value?.type ?? argument.name.flatMap { type($0) }
  }

  /// The tensor type of the value that an input with one binding is bound to.
  public func tensor(_ operation: GraphOperation, _ input: String) -> TensorType? {
    type(operation, input)?.tensor
  }

  /// Whether a binding is a constant: a value, or the output of a `const` or `constexpr` operation.
  public func isConstant(_ binding: Binding) -> Bool {
    switch binding.kind {
    case .value: return true
    case .absent: return false
    case .name(let name):
      guard case .operation(let operation, _) = producers[name] else { return false }
      return operation.isConst || operation.isConstexpr
    }
  }
}
