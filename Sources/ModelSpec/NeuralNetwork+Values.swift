import ModelGraph
import ModelTensors

extension NeuralNetwork {
  /// The values of a weight as Core ML decodes them: fp32, in the weight's shape.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` when data and quantization contradict each other;
  ///   ``SpecError``.
  public func values(of weight: NeuralNetworkWeight) throws -> [Float] {
    try payload.withUnsafeBytes { bytes in
      guard weight.range.lowerBound >= 0, weight.range.upperBound <= bytes.count else {
        throw TensorError.malformed("the weight lies outside the network")
      }
      let message = try WeightMessage(bytes, weight.range)
      return try WeightDecoder(bytes: bytes, message: message, weight: weight).values()
    }
  }

  /// Whether the message of a weight gives its values in more than one form, of which a reader
  /// may take any.
  public func isAmbiguous(_ weight: NeuralNetworkWeight) throws -> Bool {
    try payload.withUnsafeBytes { try WeightMessage($0, weight.range).formCount > 1 }
  }
}

/// Decodes one `WeightParams` message.
private struct WeightDecoder {
  let bytes: UnsafeRawBufferPointer
  let message: WeightMessage
  let weight: NeuralNetworkWeight

  func values() throws(TensorError) -> [Float] {
    let count = Shape.elementCount(weight.shape) ?? 0
    switch weight.storage {
    case .float32:
      if message.floats.count == 1 { return WeightMessage.floats(bytes, message.floats[0]) }
      return message.floats.flatMap { WeightMessage.floats(bytes, $0) }
    case .float16: return halves()
    case .linear(let bits):
      let codes = try self.codes(bits, count)
      guard let linear = message.quantization.linear else {
        throw TensorError.malformed("codes without scales")
      }
      return try affine(codes.map { Float($0) }, linear.scales, linear.biases)
    case .lookup(let bits):
      let codes = try self.codes(bits, count)
      guard let table = message.quantization.table else {
        throw TensorError.malformed("codes without a table")
      }
      if let greatest = codes.max(), Int(greatest) >= table.count {
        throw TensorError.malformed("code \(greatest) for a table of \(table.count) values")
      }
      return codes.map { table[Int($0)] }
    case .int8:
      guard let range = message.signedCodes else { return [] }
      let codes = bytes[range].map { Float(Int8(bitPattern: $0)) }
      guard let linear = message.quantization.linear else { return codes }
      return try affine(codes, linear.scales, linear.biases)
    case .empty: return []
    }
  }

  private func halves() -> [Float] {
    guard let range = message.halves else { return [] }
    return (0..<range.count / 2).map { index in
      HalfFloat.float(
        UInt16(
          littleEndian: bytes.loadUnaligned(
            fromByteOffset: range.lowerBound + 2 * index, as: UInt16.self)))
    }
  }

  private func codes(_ bits: Int, _ count: Int) throws(TensorError) -> [UInt8] {
    let range = message.codes ?? 0..<0
    guard (1...8).contains(bits), count <= range.count * 8 / bits else {
      throw TensorError.malformed(
        "\(range.count) bytes of codes for \(count) values of \(bits) bits")
    }
    return [UInt8](unsafeUninitializedCapacity: count) { codes, initialized in
      HighFirstPacking.unpack(
        UnsafeRawBufferPointer(rebasing: bytes[range]), bits: bits,
        into: UnsafeMutableBufferPointer(rebasing: codes[0..<count]))
      initialized = count
    }
  }

  /// scale·code + bias, one pair for all values or for each channel.
  private func affine(
    _ codes: [Float], _ scales: [Float], _ biases: [Float]
  ) throws(TensorError) -> [Float] {
    let shape = weight.shape
    let axis = weight.channelAxis.flatMap { shape.indices.contains($0) ? $0 : nil } ?? 0
    let channels = shape.isEmpty ? 1 : shape[axis]
    for (name, values) in [("scales", scales), ("biases", biases)]
    where values.count > 1 && values.count != channels {
      throw TensorError.malformed("\(values.count) \(name) for \(channels) channels")
    }
    if scales.isEmpty { throw TensorError.malformed("codes without scales") }
    let inner = shape.dropFirst(axis + 1).reduce(1, *)
    if inner == 0 || channels == 0 { return [] }
    var values = codes
    for start in stride(from: 0, to: values.count, by: inner) {
      let channel = start / inner % channels
      let scale = scales[scales.count > 1 ? channel : 0]
      let bias = biases.isEmpty ? 0 : biases[biases.count > 1 ? channel : 0]
      for index in start..<min(start + inner, values.count) {
        values[index] = scale * values[index] + bias
      }
    }
    return values
  }
}
