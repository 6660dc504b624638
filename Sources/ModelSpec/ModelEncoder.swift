import CModelSchemas
import ModelGraph

/// Writes a `Model` in its serialized form; fields stand in the order of their numbers.
public enum ModelEncoder {
  /// The bytes of `model`; weights are named by their references.
  ///
  /// - Throws: ``SpecError`` for a kind that `Model` does not have.
  public static func encode(_ model: Model) throws(SpecError) -> [UInt8] {
    var writer = WireWriter()
    if model.specificationVersion != 0 {
      writer.field(
        1, varint: UInt64(bitPattern: Int64(truncatingIfNeeded: model.specificationVersion)))
    }
    if let description = model.description { writer.field(2, bytes: encode(description)) }
    if model.isUpdatable { writer.field(10, varint: 1) }
    switch model.kind {
    case .program(let program):
      let arena = MessageArena()
      writer.field(
        ModelKinds.program, bytes: arena.pack(ProgramEncoder(arena: arena).encode(program)))
    case .neuralNetwork(let network):
      writer.field(try number(of: network.typeName), bytes: network.payload)
    case .pipeline(let pipeline):
      writer.field(try number(of: pipeline.typeName), bytes: try encode(pipeline))
    case .other(let model):
      writer.field(try number(of: model.typeName), bytes: model.payload)
    case .absent: break
    }
    append(model.unknownFields, to: &writer)
    return writer.bytes
  }

  /// The bytes of a `ModelDescription`.
  public static func encode(_ description: ModelDescription) -> [UInt8] {
    let arena = MessageArena()
    return arena.pack(DescriptionEncoder(arena: arena).encode(description))
  }

  private static func encode(_ pipeline: Pipeline) throws(SpecError) -> [UInt8] {
    var content = WireWriter()
    for model in pipeline.models { content.field(1, bytes: try encode(model)) }
    for name in pipeline.names { content.field(2, bytes: Array(name.utf8)) }
    append(pipeline.unknownFields, to: &content)
    if pipeline.typeName == "pipeline" { return content.bytes }
    var wrapper = WireWriter()
    if pipeline.isPresent { wrapper.field(1, bytes: content.bytes) }
    append(pipeline.wrapperUnknownFields, to: &wrapper)
    return wrapper.bytes
  }

  private static func number(of typeName: String) throws(SpecError) -> UInt32 {
    guard let field = ModelKinds.field(name: typeName) else {
      throw SpecError("there is no model kind \"\(typeName)\"", kind: .unsupported)
    }
    return field.pointee.id
  }

  private static func append(_ unknown: UnknownFields, to writer: inout WireWriter) {
    for field in unknown.fields {
      writer.field(number: field.number, wireType: field.wireType, raw: field.bytes)
    }
  }
}
