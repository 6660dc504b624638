import CModelSchemas
import ModelGraph

extension OpaqueModel {
  /// Unpacks the message as its C type `T` and hands it to `body`; it is freed afterwards.
  ///
  /// - Precondition: `T` is the type that protoc-c makes of the field ``typeName`` of `Model`.
  package func withMessage<T, R>(
    as type: T.Type, _ body: (UnsafeMutablePointer<T>) throws -> R
  ) throws -> R {
    try withUnpackedPayload(payload, typeName: typeName, as: type, body)
  }
}

extension NeuralNetwork {
  /// Unpacks the network's message as its C type `T`, weights included.
  package func withMessage<T, R>(
    as type: T.Type, _ body: (UnsafeMutablePointer<T>) throws -> R
  ) throws -> R {
    try withUnpackedPayload(payload, typeName: typeName, as: type, body)
  }
}

private func withUnpackedPayload<T, R>(
  _ payload: [UInt8], typeName: String, as type: T.Type,
  _ body: (UnsafeMutablePointer<T>) throws -> R
) throws -> R {
  guard let field = ModelKinds.field(name: typeName), let descriptor = messageDescriptor(of: field),
    descriptor.pointee.sizeof_message == MemoryLayout<T>.size
  else { throw SpecError("\(typeName) is not a message of type \(T.self)") }
  return try payload.withUnsafeBytes {
    try withUnpacked(
      type, $0, 0..<payload.count, descriptor: descriptor, base: 0, depth: 1, body)
  }
}
