import ModelGraph

/// New values for a weight of a neural network.
public struct WeightReplacement: Sendable {
  /// What decodes the codes.
  public enum Decoding: Sendable {
    /// scale·code + bias; one pair, or one per output channel.
    case linear(scales: [Float], biases: [Float])
    /// 2ⁿ values.
    case table([Float])
  }

  /// The form in which the values are stored.
  public enum Content: Sendable {
    /// Little-endian fp32.
    case singles([UInt8])
    /// Little-endian fp16.
    case halves([UInt8])
    /// Codes packed by `HighFirstPacking`.
    case codes([UInt8], bits: Int, Decoding)
  }

  /// The weight, as the network has it now.
  public var weight: NeuralNetworkWeight
  /// Its new values.
  public var content: Content

  /// The replacement of a weight's values by `content`.
  public init(_ weight: NeuralNetworkWeight, _ content: Content) {
    self.weight = weight
    self.content = content
  }

  /// Bytes of values, codes, tables, scales and biases.
  public var storedBytes: Int {
    switch content {
    case .singles(let bytes), .halves(let bytes): bytes.count
    case .codes(let bytes, _, .linear(let scales, let biases)):
      bytes.count + 4 * (scales.count + biases.count)
    case .codes(let bytes, _, .table(let table)): bytes.count + 4 * table.count
    }
  }

  /// Appends the new message: the values in the order of their field numbers, among the fields of
  /// the old one that are kept.
  func append(old: WeightMessage, in bytes: UnsafeRawBufferPointer, to writer: inout WireWriter) {
    let number = fieldNumber
    for field in old.others where field.number < number { writer.append(bytes[field.bytes]) }
    switch content {
    case .singles(let values), .halves(let values): writer.field(number, bytes: values)
    case .codes(let codes, let bits, let decoding):
      writer.field(number, bytes: codes)
      writer.field(40, bytes: WeightReplacement.quantization(bits, decoding))
    }
    for field in old.others where field.number >= number { writer.append(bytes[field.bytes]) }
  }

  /// Bytes that ``append(old:in:to:)`` appends.
  func messageSize(old: WeightMessage) -> Int {
    var size = old.others.reduce(0) { $0 + $1.bytes.count }
    switch content {
    case .singles(let values), .halves(let values):
      size += WireWriter.size(ofField: fieldNumber, byteCount: values.count)
    case .codes(let codes, let bits, let decoding):
      size += WireWriter.size(ofField: fieldNumber, byteCount: codes.count)
      let quantization = WeightReplacement.quantization(bits, decoding)
      size += WireWriter.size(ofField: 40, byteCount: quantization.count)
    }
    return size
  }

  private var fieldNumber: UInt32 {
    switch content {
    case .singles: 1
    case .halves: 2
    case .codes: 30
    }
  }

  /// A `QuantizationParams` message.
  private static func quantization(_ bits: Int, _ decoding: Decoding) -> [UInt8] {
    var lists = WireWriter()
    let number: UInt32
    switch decoding {
    case .linear(let scales, let biases):
      number = 101
      lists.field(1, bytes: littleEndian(scales))
      if !biases.isEmpty { lists.field(2, bytes: littleEndian(biases)) }
    case .table(let values):
      number = 102
      lists.field(1, bytes: littleEndian(values))
    }
    var writer = WireWriter()
    writer.field(1, varint: UInt64(bits))
    writer.field(number, bytes: lists.bytes)
    return writer.bytes
  }

  private static func littleEndian(_ values: [Float]) -> [UInt8] {
    values.map { $0.bitPattern.littleEndian }.withUnsafeBytes { Array($0) }
  }
}
