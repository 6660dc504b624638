import ModelGraph
import ModelTensors

/// A weight of a neural network with what a pass may know of it.
struct NetworkWeightSite: Sendable {
  var layer: NeuralNetworkLayer
  var weight: NeuralNetworkWeight
  var facts: NetworkWeightFacts
}

extension NeuralNetwork {
  /// All weights that hold values, in the order of the layers; `prefix` stands before their names.
  func weightSites(prefix: String) -> [NetworkWeightSite] {
    layers.flatMap { layer in
      layer.weights.filter { $0.storage != .empty }.map { weight in
        let name = layer.name + "." + weight.path
        return NetworkWeightSite(
          layer: layer, weight: weight,
          facts: NetworkWeightFacts(
            name: prefix + name, ownName: name, layer: layer.name, layerType: layer.type,
            path: weight.path, shape: weight.shape, channelAxis: weight.channelAxis,
            storage: weight.storage,
            elementCount: Shape.elementCount(weight.shape) ?? weight.count,
            byteCount: weight.storedBytes))
      }
    }
  }
}

extension Model {
  /// Calls `body` for every neural network, those of a pipeline's children included, with the names
  /// of the children around it.
  func forEachNetwork(
    prefix: String = "", _ body: (NeuralNetwork, _ prefix: String) throws -> Void
  ) rethrows {
    switch kind {
    case .neuralNetwork(let network): try body(network, prefix)
    case .pipeline(let pipeline):
      for (index, child) in pipeline.models.enumerated() {
        try child.forEachNetwork(prefix: prefix + pipeline.name(of: index) + "/", body)
      }
    case .program, .other, .absent: break
    }
  }
}
