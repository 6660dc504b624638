import ModelGraph
import ModelTensors

/// One operation of a program or layer of a neural network, for a listing.
public struct OperationFact: Sendable, Equatable {
  /// What an input is bound to.
  public struct Input: Sendable, Equatable {
    /// The name of the input.
    public var name: String
    /// Names of values, or a constant in short.
    public var value: String
  }

  /// A result with its type.
  public struct Output: Sendable, Equatable {
    /// The name of the value.
    public var name: String
    /// The element type, or `list`, `tuple`, `dictionary` for a value that is no tensor.
    public var dtype: String?
    /// The shape; nil for a size that is not fixed.
    public var shape: [Int?]
  }

  /// The function in which it stands.
  public var function: String
  /// The name of the operation.
  public var name: String
  /// The type of the operation or layer.
  public var type: String
  /// The number of nested blocks around it.
  public var depth: Int
  /// Its inputs, in file order.
  public var inputs: [Input]
  /// Its results.
  public var outputs: [Output]

  /// The operations of the named functions in file order, without `const`.
  public static func operations(of model: Model, functions: [String]) -> [OperationFact] {
    switch model.kind {
    case .program(let program):
      return program.functions.filter { functions.contains($0.key) }.flatMap { name, function in
        operations(of: function, named: name)
      }
    case .neuralNetwork(let network):
      return network.layers.map { layer in
        OperationFact(
          function: "main", name: layer.name, type: layer.type, depth: layer.enclosing.count,
          inputs: layer.inputs.map { Input(name: "input", value: $0) },
          outputs: layer.outputs.map { Output(name: $0, dtype: nil, shape: []) })
      }
    case .pipeline, .other, .absent: return []
    }
  }

  private static func operations(of function: Function, named name: String) -> [OperationFact] {
    guard let block = function.activeBlock else { return [] }
    var constants: [String: Value] = [:]
    var facts: [OperationFact] = []
    block.forEachOperation { operation, path in
      if operation.isConst {
        if let result = operation.outputs.first, let value = operation.attributes["val"] {
          constants[result.name] = value
        }
        return
      }
      facts.append(
        OperationFact(
          function: name, name: operation.name, type: operation.type,
          depth: path.steps.count / 2,
          inputs: operation.inputs.map { input, argument in
            let values = argument.bindings.map { text($0, constants) }
            let list = values.joined(separator: ", ")
            return Input(name: input, value: values.count == 1 ? list : "(\(list))")
          },
          outputs: operation.outputs.map {
            let tensor = $0.type?.tensorOrStateTensor
            return Output(
              name: $0.name, dtype: tensor?.elementType?.rawValue ?? kind(of: $0.type),
              shape: tensor?.dimensions.map(\.size) ?? [])
          }))
    }
    return facts
  }

  private static func kind(of type: ValueType?) -> String? {
    switch type?.kind {
    case .list: "list"
    case .tuple: "tuple"
    case .dictionary: "dictionary"
    default: nil
    }
  }

  /// A name; a constant of few elements as its values, of many as its type.
  private static func text(_ binding: Binding, _ constants: [String: Value]) -> String {
    if let name = binding.name {
      guard let value = constants[name], let short = short(value) else { return name }
      return short
    }
    guard let value = binding.value else { return "" }
    return short(value) ?? type(of: value)
  }

  private static func short(_ value: Value) -> String? {
    guard let literal = value.literal, let tensor = value.type?.tensor else { return nil }
    let isScalar = tensor.dimensions.isEmpty
    func list<T>(_ values: [T], _ show: (T) -> String) -> String? {
      if values.count > 8 { return nil }
      let texts = values.map(show)
      return isScalar && texts.count == 1 ? texts[0] : "[" + texts.joined(separator: ", ") + "]"
    }
    switch literal {
    case .floats(let values): return list(values) { "\($0)" }
    case .ints(let values): return list(values) { "\($0)" }
    case .bools(let values): return list(values) { "\($0)" }
    case .strings(let values): return list(values) { "\"\($0)\"" }
    case .longInts(let values): return list(values) { "\($0)" }
    case .doubles(let values): return list(values) { "\($0)" }
    case .bytes(let bytes):
      guard tensor.elementType == .float16, bytes.count.isMultiple(of: 2) else {
        return value.intValues.flatMap { list($0) { "\($0)" } }
      }
      let halves = stride(from: 0, to: min(bytes.count, 18), by: 2).map {
        HalfFloat.float(UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8)
      }
      return list(halves) { "\($0)" }
    case .absent: return nil
    }
  }

  private static func type(of value: Value) -> String {
    guard let tensor = value.type?.tensor else { return "constant" }
    let sizes = tensor.dimensions.map { $0.size.map(String.init) ?? "?" }
    return "\(tensor.elementType?.rawValue ?? "constant")[\(sizes.joined(separator: ", "))]"
  }
}
