import CModelSchemas

/// What unpacking a message would take, found out without unpacking it.
///
/// protobuf-c unpacks by recursion and bounds neither depth nor memory, so every message is
/// measured before.
struct MessageMeasure {
  /// Deepest nesting of messages, as in the readers of protobuf's own libraries.
  static let maximumDepth = 100

  /// Bytes that unpacking a message of `size` bytes may allocate; a program's real messages take
  /// about six times their size.
  static func maximumMemory(size: Int) -> Int { (64 << 20) + 24 * size }

  /// The number of messages, nested ones included.
  private(set) var messages = 1
  /// An upper bound of the bytes that protobuf-c allocates.
  private(set) var memory = 0

  /// Walks the message in `range`.
  ///
  /// - Parameters:
  ///   - base: The file offset of byte 0 of `bytes`.
  ///   - depth: How deep in the file the message itself lies.
  ///   - unbounded: Whether memory is not limited, as for a message that is never unpacked.
  /// - Throws: ``SpecError`` for broken encoding, too deep nesting, too much memory.
  init(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>,
    descriptor root: UnsafePointer<ProtobufCMessageDescriptor>, base: Int, depth: Int,
    unbounded: Bool = false
  ) throws(SpecError) {
    let limit = unbounded ? Int.max : MessageMeasure.maximumMemory(size: range.count)
    // `given` has a bit per singular message field that was met.
    var stack = [(reader: WireReader(bytes, range, base: base), descriptor: root, given: UInt64(0))]
    memory = root.pointee.sizeof_message
    while let top = stack.indices.last {
      guard let field = try stack[top].reader.next() else {
        stack.removeLast()
        continue
      }
      memory += 64  // protobuf-c's note of a scanned field
      let known = protobuf_c_message_descriptor_get_field(stack[top].descriptor, field.number)
      if let known, known.pointee.type == PROTOBUF_C_TYPE_MESSAGE,
        field.wireType == WireReader.delimited, let nested = known.pointee.descriptor
      {
        let descriptor = nested.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
        guard depth + stack.count < MessageMeasure.maximumDepth else {
          throw SpecError(
            "messages are nested more than \(MessageMeasure.maximumDepth) deep",
            offset: base + field.start)
        }
        if !unbounded, known.pointee.label != PROTOBUF_C_LABEL_REPEATED,
          let fields = stack[top].descriptor.pointee.fields
        {
          // protobuf-c drops parts where it should merge them.
          let bit = UInt64(1) << UInt64(known - fields)
          guard stack[top].given & bit == 0 else {
            throw SpecError(
              "\(String(cString: known.pointee.name)) is given in several parts",
              kind: .unsupported, offset: base + field.start)
          }
          stack[top].given |= bit
        }
        messages += 1
        memory += descriptor.pointee.sizeof_message + 8
        stack.append((WireReader(bytes, field.value, base: base), descriptor, 0))
      } else if field.wireType == WireReader.delimited {
        // A packed list of varints may grow eightfold; bytes and strings are copied.
        let isList = known.map { $0.pointee.label == PROTOBUF_C_LABEL_REPEATED } ?? false
        let isCopied =
          known.map {
            $0.pointee.type == PROTOBUF_C_TYPE_BYTES || $0.pointee.type == PROTOBUF_C_TYPE_STRING
              || $0.pointee.type == PROTOBUF_C_TYPE_FLOAT
              || $0.pointee.type == PROTOBUF_C_TYPE_DOUBLE
          } ?? true
        memory += field.value.count * (isList && !isCopied ? 8 : 1) + 32
      } else {
        memory += 32
      }
      if memory > limit {
        throw SpecError(
          "the message would take more than \(limit >> 20) MB of memory",
          offset: base + field.start)
      }
    }
  }
}

/// What is left of the memory that the parts of a specification which are read by hand may take.
final class MemoryBudget {
  private var rest: Int
  private let limit: Int

  /// The budget for a file of `size` bytes.
  init(size: Int) {
    limit = MessageMeasure.maximumMemory(size: size)
    rest = limit
  }

  /// Takes the memory of a value of type `T`.
  ///
  /// - Throws: ``SpecError`` when it is not left.
  func take<T>(_: T.Type, at offset: Int) throws(SpecError) {
    rest -= MemoryLayout<T>.stride
    if rest < 0 {
      throw SpecError(
        "the specification would take more than \(limit >> 20) MB of memory", offset: offset)
    }
  }
}
