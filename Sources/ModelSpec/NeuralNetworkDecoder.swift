import CModelSchemas
import ModelGraph

/// Finds the layers of a neural network and their weights without copying the weights.
///
/// The walk follows the schema's descriptors, so that it knows every kind of layer.
struct NeuralNetworkDecoder {
  private let bytes: UnsafeRawBufferPointer
  private let budget: MemoryBudget

  init(_ bytes: UnsafeRawBufferPointer, budget: MemoryBudget) {
    self.bytes = bytes
    self.budget = budget
  }

  /// The layers of the network message in `range`, those of branches and loops after theirs.
  func layers(
    _ range: Range<Int>, descriptor: UnsafePointer<ProtobufCMessageDescriptor>
  ) throws(SpecError) -> [NeuralNetworkLayer] {
    var layers: [NeuralNetworkLayer] = []
    try network(range, descriptor, enclosing: [], origin: range.lowerBound, into: &layers)
    return layers
  }

  private func network(
    _ range: Range<Int>, _ descriptor: UnsafePointer<ProtobufCMessageDescriptor>,
    enclosing: [String], origin: Int, into layers: inout [NeuralNetworkLayer]
  ) throws(SpecError) {
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      guard field.number == 1, field.wireType == WireReader.delimited,
        let known = protobuf_c_message_descriptor_get_field(descriptor, 1),
        let layer = messageDescriptor(of: known)
      else { continue }
      try self.layer(field.value, layer, enclosing: enclosing, origin: origin, into: &layers)
    }
  }

  private func layer(
    _ range: Range<Int>, _ descriptor: UnsafePointer<ProtobufCMessageDescriptor>,
    enclosing: [String], origin: Int, into layers: inout [NeuralNetworkLayer]
  ) throws(SpecError) {
    try budget.take(NeuralNetworkLayer.self, at: range.lowerBound)
    var layer = NeuralNetworkLayer(
      name: "", type: "none", inputs: [], outputs: [], isUpdatable: false, enclosing: enclosing,
      weights: [])
    var parameters: (Range<Int>, UnsafePointer<ProtobufCMessageDescriptor>)?
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      switch (field.number, field.wireType) {
      case (1, WireReader.delimited): layer.name = try string(field)
      case (2, WireReader.delimited): layer.inputs.append(try string(field))
      case (3, WireReader.delimited): layer.outputs.append(try string(field))
      case (10, WireReader.varint): layer.isUpdatable = field.scalar != 0
      case (100..., WireReader.delimited):
        guard let known = protobuf_c_message_descriptor_get_field(descriptor, field.number),
          let message = messageDescriptor(of: known)
        else { continue }
        layer.type = String(cString: known.pointee.name)
        parameters = (field.value, message)
      default: break
      }
    }
    let place = layers.count
    layers.append(layer)
    guard let (content, message) = parameters else { return }
    var found = Found()
    try walk(content, message, path: "", origin: origin, into: &found)
    layers[place].weights = found.weights
    if layer.type == "custom" { layers[place].customClassName = try className(content) }
    for (nested, network) in found.networks {
      try self.network(
        nested, network, enclosing: enclosing + [layer.name], origin: origin, into: &layers)
    }
  }

  private struct Found {
    var weights: [NeuralNetworkWeight] = []
    var networks: [(Range<Int>, UnsafePointer<ProtobufCMessageDescriptor>)] = []
  }

  private func walk(
    _ range: Range<Int>, _ descriptor: UnsafePointer<ProtobufCMessageDescriptor>, path: String,
    origin: Int, into found: inout Found
  ) throws(SpecError) {
    var counts: [UInt32: Int] = [:]
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      guard field.wireType == WireReader.delimited,
        let known = protobuf_c_message_descriptor_get_field(descriptor, field.number),
        let message = messageDescriptor(of: known)
      else { continue }
      var name = path + String(cString: known.pointee.name)
      if known.pointee.label == PROTOBUF_C_LABEL_REPEATED {
        name += "[\(counts[field.number, default: 0])]"
        counts[field.number, default: 0] += 1
      }
      switch String(cString: message.pointee.short_name) {
      case "WeightParams":
        found.weights.append(try weight(field.value, path: name, origin: origin))
      case "NeuralNetwork": found.networks.append((field.value, message))
      default: try walk(field.value, message, path: name + ".", origin: origin, into: &found)
      }
    }
  }

  private func weight(
    _ range: Range<Int>, path: String, origin: Int
  ) throws(SpecError) -> NeuralNetworkWeight {
    try budget.take(NeuralNetworkWeight.self, at: range.lowerBound)
    var floats = 0
    var halves = 0
    var raw = 0
    var int8s = 0
    var isUpdatable = false
    var quantization = Quantization()
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      switch (field.number, field.wireType) {
      case (1, WireReader.delimited): floats += field.value.count / 4
      case (1, WireReader.fixed32): floats += 1
      case (2, WireReader.delimited): halves = field.value.count / 2
      case (30, WireReader.delimited): raw = field.value.count
      case (31, WireReader.delimited): int8s = field.value.count
      case (40, WireReader.delimited): quantization = try self.quantization(field.value)
      case (50, WireReader.varint): isUpdatable = field.scalar != 0
      default: break
      }
    }
    let bits = quantization.bits
    let (storage, count, stored): (NeuralNetworkWeight.Storage, Int, Int) =
      if floats > 0 {
        (.float32, floats, floats * 4)
      } else if halves > 0 {
        (.float16, halves, halves * 2)
      } else if raw > 0, (1...8).contains(bits) {
        (
          quantization.isLookup ? .lookup(bits: bits) : .linear(bits: bits), raw * 8 / bits,
          raw + quantization.parameterBytes
        )
      } else if int8s > 0 {
        (.int8, int8s, int8s + quantization.parameterBytes)
      } else {
        (.empty, 0, raw)
      }
    return NeuralNetworkWeight(
      path: path, storage: storage, count: count, storedBytes: stored, isUpdatable: isUpdatable,
      range: (range.lowerBound - origin)..<(range.upperBound - origin))
  }

  private struct Quantization {
    var bits = 0
    var isLookup = false
    var parameterBytes = 0
  }

  private func quantization(_ range: Range<Int>) throws(SpecError) -> Quantization {
    var result = Quantization()
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      switch (field.number, field.wireType) {
      case (1, WireReader.varint): result.bits = Int(truncatingIfNeeded: min(field.scalar, 64))
      case (101, WireReader.delimited), (102, WireReader.delimited):
        result.isLookup = field.number == 102
        var parameters = WireReader(bytes, field.value, base: 0)
        while let list = try parameters.next() { result.parameterBytes += list.value.count }
      default: break
      }
    }
    return result
  }

  private func className(_ range: Range<Int>) throws(SpecError) -> String? {
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      if field.number == 10, field.wireType == WireReader.delimited { return try string(field) }
    }
    return nil
  }

  private func string(_ field: WireReader.Field) throws(SpecError) -> String {
    guard let text = String(validating: bytes[field.value], as: UTF8.self) else {
      throw SpecError("a string is not valid UTF-8", offset: field.start)
    }
    return text
  }
}
