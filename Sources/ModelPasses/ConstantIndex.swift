import ModelGraph
import ModelOperations
import ModelTensors

/// A `const` operation of a model.
public struct ConstantSite: Sendable, Hashable {
  /// The program: indices of children from the root pipeline down.
  public var place: [Int]
  public var function: String
  /// The opset of the block.
  public var specialization: String
  /// The name of the constant's value.
  public var name: String
  public var path: OperationPath
}

/// A constant of a model: one weight, however many operations and functions use it.
struct Constant: Sendable {
  /// An operation's input that the constant is bound to.
  struct Consumer: Sendable {
    var function: String
    var name: String
    var type: String
    var input: String
    /// The channel axes that the consumer sees; nil for a scalar.
    var axes: ChannelAxes?
    var operation: GraphOperation
    /// Whether the other operand of a matrix product has another element type; only a plain
    /// constant may differ.
    var mixesTypes: Bool
  }

  var name: String
  var value: Value
  var source: any TensorSource
  var sites: [ConstantSite]
  var functions: [String]
  var consumers: [Consumer]
  /// Whether a block yields the constant as an output.
  var isBlockOutput: Bool

  /// Stored bytes.
  var byteCount: Int { source.byteCount }
}

/// All numeric constants of a model's programs, in file order.
struct ConstantIndex: Sendable {
  private(set) var constants: [Constant] = []
  /// The constant of a site.
  private(set) var bySite: [ConstantSite: Int] = [:]
  private var byReference: [SharedKey: Int] = [:]

  private struct SharedKey: Hashable {
    var reference: BlobReference
    var elementType: ElementType
    var shape: [Int]
  }

  /// Indexes the programs of `model`.
  init(_ model: Model) {
    add(model, place: [], prefix: "")
  }

  private mutating func add(_ model: Model, place: [Int], prefix: String) {
    switch model.kind {
    case .program(let program):
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          add(block, of: function, name, key, place: place, prefix: prefix)
        }
      }
    case .pipeline(let pipeline):
      for (index, child) in pipeline.models.enumerated() {
        add(child, place: place + [index], prefix: "\(prefix)\(pipeline.name(of: index))/")
      }
    case .neuralNetwork, .other, .absent: break
    }
  }

  private mutating func add(
    _ block: Block, of function: Function, _ functionName: String, _ key: String, place: [Int],
    prefix: String
  ) {
    let defUse = DefUse(inputs: function.inputs, block: block)
    var values: [String: Value] = [:]
    block.forEachOperation { operation, _ in
      if operation.isConst, let output = operation.outputs.first {
        values[output.name] = operation.attributes["val"]
      }
    }
    let known = values
    let types = Dictionary(
      defUse.definitions.map { ($0.name, $0.type?.tensor?.elementType) },
      uniquingKeysWith: { _, last in last })
    block.forEachOperation { operation, path in
      guard operation.isConst, let value = operation.attributes["val"],
        let source = value.tensorSource, let output = operation.outputs.first
      else { return }
      let site = ConstantSite(
        place: place, function: functionName, specialization: key, name: output.name, path: path)
      var consumers: [Constant.Consumer] = []
      var isBlockOutput = false
      for use in defUse.uses(of: path) {
        switch use.consumer {
        case .blockOutput: isBlockOutput = true
        case .operation(let consumerPath, let input, let binding):
          guard let consumer = block[consumerPath] else { continue }
          consumers.append(
            Constant.Consumer(
              function: functionName, name: consumer.name, type: consumer.type, input: input,
              axes: WeightAxes.axes(
                for: consumer, input: input, binding: binding, shape: source.shape,
                constant: { known[$0] }),
              operation: consumer,
              mixesTypes: ConstantIndex.mixesTypes(consumer, input, source.elementType, types)))
        }
      }
      let index = indexOfConstant(value, source)
      if index == constants.count {
        constants.append(
          Constant(
            name: prefix + output.name, value: value, source: source, sites: [], functions: [],
            consumers: [], isBlockOutput: false))
      }
      constants[index].sites.append(site)
      if !constants[index].functions.contains(functionName) {
        constants[index].functions.append(functionName)
      }
      constants[index].consumers += consumers
      constants[index].isBlockOutput = constants[index].isBlockOutput || isBlockOutput
      bySite[site] = index
    }
  }

  private static func mixesTypes(
    _ operation: GraphOperation, _ input: String, _ type: ElementType,
    _ types: [String: ElementType?]
  ) -> Bool {
    guard operation.type == "matmul", input == "x" || input == "y",
      let other = operation.inputs[input == "x" ? "y" : "x"]
    else { return false }
    let otherType =
      other.value?.type?.tensor?.elementType ?? other.name.flatMap { types[$0] ?? nil }
    return otherType != nil && otherType != type
  }

  /// The index of the constant that lies where `value` does, or that of a new one.
  private mutating func indexOfConstant(_ value: Value, _ source: any TensorSource) -> Int {
    guard let weight = value.weight else { return constants.count }
    let key = SharedKey(
      reference: weight.reference, elementType: source.elementType, shape: source.shape)
    if let index = byReference[key] { return index }
    byReference[key] = constants.count
    return constants.count
  }
}
