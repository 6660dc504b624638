import CModelSchemas
import ModelSpec

/// A layer of a network as protobuf-c unpacks it.
typealias LayerMessage = UnsafeMutablePointer<CoreML__Specification__NeuralNetworkLayer>

extension UnsafeMutablePointer where Pointee == CoreML__Specification__NeuralNetworkLayer {
  /// The layers of the networks in a branch or loop.
  var nestedLayers: [[UnsafeMutablePointer]] {
    let networks: [UnsafeMutablePointer<CoreML__Specification__NeuralNetwork>?] =
      switch pointee.layer_case.rawValue {
      case 605: [pointee.branch?.pointee.ifbranch, pointee.branch?.pointee.elsebranch]
      case 615: [pointee.loop?.pointee.conditionnetwork, pointee.loop?.pointee.bodynetwork]
      default: []
      }
    return networks.compactMap { network in
      network.map { messages($0.pointee.n_layers, $0.pointee.layers) }
    }
  }
}
