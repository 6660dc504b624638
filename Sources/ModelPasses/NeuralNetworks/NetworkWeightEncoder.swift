import ModelCompression
import ModelGraph
import ModelSpec
import ModelTensors

/// Encodes one weight of a neural network.
struct NetworkWeightEncoder {
  /// A weight in its new form.
  struct Encoded: Sendable {
    var replacement: WeightReplacement
    /// The scheme for the ledger.
    var description: String
    var note: String?
    var sums: ErrorSums
  }

  /// What came of a weight.
  enum Outcome: Sendable {
    /// The weight stays; the reason is a clause.
    case refused(String)
    case encoded(Encoded)
  }

  var network: NeuralNetwork
  var parallel: Parallel

  /// Bytes that a weight takes in a scheme; for unique entries the least.
  static func storedBytes(_ scheme: NeuralNetworkScheme, _ facts: NetworkWeightFacts) -> Int {
    let count = facts.elementCount
    func codes(_ bits: Int) -> Int {
      HighFirstPacking.byteCount(of: count, bits: bits) ?? Int.max / 2
    }
    switch scheme {
    case .float32: return count * 4
    case .float16: return count * 2
    case .linear(let linear, let isPerTensor):
      let layout = ChannelLayout(
        shape: facts.shape, axis: isPerTensor ? nil : facts.channelAxis)
      return codes(linear.bits) + 8 * layout.channels
    case .lookup(_, .unique): return codes(1) + 8
    case .lookup(let bits, _): return codes(bits) + 4 << bits
    }
  }

  /// Encodes a weight of the network.
  ///
  /// - Throws: ``TensorError`` with the weight's name when its stored form is malformed.
  func encode(
    _ weight: NeuralNetworkWeight, _ scheme: NeuralNetworkScheme, name: String
  ) throws -> Outcome {
    do {
      return try encode(weight, scheme)
    } catch let error as TensorError {
      throw TensorError.malformed("weight \"\(name)\": \(error)")
    }
  }

  private func encode(
    _ weight: NeuralNetworkWeight, _ scheme: NeuralNetworkScheme
  ) throws -> Outcome {
    let values = try network.values(of: weight)
    guard values.count == Shape.elementCount(weight.shape) else {
      throw TensorError.malformed("\(values.count) values for the shape \(weight.shape)")
    }
    switch scheme {
    case .float32:
      let bytes = values.withUnsafeBytes { Array($0) }
      return .encoded(
        Encoded(
          replacement: WeightReplacement(weight, .singles(bytes)),
          description: "fp32 (was \(weight.storage.name))", sums: ErrorSums()))
    case .float16(let clamps): return try half(values, weight, scheme, clamps: clamps)
    case .linear(let linear, let isPerTensor):
      let axis = isPerTensor ? nil : weight.channelAxis
      let layout = ChannelLayout(shape: weight.shape, axis: axis)
      switch try LinearCoding.code(values, layout: layout, scheme: linear, parallel: parallel) {
      case .refused(let reason): return .refused(reason)
      case .coded(let coding):
        return .encoded(
          Encoded(
            replacement: WeightReplacement(
              weight,
              .codes(
                coding.codes, bits: linear.bits,
                .linear(scales: coding.scales, biases: coding.biases))),
            description: scheme.description(axis: axis, bits: nil), sums: coding.sums))
      }
    case .lookup(let bits, let entries):
      switch try TableCoding.code(values, bits: bits, entries: entries, parallel: parallel) {
      case .refused(let reason): return .refused(reason)
      case .coded(let coding):
        let replacement = WeightReplacement(
          weight, .codes(coding.codes, bits: coding.bits, .table(coding.table)))
        guard replacement.storedBytes < weight.storedBytes else {
          return .refused("would not shrink: the table would outweigh what the codes save")
        }
        return .encoded(
          Encoded(
            replacement: replacement,
            description: scheme.description(axis: nil, bits: coding.bits), sums: coding.sums))
      }
    }
  }

  private func half(
    _ values: [Float], _ weight: NeuralNetworkWeight, _ scheme: NeuralNetworkScheme, clamps: Bool
  ) throws -> Outcome {
    let source = try FloatTensor(shape: weight.shape, values: values)
    switch try HalfConversion.prepare(source: source, clamp: clamps, parallel: parallel) {
    case .refused(let reason):
      return .refused("\(reason); --clamp stores the nearest fp16 values")
    case .ready(let conversion):
      let bytes = OutputBuffer(count: conversion.byteCount)
      let sums = try conversion.encode(parallel: parallel) { offset, piece in
        bytes.write(piece, at: offset)
      }
      return .encoded(
        Encoded(
          replacement: WeightReplacement(weight, .halves(bytes.take())),
          description: scheme.description(axis: nil, bits: nil), note: conversion.note,
          sums: sums))
    }
  }
}

/// Bytes that several threads write, each at its own places.
private final class OutputBuffer: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer

  init(count: Int) {
    memory = .allocate(byteCount: count, alignment: 16)
  }

  deinit { memory.deallocate() }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + bytes.count])
      .copyMemory(from: bytes)
  }

  func take() -> [UInt8] { Array(memory) }
}
