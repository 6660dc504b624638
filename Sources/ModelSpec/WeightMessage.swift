import ModelTensors

/// A `WeightParams` message taken apart, its lists left where they lie.
struct WeightMessage {
  /// Codes and what decodes them.
  struct Quantization {
    var bits = 0
    /// Present for linear quantization.
    var linear: (scales: [Float], biases: [Float])?
    /// Present for a look-up table.
    var table: [Float]?
  }

  /// Packed parts of `floatValue`, in order.
  private(set) var floats: [Range<Int>] = []
  private(set) var halves: Range<Int>?
  private(set) var codes: Range<Int>?
  private(set) var signedCodes: Range<Int>?
  private(set) var quantization = Quantization()
  /// Fields that say nothing of the values, whole.
  private(set) var others: [(number: UInt32, bytes: Range<Int>)] = []

  /// Reads the message in `range` of `bytes`.
  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(SpecError) {
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      switch (field.number, field.wireType) {
      case (1, WireReader.delimited), (1, WireReader.fixed32): floats.append(field.value)
      case (2, WireReader.delimited): halves = field.value
      case (30, WireReader.delimited): codes = field.value
      case (31, WireReader.delimited): signedCodes = field.value
      case (40, WireReader.delimited):
        quantization = try WeightMessage.quantization(bytes, field.value)
      default: others.append((field.number, field.start..<field.raw.upperBound))
      }
    }
  }

  /// How many of the forms for values hold any.
  var formCount: Int {
    let lists = [halves, codes, signedCodes].compactMap { $0 }.filter { !$0.isEmpty }
    return lists.count + (floats.contains { !$0.isEmpty } ? 1 : 0)
  }

  private static func quantization(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
  ) throws(SpecError) -> Quantization {
    var result = Quantization()
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      switch (field.number, field.wireType) {
      case (1, WireReader.varint): result.bits = Int(truncatingIfNeeded: min(field.scalar, 64))
      case (101, WireReader.delimited):
        let lists = try floatLists(bytes, field.value)
        (result.linear, result.table) = ((lists[1] ?? [], lists[2] ?? []), nil)
      case (102, WireReader.delimited):
        (result.linear, result.table) = (nil, try floatLists(bytes, field.value)[1] ?? [])
      default: break
      }
    }
    return result
  }

  /// The lists of floats of a message by their numbers.
  private static func floatLists(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
  ) throws(SpecError) -> [UInt32: [Float]] {
    var lists: [UInt32: [Float]] = [:]
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      guard field.wireType == WireReader.delimited || field.wireType == WireReader.fixed32 else {
        continue
      }
      lists[field.number, default: []] += floats(bytes, field.value)
    }
    return lists
  }

  /// The little-endian singles in `range`.
  static func floats(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> [Float] {
    let count = range.count / 4
    return [Float](unsafeUninitializedCapacity: count) { buffer, initialized in
      UnsafeMutableRawBufferPointer(buffer).copyMemory(
        from: UnsafeRawBufferPointer(
          rebasing: bytes[range.lowerBound..<range.lowerBound + count * 4]))
      initialized = count
    }
  }
}
