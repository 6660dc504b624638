import ModelGraph
import ModelTensors
import TestSupport

@testable import ModelSpec

/// Decoding and encoding without weight files.
enum Codec {
  static func decode(_ bytes: [UInt8], path: String = "test.mlmodel") throws -> Model {
    try bytes.withUnsafeBytes {
      try ModelDecoder(weights: UnopenedWeights()).decode($0, path: path)
    }
  }

  /// The bytes after a round trip.
  static func roundTrip(_ bytes: [UInt8]) throws -> [UInt8] {
    try ModelEncoder.encode(try decode(bytes))
  }

  /// The error of decoding, or nil.
  static func error(_ bytes: [UInt8]) -> SpecError? {
    do {
      _ = try decode(bytes)
      return nil
    } catch { return error as? SpecError ?? SpecError("another error: \(error)") }
  }

  /// A model of version 8 and a further field.
  static func model(_ number: UInt64, _ content: [UInt8]) -> [UInt8] {
    var writer = ProtoWriter()
    writer.varint(1, 8)
    writer.bytes(number, content)
    return writer.bytes
  }

  /// A model whose program has one operation with the attribute `val`.
  static func model(value: [UInt8]) -> [UInt8] {
    var entry = ProtoWriter()
    entry.text(1, "val")
    entry.bytes(2, value)
    return model(
      502, ProtoWriter.nested([2, 2, 3, 2, 3, 5], count: 1, content: entry.bytes))
  }

  /// The value that ``model(value:)`` holds, after decoding.
  static func value(_ bytes: [UInt8]) throws -> Value? {
    try decode(model(value: bytes)).program?.functions.values.first?.specializations.values.first?
      .operations.first?.attributes["val"]
  }
}
