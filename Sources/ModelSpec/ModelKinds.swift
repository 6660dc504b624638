import CModelSchemas

/// The fields of `Model` that name its kind.
package enum ModelKinds {
  /// The descriptor of the root message.
  package static var model: UnsafePointer<ProtobufCMessageDescriptor> {
    // An initialized message carries the address of its descriptor.
    var message = CoreML__Specification__Model()
    core_ml__specification__model__init(&message)
    return message.base.descriptor
  }

  /// The field of `Model` with this number, where it is a model kind.
  package static func field(number: UInt32) -> UnsafePointer<ProtobufCFieldDescriptor>? {
    guard number >= 200,
      let field = protobuf_c_message_descriptor_get_field(model, number),
      field.pointee.type == PROTOBUF_C_TYPE_MESSAGE
    else { return nil }
    return field
  }

  /// The field of `Model` with this name, where it is a model kind.
  package static func field(name: String) -> UnsafePointer<ProtobufCFieldDescriptor>? {
    guard let field = protobuf_c_message_descriptor_get_field_by_name(model, name),
      field.pointee.id >= 200
    else { return nil }
    return field
  }

  /// The name of the model kind of this field number, or nil.
  package static func name(of number: UInt32) -> String? {
    field(number: number).map { String(cString: $0.pointee.name) }
  }

  /// The field number of the model kind of this name, or nil.
  package static func number(of name: String) -> UInt32? { field(name: name)?.pointee.id }

  static let program: UInt32 = 502
  static let pipelines: [UInt32: String] = [
    200: "pipelineClassifier", 201: "pipelineRegressor", 202: "pipeline",
  ]
  static let neuralNetworks: [UInt32: String] = [
    303: "neuralNetworkRegressor", 403: "neuralNetworkClassifier", 500: "neuralNetwork",
  ]
}

/// The schema of the message that a message field holds.
package func messageDescriptor(
  of field: UnsafePointer<ProtobufCFieldDescriptor>
) -> UnsafePointer<ProtobufCMessageDescriptor>? {
  guard field.pointee.type == PROTOBUF_C_TYPE_MESSAGE, let descriptor = field.pointee.descriptor
  else { return nil }
  return descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
}
