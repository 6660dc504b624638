import CModelSchemas
import ModelGraph
import ModelSpec
import ModelTensors

extension NeuralNetwork {
  /// The values of a weight as fp32.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` when data and quantization contradict each other.
  func values(of weight: NeuralNetworkWeight, form: LayerWeightForm) throws -> MemoryTensor {
    let values = try payload.withUnsafeBytes { bytes in
      guard weight.range.lowerBound >= 0, weight.range.upperBound <= bytes.count else {
        throw TensorError.malformed("the weight lies outside the network")
      }
      var empty = CoreML__Specification__WeightParams()
      core_ml__specification__weight_params__init(&empty)
      return try withUnpacked(
        CoreML__Specification__WeightParams.self, bytes, weight.range,
        descriptor: empty.base.descriptor, base: 0, depth: 1
      ) { try LayerWeightReader(message: $0.pointee, form: form).values(of: weight) }
    }
    return try MemoryTensor(elementType: .float32, shape: form.shape, values: values)
  }
}

/// Decodes one `WeightParams` message.
private struct LayerWeightReader {
  let message: CoreML__Specification__WeightParams
  let form: LayerWeightForm

  func values(of weight: NeuralNetworkWeight) throws -> [Float] {
    let count = Shape.elementCount(form.shape) ?? 0
    switch weight.storage {
    case .float32: return scalars(message.n_floatvalue, message.floatvalue)
    case .float16:
      return content(message.float16value).withUnsafeBytes { bytes in
        (0..<bytes.count / 2).map {
          HalfFloat.float(
            UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self)))
        }
      }
    case .linear(let bits):
      let codes = try self.codes(bits, count)
      guard let quantization = message.quantization?.pointee,
        quantization.quantization_type_case.rawValue == 101,
        let parameters = quantization.linearquantization?.pointee
      else { throw TensorError.malformed("codes without scales") }
      return try affine(
        codes.map { Float($0) }, scalars(parameters.n_scale, parameters.scale),
        scalars(parameters.n_bias, parameters.bias))
    case .lookup(let bits):
      let codes = try self.codes(bits, count)
      guard let quantization = message.quantization?.pointee,
        quantization.quantization_type_case.rawValue == 102,
        let parameters = quantization.lookuptablequantization?.pointee
      else { throw TensorError.malformed("codes without a table") }
      let table = scalars(parameters.n_floatvalue, parameters.floatvalue)
      return try codes.map { code in
        guard Int(code) < table.count else {
          throw TensorError.malformed("code \(code) for a table of \(table.count) values")
        }
        return table[Int(code)]
      }
    case .int8:
      let codes = content(message.int8rawvalue).map { Float(Int8(bitPattern: $0)) }
      guard let quantization = message.quantization?.pointee,
        quantization.quantization_type_case.rawValue == 101,
        let parameters = quantization.linearquantization?.pointee
      else { return codes }
      return try affine(
        codes, scalars(parameters.n_scale, parameters.scale),
        scalars(parameters.n_bias, parameters.bias))
    case .empty: return []
    }
  }

  /// Codes packed from the highest bit of each byte downwards.
  private func codes(_ bits: Int, _ count: Int) throws -> [UInt8] {
    let bytes = content(message.rawvalue)
    guard (1...8).contains(bits), count <= bytes.count * 8 / bits else {
      throw TensorError.malformed(
        "\(bytes.count) bytes of codes for \(count) values of \(bits) bits")
    }
    if bits == 8 { return Array(bytes.prefix(count)) }
    let mask = UInt16((1 << bits) - 1)
    return (0..<count).map { index in
      let position = index * bits
      let byte = position >> 3
      let next = byte + 1 < bytes.count ? UInt16(bytes[byte + 1]) : 0
      let word = UInt16(bytes[byte]) << 8 | next
      return UInt8(truncatingIfNeeded: word >> UInt16(16 - bits - (position & 7)) & mask)
    }
  }

  /// scale·code + bias, one pair for all values or for each channel.
  private func affine(_ codes: [Float], _ scales: [Float], _ biases: [Float]) throws -> [Float] {
    let axis = form.shape.indices.contains(form.channelAxis) ? form.channelAxis : 0
    let channels = form.shape.isEmpty ? 1 : form.shape[axis]
    for (name, values) in [("scales", scales), ("biases", biases)]
    where values.count > 1 && values.count != channels {
      throw TensorError.malformed("\(values.count) \(name) for \(channels) channels")
    }
    if scales.isEmpty { throw TensorError.malformed("codes without scales") }
    let inner = form.shape.dropFirst(axis + 1).reduce(1, *)
    return codes.enumerated().map { index, code in
      let channel = inner > 0 && channels > 0 ? index / inner % channels : 0
      let scale = scales[scales.count > 1 ? channel : 0]
      let bias = biases.isEmpty ? 0 : biases[biases.count > 1 ? channel : 0]
      return scale * code + bias
    }
  }
}
