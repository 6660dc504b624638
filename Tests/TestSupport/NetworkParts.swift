import ModelToolchain

/// Short forms for the parts of neural networks that tests build by hand.
public enum MakeNetwork {
  /// Writes the fields of a message.
  public typealias Fill = (inout ProtoWriter) -> Void

  /// A layer whose parameters are field `number`.
  public static func layer(
    _ name: String, _ number: UInt64, updatable: Bool = false, _ parameters: Fill = { _ in }
  ) -> [UInt8] {
    var writer = ProtoWriter()
    writer.text(1, name)
    writer.text(2, "x")
    writer.text(3, "\(name)_out")
    if updatable { writer.varint(10, 1) }
    writer.message(number, parameters)
    return writer.bytes
  }

  /// A network message of these layers.
  public static func network(_ layers: [[UInt8]]) -> [UInt8] {
    var writer = ProtoWriter()
    for layer in layers { writer.bytes(1, layer) }
    return writer.bytes
  }

  /// A `WeightParams` message of singles.
  public static func singles(_ values: [Float], updatable: Bool = false) -> [UInt8] {
    var writer = ProtoWriter()
    writer.bytes(1, Make.packed(values, .float32))
    if updatable { writer.varint(50, 1) }
    return writer.bytes
  }

  /// A `WeightParams` message of codes of 8 bits with scale and bias.
  public static func linear(_ codes: [UInt8], scales: [Float], biases: [Float]) -> [UInt8] {
    var writer = ProtoWriter()
    writer.bytes(30, codes)
    writer.message(40) {
      $0.varint(1, 8)
      $0.message(101) {
        $0.bytes(1, Make.packed(scales, .float32))
        $0.bytes(2, Make.packed(biases, .float32))
      }
    }
    return writer.bytes
  }

  /// An inner product with weights and, if given, biases.
  public static func product(
    _ name: String, _ outputs: Int, _ inputs: Int, weights: [UInt8], bias: [UInt8]? = nil,
    updatable: Bool = false
  ) -> [UInt8] {
    layer(name, 140, updatable: updatable) {
      $0.varint(1, UInt64(inputs))
      $0.varint(2, UInt64(outputs))
      if bias != nil { $0.varint(10, 1) }
      $0.bytes(20, weights)
      if let bias { $0.bytes(21, bias) }
    }
  }

  /// An inner product with values between −1 and 1.
  public static func product(
    _ name: String, _ outputs: Int, _ inputs: Int, seed: UInt64 = 1
  ) -> [UInt8] {
    product(
      name, outputs, inputs,
      weights: singles(RandomNumbers.floats(outputs * inputs, seed: seed)),
      bias: singles(RandomNumbers.floats(outputs, seed: seed + 100)))
  }

  /// A model of these layers.
  public static func model(
    _ layers: [[UInt8]], version: Int = 1, typeName: String = "neuralNetwork"
  ) throws -> Model {
    Model(
      specificationVersion: version, description: ModelDescription(),
      kind: .neuralNetwork(try NeuralNetwork(typeName: typeName, payload: network(layers))))
  }

  /// A pipeline of these models.
  public static func pipeline(_ version: Int, _ models: [Model], names: [String]) -> Model {
    Model(
      specificationVersion: version, description: ModelDescription(),
      kind: .pipeline(Pipeline(typeName: "pipeline", models: models, names: names)))
  }
}

extension Model {
  /// The network of a model of that kind.
  public var network: NeuralNetwork? {
    if case .neuralNetwork(let network) = kind { return network }
    return nil
  }

  /// The weight `layer.path` of a network.
  public func networkWeight(_ name: String) -> NeuralNetworkWeight? {
    for layer in network?.layers ?? [] {
      for weight in layer.weights where "\(layer.name).\(weight.path)" == name { return weight }
    }
    return nil
  }

  /// The decoded values of the weight `layer.path` of a network.
  public func networkValues(_ name: String) throws -> [Float]? {
    try networkWeight(name).flatMap { try network?.values(of: $0) }
  }
}
