import CModelSchemas
import ModelGraph
import ModelSpec
import ModelTensors

/// The members that the three messages of neural networks share, without the layers' weights.
struct NetworkMessage {
  var layers: [LayerMessage]
  var preprocessing: [UnsafeMutablePointer<CoreML__Specification__NeuralNetworkPreprocessing>]
  var arrayMapping: UInt32
  var imageMapping: UInt32
  var update: UnsafeMutablePointer<CoreML__Specification__NetworkUpdateParameters>?
  var labels: ClassLabels?
}

extension NeuralNetwork {
  /// Unpacks the network and hands what is common to its kinds to `body`.
  func withNetwork<R>(_ body: (NetworkMessage) throws -> R) throws -> R {
    switch typeName {
    case "neuralNetworkClassifier":
      return try withMessage(as: CoreML__Specification__NeuralNetworkClassifier.self) {
        let message = $0.pointee
        return try body(
          NetworkMessage(
            layers: messages(message.n_layers, message.layers),
            preprocessing: messages(message.n_preprocessing, message.preprocessing),
            arrayMapping: message.arrayinputshapemapping.rawValue,
            imageMapping: message.imageinputshapemapping.rawValue,
            update: message.updateparams,
            labels: message.labels))
      }
    case "neuralNetworkRegressor":
      return try withMessage(as: CoreML__Specification__NeuralNetworkRegressor.self) {
        let message = $0.pointee
        return try body(
          NetworkMessage(
            layers: messages(message.n_layers, message.layers),
            preprocessing: messages(message.n_preprocessing, message.preprocessing),
            arrayMapping: message.arrayinputshapemapping.rawValue,
            imageMapping: message.imageinputshapemapping.rawValue, update: message.updateparams))
      }
    default:
      return try withMessage(as: CoreML__Specification__NeuralNetwork.self) {
        let message = $0.pointee
        return try body(
          NetworkMessage(
            layers: messages(message.n_layers, message.layers),
            preprocessing: messages(message.n_preprocessing, message.preprocessing),
            arrayMapping: message.arrayinputshapemapping.rawValue,
            imageMapping: message.imageinputshapemapping.rawValue, update: message.updateparams))
      }
    }
  }

  /// Hands the layers of the outermost network to `body`.
  func withLayers<R>(_ body: ([LayerMessage]) throws -> R) throws -> R {
    try withNetwork { try body($0.layers) }
  }
}

/// The text of a string field; invalid UTF-8 is repaired, for show.
func shown(_ data: ProtobufCBinaryData) -> String {
  String(decoding: content(data), as: UTF8.self)
}
