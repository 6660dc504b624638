import CModelSchemas
import ModelGraph
import ModelSpec

extension NeuralNetwork {
  /// Weight storage, custom layers, preprocessing, labels, training.
  var details: ModelDetails.Fields {
    get throws {
      var fields: ModelDetails.Fields = [
        ("layers", .integer(layers.count)), ("weight_storage", weightStorage),
      ]
      let custom = layers.filter { $0.type == "custom" }
      if !custom.isEmpty {
        fields.append(
          (
            "custom_layers",
            .list(
              custom.map {
                let className = $0.customClassName.map(Detail.text)
                return .object(["name": .text($0.name), "class_name": className ?? .none])
              })
          ))
      }
      return try fields + withNetwork { try messageDetails($0) }
    }
  }

  private func messageDetails(_ message: NetworkMessage) throws -> ModelDetails.Fields {
    var fields: ModelDetails.Fields = []
    if !message.preprocessing.isEmpty {
      fields.append(("preprocessing", .list(message.preprocessing.map(preprocessing))))
    }
    fields += [
      ("array_mapping", .named(["rank5", "exact"], message.arrayMapping)),
      ("image_mapping", .named(["rank5", "rank4"], message.imageMapping)),
    ]
    fields += message.labels.fields
    let updatable = layers.filter(\.isUpdatable)
    if !updatable.isEmpty {
      fields.append(("trainable_layers", .texts(updatable.map(\.name))))
    }
    if let update = message.update { fields.append(("training", training(update))) }
    return fields
  }

  /// Weights, values and bytes by storage, the largest first.
  private var weightStorage: Detail {
    var sums: [String: (weights: Int, values: Int, bytes: Int)] = [:]
    for weight in layers.lazy.flatMap(\.weights) where weight.storage != .empty {
      let sum = sums[weight.storage.name] ?? (0, 0, 0)
      sums[weight.storage.name] = (
        sum.weights + 1, sum.values &+ weight.count, sum.bytes &+ weight.storedBytes
      )
    }
    let sorted = sums.sorted { ($1.value.bytes, $0.key) < ($0.value.bytes, $1.key) }
    return .object(
      NamedList(
        sorted.map { name, sum in
          (
            key: name,
            value: .object([
              "weights": .integer(sum.weights), "values": .integer(sum.values),
              "bytes": .integer(sum.bytes),
            ])
          )
        }))
  }

  private func preprocessing(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__NeuralNetworkPreprocessing>
  ) -> Detail {
    let message = pointer.pointee
    var fields: NamedList<Detail> = ["feature": .text(shown(message.featurename))]
    switch message.preprocessor_case.rawValue {
    case 10:
      fields["type"] = .text("scaler")
      if let scaler = message.scaler?.pointee {
        fields["scale"] = .number(Double(scaler.channelscale))
        fields["red_bias"] = .number(Double(scaler.redbias))
        fields["green_bias"] = .number(Double(scaler.greenbias))
        fields["blue_bias"] = .number(Double(scaler.bluebias))
        fields["gray_bias"] = .number(Double(scaler.graybias))
      }
    case 11:
      fields["type"] = .text("mean image")
      fields["values"] = .integer(message.meanimage?.pointee.n_meanimage ?? 0)
    default: fields["type"] = Detail.none
    }
    return .object(fields)
  }

  private func training(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__NetworkUpdateParameters>
  ) -> Detail {
    let message = pointer.pointee
    return .object([
      "optimizer": optimizer(message.optimizer),
      "losses": .list(messages(message.n_losslayers, message.losslayers).map(loss)),
      "epochs": Parameters.detail(message.epochs),
      "shuffle": message.shuffle.map { .bool($0.pointee.defaultvalue != 0) } ?? .none,
      "seed": Parameters.detail(message.seed),
    ])
  }

  private func optimizer(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__Optimizer>?
  ) -> Detail {
    guard let message = pointer?.pointee else { return .none }
    switch message.optimizer_type_case.rawValue {
    case 10:
      guard let values = message.sgdoptimizer?.pointee else { return .none }
      return .object([
        "type": .text("sgd"), "learning_rate": Parameters.detail(values.learningrate),
        "mini_batch_size": Parameters.detail(values.minibatchsize),
        "momentum": Parameters.detail(values.momentum),
      ])
    case 11:
      guard let values = message.adamoptimizer?.pointee else { return .none }
      return .object([
        "type": .text("adam"), "learning_rate": Parameters.detail(values.learningrate),
        "mini_batch_size": Parameters.detail(values.minibatchsize),
        "beta1": Parameters.detail(values.beta1), "beta2": Parameters.detail(values.beta2),
        "eps": Parameters.detail(values.eps),
      ])
    default: return .none
    }
  }

  private func loss(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__LossLayer>
  ) -> Detail {
    let message = pointer.pointee
    func fields(
      _ type: String, _ input: ProtobufCBinaryData?, _ target: ProtobufCBinaryData?
    ) -> Detail {
      .object([
        "type": .text(type), "name": .text(shown(message.name)),
        "input": input.map { .text(shown($0)) } ?? .none,
        "target": target.map { .text(shown($0)) } ?? .none,
      ])
    }
    switch message.loss_layer_type_case.rawValue {
    case 10:
      let values = message.categoricalcrossentropylosslayer?.pointee
      return fields("categorical cross-entropy", values?.input, values?.target)
    case 11:
      let values = message.meansquarederrorlosslayer?.pointee
      return fields("mean squared error", values?.input, values?.target)
    default: return fields("none", nil, nil)
    }
  }
}
