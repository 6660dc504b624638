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
            labels: ClassLabels(
              strings: message.class_labels_case.rawValue == 100 ? message.stringclasslabels : nil,
              numbers: message.class_labels_case.rawValue == 101 ? message.int64classlabels : nil)))
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

/// The class labels of a classifier.
struct ClassLabels: Sendable, Equatable {
  /// `string` or `int64`.
  var type: String
  var count: Int
  /// The first few labels.
  var first: [Detail]

  /// How many labels a report names.
  static let limit = 10

  /// Labels of either kind, or nil when there are none.
  init?(
    strings: UnsafeMutablePointer<CoreML__Specification__StringVector>?,
    numbers: UnsafeMutablePointer<CoreML__Specification__Int64Vector>? = nil
  ) {
    if let vector = strings?.pointee {
      (type, count) = ("string", vector.n_vector)
      first = UnsafeBufferPointer(start: vector.vector, count: min(count, ClassLabels.limit))
        .map { .text(shown($0)) }
    } else if let vector = numbers?.pointee {
      (type, count) = ("int64", vector.n_vector)
      first = UnsafeBufferPointer(start: vector.vector, count: min(count, ClassLabels.limit))
        .map { .integer(Int($0)) }
    } else {
      return nil
    }
  }

  /// Number, type and first labels.
  var detail: Detail {
    .object(["count": .integer(count), "type": .text(type), "first": .list(first)])
  }
}

/// The text of a string field; invalid UTF-8 is repaired, for show.
func shown(_ data: ProtobufCBinaryData) -> String {
  String(decoding: content(data), as: UTF8.self)
}
