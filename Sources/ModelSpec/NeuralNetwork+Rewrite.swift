import CModelSchemas
import ModelGraph

extension NeuralNetwork {
  /// A network of this kind and content, its layers found.
  ///
  /// - Throws: ``SpecError`` for a payload that is no such message.
  public init(typeName: String, payload: [UInt8]) throws(SpecError) {
    try self.init(
      typeName: typeName, payload: payload, budget: MemoryBudget(size: payload.count),
      isMeasured: false)
  }

  /// - Parameter isMeasured: Whether depth and encoding are known to be sound.
  private init(
    typeName: String, payload: [UInt8], budget: MemoryBudget, isMeasured: Bool
  ) throws(SpecError) {
    guard let field = ModelKinds.field(name: typeName),
      let descriptor = messageDescriptor(of: field)
    else { throw SpecError("there is no model kind \"\(typeName)\"", kind: .unsupported) }
    let layers = payload.withUnsafeBytes { bytes in
      Result { () throws(SpecError) in
        if !isMeasured {
          _ = try MessageMeasure(
            bytes, 0..<payload.count, descriptor: descriptor, base: 0, depth: 1, unbounded: true)
        }
        return try NeuralNetworkDecoder(bytes, budget: budget).layers(
          0..<payload.count, descriptor: descriptor)
      }
    }
    try self.init(typeName: typeName, payload: payload, layers: layers.get())
  }

  /// The network with new values for some weights; everything but their messages and the lengths
  /// around them stays as it is, byte for byte.
  ///
  /// - Throws: ``SpecError`` when a weight is not one of this network.
  public func replacing(_ replacements: [WeightReplacement]) throws(SpecError) -> NeuralNetwork {
    if replacements.isEmpty { return self }
    let result = payload.withUnsafeBytes { bytes in
      Result { () throws(SpecError) in try PayloadRewriter(bytes, replacements).rewritten() }
    }
    return try NeuralNetwork(
      typeName: typeName, payload: result.get(), budget: MemoryBudget(size: payload.count),
      isMeasured: true)
  }
}
