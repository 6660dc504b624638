import CModelSchemas
import ModelGraph
import ModelTensors

/// Reads a serialized `Model`.
///
/// The root message is read field by field, so that kinds that are kept whole stay as their bytes;
/// interface and program are unpacked by protobuf-c.
public struct ModelDecoder {
  private let weights: any WeightResolver

  /// A decoder that asks `weights` for the tensors behind blob references.
  public init(weights: any WeightResolver) { self.weights = weights }

  /// Decodes a whole specification.
  ///
  /// - Parameter path: The file, for error messages.
  /// - Throws: ``SpecError``, and what the weight resolver throws.
  public func decode(_ bytes: UnsafeRawBufferPointer, path: String) throws -> Model {
    do {
      if bytes.isEmpty { throw SpecError("the specification is empty") }
      let whole = 0..<bytes.count
      // Depth and wire format of everything; memory is bounded where a message is unpacked.
      _ = try MessageMeasure(
        bytes, whole, descriptor: ModelKinds.model, base: 0, depth: 0, unbounded: true)
      return try model(bytes, whole, depth: 0, MemoryBudget(size: bytes.count))
    } catch let error as SpecError {
      throw error.at(path: path)
    }
  }

  /// Decodes a serialized `ModelDescription`.
  ///
  /// - Throws: ``SpecError``.
  public func decode(description bytes: [UInt8], path: String) throws -> ModelDescription {
    do {
      return try bytes.withUnsafeBytes { try description($0, 0..<$0.count, depth: 0) }
    } catch let error as SpecError {
      throw error.at(path: path)
    }
  }

  private func description(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, depth: Int
  ) throws -> ModelDescription {
    try withUnpacked(
      CModelDescription.self, bytes, range, descriptor: descriptor(of: 2), base: 0, depth: depth
    ) { try DescriptionDecoder.decode($0) }
  }

  private func model(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, depth: Int, _ budget: MemoryBudget
  ) throws -> Model {
    try budget.take(Model.self, at: range.lowerBound)
    var reader = WireReader(bytes, range, base: 0)
    var version: Int?
    var isUpdatable = false
    var descriptions: [Range<Int>] = []
    var kind: (number: UInt32, parts: [Range<Int>])?
    var unknown = UnknownFields()
    while let field = try reader.next() {
      switch (field.number, field.wireType) {
      case (1, WireReader.varint): version = Int(Int32(truncatingIfNeeded: field.scalar))
      case (10, WireReader.varint): isUpdatable = field.scalar != 0
      case (2, WireReader.delimited): descriptions.append(field.value)
      case (let number, WireReader.delimited) where ModelKinds.field(number: number) != nil:
        // Of several kinds the last counts; one that is repeated is merged, as protobuf does.
        let parts = kind?.number == number ? kind?.parts ?? [] : []
        kind = (number, parts + [field.value])
      default:
        try budget.take(UnknownFields.Field.self, at: field.start)
        unknown.fields.append(
          UnknownFields.Field(
            number: field.number, wireType: field.wireType, bytes: Array(bytes[field.raw])))
      }
    }
    if version == nil, descriptions.isEmpty, kind == nil {
      throw SpecError("not a Core ML specification", offset: range.lowerBound)
    }
    var model = Model(
      specificationVersion: version ?? 0, description: nil, isUpdatable: isUpdatable,
      kind: .absent)
    model.unknownFields = unknown
    if !descriptions.isEmpty {
      model.description = try merged(bytes, descriptions) { bytes, range in
        try description(bytes, range, depth: depth + 1)
      }
    }
    if let kind {
      model.kind = try merged(bytes, kind.parts) { bytes, range in
        try self.kind(kind.number, bytes, range, depth: depth + 1, budget)
      }
    }
    return model
  }

  private func descriptor(of number: UInt32) throws -> UnsafePointer<ProtobufCMessageDescriptor> {
    guard let field = protobuf_c_message_descriptor_get_field(ModelKinds.model, number),
      let descriptor = messageDescriptor(of: field)
    else { throw SpecError("field \(number) of Model is no message") }
    return descriptor
  }

  private func merged<R>(
    _ bytes: UnsafeRawBufferPointer, _ parts: [Range<Int>],
    _ body: (UnsafeRawBufferPointer, Range<Int>) throws -> R
  ) throws -> R {
    if parts.count == 1 { return try body(bytes, parts[0]) }
    let joined = parts.flatMap { bytes[$0] }
    return try joined.withUnsafeBytes { try body($0, 0..<joined.count) }
  }

  private func kind(
    _ number: UInt32, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, depth: Int,
    _ budget: MemoryBudget
  ) throws -> ModelKind {
    if number == ModelKinds.program {
      return .program(
        try withUnpacked(
          CProgram.self, bytes, range, descriptor: descriptor(of: number), base: 0, depth: depth
        ) { try ProgramDecoder(weights: weights).decode($0) })
    }
    if let typeName = ModelKinds.pipelines[number] {
      return .pipeline(try pipeline(typeName, bytes, range, depth: depth, budget))
    }
    if let typeName = ModelKinds.neuralNetworks[number] {
      let layers = try NeuralNetworkDecoder(bytes, budget: budget).layers(
        range, descriptor: descriptor(of: number))
      return .neuralNetwork(
        NeuralNetwork(typeName: typeName, payload: Array(bytes[range]), layers: layers))
    }
    guard let field = ModelKinds.field(number: number) else { return .absent }
    return .other(
      OpaqueModel(typeName: String(cString: field.pointee.name), payload: Array(bytes[range])))
  }

  private func pipeline(
    _ typeName: String, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, depth: Int,
    _ budget: MemoryBudget
  ) throws -> Pipeline {
    var pipeline = Pipeline(typeName: typeName, models: [], names: [])
    if typeName == "pipeline" {
      try children(of: &pipeline, bytes, range, depth: depth, budget)
      return pipeline
    }
    pipeline.isPresent = false
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      if field.number == 1, field.wireType == WireReader.delimited {
        pipeline.isPresent = true
        try children(of: &pipeline, bytes, field.value, depth: depth + 1, budget)
      } else {
        pipeline.wrapperUnknownFields.fields.append(
          UnknownFields.Field(
            number: field.number, wireType: field.wireType, bytes: Array(bytes[field.raw])))
      }
    }
    return pipeline
  }

  private func children(
    of pipeline: inout Pipeline, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, depth: Int,
    _ budget: MemoryBudget
  ) throws {
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      switch (field.number, field.wireType) {
      case (1, WireReader.delimited):
        pipeline.models.append(try model(bytes, field.value, depth: depth + 1, budget))
      case (2, WireReader.delimited):
        guard let name = String(validating: bytes[field.value], as: UTF8.self) else {
          throw SpecError("a string is not valid UTF-8", offset: field.start)
        }
        pipeline.names.append(name)
      default:
        pipeline.unknownFields.fields.append(
          UnknownFields.Field(
            number: field.number, wireType: field.wireType, bytes: Array(bytes[field.raw])))
      }
    }
  }
}
