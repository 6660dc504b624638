import ModelGraph
import ModelOperations
import ModelTensors

/// All weights of a model with the places where their values are.
public struct WeightCatalog: Sendable {
  /// A weight and where its values come from.
  public struct Entry: Sendable {
    /// What is known of it.
    public var fact: WeightFact
    var location: Location
  }

  /// Where a weight's values come from.
  enum Location: Sendable {
    /// A tensor as it is stored.
    case stored(any TensorSource)
    /// The output of a `constexpr` operation.
    case encoded(ConstantEvaluator, name: String)
    /// Weight `weight` of layer `layer` of a neural network.
    case layer(NeuralNetwork, layer: Int, weight: Int)
    case absent
  }

  /// A tensor that is stored: data, table, scale, offset or mask of one or several weights.
  struct Part: Sendable {
    /// Equal for the same bytes in the file.
    var key: String
    var byteCount: Int
    /// Whether other functions may refer to it.
    var isBlob: Bool
  }

  /// The weights in file order: a pipeline's children in order, the functions of a program in
  /// order, neural network layers in order.
  public internal(set) var entries: [Entry] = []
  var storedBytes: [String: Int] = [:]
  private var places: [String: Int] = [:]

  /// The weights of a model; those of a pipeline's children under `child/`.
  public init(_ model: Model) { add(model, prefix: "") }

  /// The facts of all weights.
  public var facts: [WeightFact] { entries.map(\.fact) }

  /// All weights together; parts that several share count once.
  public var totals: ParameterTotals {
    ParameterTotals(
      count: entries.reduce(0) { $0 &+ $1.fact.parameters },
      storedBytes: storedBytes.values.reduce(0, &+))
  }

  private mutating func add(_ model: Model, prefix: String) {
    switch model.kind {
    case .program(let program):
      for (name, function) in program.functions {
        guard let block = function.activeBlock else { continue }
        var walk = FunctionWeights(
          function: name, prefix: prefix, inputs: function.inputs, block: block)
        walk.collect(into: &self)
      }
    case .neuralNetwork(let network): add(network, prefix: prefix)
    case .pipeline(let pipeline):
      for (index, child) in pipeline.models.enumerated() {
        add(child, prefix: prefix + pipeline.name(of: index) + "/")
      }
    case .other, .absent: break
    }
  }

  /// Adds a weight, or its function and consumers to the entry of equal `signature`.
  mutating func add(_ entry: Entry, parts: [Part], signature: String?) {
    for part in parts { storedBytes[part.key] = part.byteCount }
    if let signature, let place = places[signature] {
      for function in entry.fact.functions
      where !entries[place].fact.functions.contains(function) {
        entries[place].fact.functions.append(function)
      }
      entries[place].fact.consumers += entry.fact.consumers
      return
    }
    if let signature { places[signature] = entries.count }
    entries.append(entry)
  }

  private mutating func add(_ network: NeuralNetwork, prefix: String) {
    for (index, layer) in network.layers.enumerated() {
      for (number, weight) in layer.weights.enumerated() where weight.storage != .empty {
        let name = prefix + layer.name + "." + weight.path
        let fact = WeightFact(
          name: name, functions: ["main"],
          consumers: [
            WeightFact.Consumer(
              function: "main", operation: layer.name, type: layer.type, input: weight.path)
          ],
          shape: weight.shape, elementType: .float32, encoding: weight.storage.name,
          parameters: Shape.elementCount(weight.shape) ?? weight.count,
          storedBytes: weight.storedBytes)
        add(
          Entry(
            fact: fact, location: .layer(network, layer: index, weight: number)),
          parts: [
            Part(
              key: "\(prefix)#\(index).\(number)", byteCount: weight.storedBytes, isBlob: false)
          ],
          signature: nil)
      }
    }
  }
}
