import CModelSchemas
import ModelGraph

/// A protobuf-c message whose first member is its base.
typealias CMessagePointer<T> = UnsafeMutablePointer<T>

/// Unpacks the message in `range` and hands it to `body`; it is freed afterwards.
package func withUnpacked<T, R>(
  _ type: T.Type, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>,
  descriptor: UnsafePointer<ProtobufCMessageDescriptor>, base: Int, depth: Int,
  _ body: (UnsafeMutablePointer<T>) throws -> R
) throws -> R {
  _ = try MessageMeasure(bytes, range, descriptor: descriptor, base: base, depth: depth)
  let start = bytes.baseAddress?.advanced(by: range.lowerBound)
    .assumingMemoryBound(to: UInt8.self)
  guard let message = protobuf_c_message_unpack(descriptor, nil, range.count, start) else {
    throw SpecError(
      "the message cannot be unpacked as \(String(cString: descriptor.pointee.name))",
      offset: base + range.lowerBound)
  }
  defer { protobuf_c_message_free_unpacked(message, nil) }
  return try message.withMemoryRebound(to: T.self, capacity: 1) { try body($0) }
}

/// The text of a string field.
package func text(_ data: ProtobufCBinaryData) throws(SpecError) -> String {
  guard data.len > 0, let start = data.data else { return "" }
  let bytes = UnsafeBufferPointer(start: start, count: data.len)
  guard let text = String(validating: bytes, as: UTF8.self) else {
    throw SpecError("a string is not valid UTF-8")
  }
  return text
}

/// The content of a bytes field.
package func content(_ data: ProtobufCBinaryData) -> [UInt8] {
  guard data.len > 0, let start = data.data else { return [] }
  return Array(UnsafeBufferPointer(start: start, count: data.len))
}

/// The messages of a repeated field.
package func messages<T>(
  _ count: Int, _ list: UnsafeMutablePointer<UnsafeMutablePointer<T>?>?
) -> [UnsafeMutablePointer<T>] {
  UnsafeBufferPointer(start: list, count: list == nil ? 0 : count).compactMap { $0 }
}

/// The elements of a repeated scalar field.
package func scalars<T>(_ count: Int, _ list: UnsafeMutablePointer<T>?) -> [T] {
  Array(UnsafeBufferPointer(start: list, count: list == nil ? 0 : count))
}

/// The strings of a repeated field.
package func texts(
  _ count: Int, _ list: UnsafeMutablePointer<ProtobufCBinaryData>?
) throws(SpecError) -> [String] {
  var result: [String] = []
  for data in UnsafeBufferPointer(start: list, count: list == nil ? 0 : count) {
    result.append(try text(data))
  }
  return result
}

/// The fields of a message that its schema does not name.
package func unknownFields(_ base: ProtobufCMessage) -> UnknownFields {
  if base.n_unknown_fields == 0 { return UnknownFields() }
  let list = UnsafeBufferPointer(start: base.unknown_fields, count: Int(base.n_unknown_fields))
  return UnknownFields(
    list.map { field in
      UnknownFields.Field(
        number: field.tag, wireType: UInt8(truncatingIfNeeded: field.wire_type.rawValue),
        bytes: Array(UnsafeBufferPointer(start: field.data, count: field.len)))
    })
}

/// Memory for C messages that are about to be packed; freed as a whole.
final class MessageArena {
  private var blocks: [UnsafeMutableRawPointer] = []
  private var used = 0
  private var capacity = 0

  deinit { for block in blocks { block.deallocate() } }

  private func allocate(_ size: Int) -> UnsafeMutableRawPointer {
    let rounded = (size + 15) & ~15
    if used + rounded > capacity {
      capacity = max(1 << 16, rounded)
      used = 0
      blocks.append(.allocate(byteCount: capacity, alignment: 16))
    }
    defer { used += rounded }
    return blocks[blocks.count - 1] + used
  }

  /// A message that `initialize`, one of the generated functions, has set up.
  func make<T>(
    _ initialize: (UnsafeMutablePointer<T>?) -> Void, unknown: UnknownFields = UnknownFields()
  ) -> UnsafeMutablePointer<T> {
    let message = allocate(MemoryLayout<T>.size).bindMemory(to: T.self, capacity: 1)
    initialize(message)
    if !unknown.isEmpty {
      let list = array(
        unknown.fields.map { field in
          ProtobufCMessageUnknownField(
            tag: field.number, wire_type: ProtobufCWireType(UInt32(field.wireType)),
            len: field.bytes.count, data: array(field.bytes))
        })
      UnsafeMutableRawPointer(message).withMemoryRebound(to: ProtobufCMessage.self, capacity: 1) {
        $0.pointee.n_unknown_fields = UInt32(truncatingIfNeeded: unknown.fields.count)
        $0.pointee.unknown_fields = list
      }
    }
    return message
  }

  /// A copy of `values`, or nil when there are none.
  func array<T>(_ values: [T]) -> UnsafeMutablePointer<T>? {
    if values.isEmpty { return nil }
    let memory = allocate(MemoryLayout<T>.stride * values.count)
      .bindMemory(to: T.self, capacity: values.count)
    memory.initialize(from: values, count: values.count)
    return memory
  }

  /// The count and the list of messages for a repeated field.
  func repeated<T, Element>(
    _ elements: some Sequence<Element>, _ message: (Element) -> UnsafeMutablePointer<T>
  ) -> (Int, UnsafeMutablePointer<UnsafeMutablePointer<T>?>?) {
    let messages = elements.map { Optional.some(message($0)) }
    return (messages.count, array(messages))
  }

  /// The count and the list of entries for a map field; `fill` sets an entry's key and value.
  func entries<T, Element>(
    _ list: NamedList<Element>, _ initialize: (UnsafeMutablePointer<T>?) -> Void,
    _ fill: (UnsafeMutablePointer<T>, _ key: ProtobufCBinaryData, Element) -> Void
  ) -> (Int, UnsafeMutablePointer<UnsafeMutablePointer<T>?>?) {
    repeated(list) { key, value in
      let entry: UnsafeMutablePointer<T> = make(initialize)
      fill(entry, text(key), value)
      return entry
    }
  }

  /// The count and the elements of a repeated scalar field.
  func scalars<T>(_ values: [T]) -> (Int, UnsafeMutablePointer<T>?) {
    (values.count, array(values))
  }

  /// A string for a field.
  func text(_ string: String) -> ProtobufCBinaryData { bytes(Array(string.utf8)) }

  /// Bytes for a field.
  func bytes(_ bytes: [UInt8]) -> ProtobufCBinaryData {
    ProtobufCBinaryData(len: bytes.count, data: array(bytes))
  }

  /// The serialized form of a message.
  func pack<T>(_ message: UnsafeMutablePointer<T>) -> [UInt8] {
    UnsafeMutableRawPointer(message).withMemoryRebound(to: ProtobufCMessage.self, capacity: 1) {
      base in
      let size = protobuf_c_message_get_packed_size(base)
      return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = protobuf_c_message_pack(base, buffer.baseAddress)
      }
    }
  }
}
