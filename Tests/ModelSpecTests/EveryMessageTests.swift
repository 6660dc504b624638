import CModelSchemas
import TestSupport
import Testing

@testable import ModelSpec

/// Every message type that the IR takes apart, by every way that leads to it: its fields and fields
/// that its schema does not name survive.
@Suite struct EveryMessageTests {
  typealias Descriptor = UnsafePointer<ProtobufCMessageDescriptor>
  typealias FieldDescriptor = UnsafePointer<ProtobufCFieldDescriptor>

  /// A message in a model: the numbers of the fields that lead to it.
  struct Place {
    var path: [UInt64]
    var descriptor: Descriptor

    var isMapEntry: Bool {
      String(cString: descriptor.pointee.name).hasSuffix("Entry")
    }
  }

  /// All places below the interface, the program and the pipelines.
  private let places: [Place]

  init() {
    var places: [Place] = []
    for root: UInt32 in [2, 502, 202] {
      guard let field = protobuf_c_message_descriptor_get_field(ModelKinds.model, root),
        let descriptor = messageDescriptor(of: field)
      else { continue }
      places += Self.below(Place(path: [UInt64(root)], descriptor: descriptor))
    }
    self.places = places
  }

  private static func below(_ root: Place) -> [Place] {
    var places = [root]
    var expanded: Set<String> = []
    var next = 0
    while next < places.count {
      let place = places[next]
      next += 1
      let name = String(cString: place.descriptor.pointee.name)
      // Models in pipelines are places themselves; their kinds are kept whole.
      let isModel = name == "CoreML.Specification.Model"
      guard !isModel, expanded.insert(name).inserted else { continue }
      for field in fields(of: place.descriptor) {
        if let message = messageDescriptor(of: field) {
          places.append(Place(path: place.path + [UInt64(field.pointee.id)], descriptor: message))
        }
      }
    }
    return places
  }

  private static func fields(of descriptor: Descriptor) -> [FieldDescriptor] {
    (0..<Int(descriptor.pointee.n_fields)).compactMap { index in
      descriptor.pointee.fields.map { $0.advanced(by: index) }
    }
  }

  /// A model that holds `content` at a place.
  private func model(_ place: Place, _ content: [UInt8]) -> [UInt8] {
    var bytes = content
    var path = place.path
    while let number = path.popLast() {
      var writer = ProtoWriter()
      if isBlobReference(path + [number], place) {
        // A value in a weight file needs a tensor type.
        writer.bytes(2, [0x0A, 0x02, 0x08, 0x0B])
      }
      writer.bytes(number, bytes)
      bytes = writer.bytes
    }
    return [0x08, 0x08] + bytes
  }

  private func isBlobReference(_ path: [UInt64], _ place: Place) -> Bool {
    path == place.path
      && String(cString: place.descriptor.pointee.name).hasSuffix("BlobFileValue")
  }

  @Test func placesAreMany() {
    #expect(places.count > 90)
    let names = Set(places.map { String(cString: $0.descriptor.pointee.name) })
    for name in ["Dimension.UnknownDimension", "TensorValue.RepeatedBytes", "StateFeatureType"] {
      #expect(names.contains { $0.hasSuffix(name) }, "\(name)")
    }
  }

  @Test func emptyMessagesSurvive() throws {
    for place in places {
      let bytes = model(place, childContent(place))
      #expect(try Codec.roundTrip(bytes) == bytes, "\(place.path)")
    }
  }

  /// A model in a pipeline is nothing without a version, a map entry nothing without a value.
  private func childContent(_ place: Place) -> [UInt8] {
    if String(cString: place.descriptor.pointee.name) == "CoreML.Specification.Model" {
      return [0x08, 0x05]
    }
    return place.isMapEntry && place.path.first == 502 ? [0x12, 0x00] : []
  }

  @Test func unknownFieldsSurvive() throws {
    var unknown = ProtoWriter()
    unknown.varint(5000, 1 << 40)
    unknown.bytes(5001, [1, 0, 255])
    unknown.fixed32(5002, 7)
    unknown.fixed64(5003, 9)
    unknown.varint(5000, 3)
    // A map entry is no message of its own; protobuf's libraries drop its unknown fields too.
    for place in places where !place.isMapEntry {
      let bytes = model(place, childContent(place) + unknown.bytes)
      #expect(try Codec.roundTrip(bytes) == bytes, "\(place.path)")
    }
  }

  @Test func scalarFieldsSurvive() throws {
    var count = 0
    for place in places {
      for field in Self.fields(of: place.descriptor) where messageDescriptor(of: field) == nil {
        for content in Self.contents(of: field) {
          // Fields stand in the order of their numbers.
          let child = childContent(place)
          let isFirst = field.pointee.id < 2 || child.isEmpty
          if place.isMapEntry && field.pointee.id == 2 || child == [0x08, 0x05] { continue }
          let bytes = model(place, isFirst ? content + child : child + content)
          #expect(
            try Codec.roundTrip(bytes) == bytes,
            "\(place.path) \(String(cString: field.pointee.name))")
          count += 1
        }
      }
    }
    #expect(count > 100)
  }

  /// Serialized values of a scalar field, none of them the default.
  private static func contents(of field: FieldDescriptor) -> [[UInt8]] {
    let number = UInt64(field.pointee.id)
    let isRepeated = field.pointee.label == PROTOBUF_C_LABEL_REPEATED
    func written(_ body: (inout ProtoWriter) -> Void) -> [UInt8] {
      var writer = ProtoWriter()
      body(&writer)
      return writer.bytes
    }
    func scalars(_ encoded: [[UInt8]], wireType: UInt64) -> [[UInt8]] {
      if isRepeated { return [ProtoWriter.message(number, encoded.flatMap { $0 })] }
      return encoded.map { value in
        written {
          $0.tag(number, wireType: wireType)
          $0.raw(value)
        }
      }
    }
    switch field.pointee.type {
    case PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_BYTES:
      let texts = [Array("a\u{0}b é".utf8), Array("x".utf8)]
      if isRepeated { return [texts.flatMap { ProtoWriter.message(number, $0) }] }
      return texts.map { ProtoWriter.message(number, $0) }
    case PROTOBUF_C_TYPE_BOOL: return scalars([[1]], wireType: 0)
    case PROTOBUF_C_TYPE_ENUM:
      // Numbers that the schema does not name are kept.
      return scalars([[10], [0x8F, 0x4E]], wireType: 0)
    case PROTOBUF_C_TYPE_FLOAT:
      return scalars([[0, 0, 0, 0x80], [0, 0, 0xC0, 0x7F], [1, 2, 3, 4]], wireType: 5)
    case PROTOBUF_C_TYPE_DOUBLE:
      return scalars([[0, 0, 0, 0, 0, 0, 0, 0x80], [1, 2, 3, 4, 5, 6, 7, 8]], wireType: 1)
    default:
      let negative = [UInt8](repeating: 0xFF, count: 9) + [1]
      let isSigned =
        field.pointee.type == PROTOBUF_C_TYPE_INT32 || field.pointee.type == PROTOBUF_C_TYPE_INT64
      return scalars([[1], [0x80, 0x80, 0x04]] + (isSigned ? [negative] : []), wireType: 0)
    }
  }

  /// Every kind of `Model` that is kept whole, with content that only its own schema knows.
  @Test func everyModelKindSurvives() throws {
    var unknown = ProtoWriter()
    unknown.bytes(5001, [1, 0, 255])
    for field in Self.fields(of: ModelKinds.model) where messageDescriptor(of: field) != nil {
      let number = UInt64(field.pointee.id)
      if number == 2 { continue }
      var model = ProtoWriter()
      model.varint(1, 4)
      model.bytes(2, unknown.bytes)
      model.varint(10, 1)
      model.bytes(number, unknown.bytes)
      model.raw(unknown.bytes)
      let decoded = try Codec.decode(model.bytes)
      #expect(decoded.kind.typeName == String(cString: field.pointee.name))
      #expect(decoded.isUpdatable)
      #expect(try ModelEncoder.encode(decoded) == model.bytes, "field \(number)")
    }
  }
}
