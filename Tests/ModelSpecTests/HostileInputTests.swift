import ModelFiles
import ModelGraph
import ModelTensors
import TestSupport
import Testing

@testable import ModelSpec

/// No input crashes; every fault is an error that says where.
@Suite struct HostileInputTests {
  /// A model with a bit of everything.
  private static func sample() throws -> [UInt8] {
    var weights = WeightMaker()
    var model = Make.model(
      9, [Make.tensor("x", [1, 4])],
      [
        Make.const("w", try weights.random(.float16, [4, 4])),
        Make.const("t", .bool(true)), Make.const("i", .int32s([1, -2, 3])),
        Make.operation(
          "matmul", ["x": "x", "y": "w", "transpose_y": "t"], Make.tensor("y", [1, 4])),
      ], outputs: [Make.tensor("y", [1, 4])])
    model.description?.metadata = Metadata()
    model.description?.metadata?.author = "é"
    return try ModelEncoder.encode(model)
  }

  @Test func cutAtEveryLength() throws {
    let bytes = try Self.sample()
    #expect(Codec.error(bytes) == nil)
    var accepted = 0
    for count in bytes.indices {
      guard let error = Codec.error(Array(bytes.prefix(count))) else {
        accepted += 1
        continue
      }
      #expect(error.path == "test.mlmodel")
      #expect(!error.message.hasPrefix("another error"), "\(error)")
      #expect(count == 0 || error.offset != nil || error.place != nil, "\(count): \(error)")
    }
    // The version alone is a model, and version and interface are.
    #expect(accepted == 2)
  }

  @Test func everyByteReplaced() throws {
    let bytes = try Self.sample()
    for index in bytes.indices {
      for value: UInt8 in [0, 0x7F, 0x80, 0xFF, bytes[index] ^ 1, bytes[index] ^ 0x10] {
        var changed = bytes
        changed[index] = value
        if let error = Codec.error(changed) {
          #expect(error.path == "test.mlmodel", "\(index) \(value): \(error)")
        }
      }
    }
  }

  /// Ways that lead from a message to itself.
  @Test(
    arguments: [
      ("operations in blocks", [502, 2, 2, 3, 2], [3, 4]),
      ("tuple types", [502, 2, 2, 1, 2], [3, 1]), ("list types", [502, 2, 2, 1, 2], [2, 1]),
      ("dictionary types", [502, 2, 2, 1, 2], [4, 2]), ("state types", [502, 2, 2, 1, 2], [5, 1]),
      ("tensor attributes", [502, 2, 2, 1, 2], [1, 4, 2, 2]),
      ("tuple values", [502, 4, 2], [3, 2, 1]), ("list values", [502, 4, 2], [3, 3, 1]),
      ("dictionary keys", [502, 4, 2], [3, 4, 1, 1]), ("pipelines", [], [202, 1]),
      ("pipelines in classifiers", [], [200, 1, 1]),
      ("branches", [500], [1, 605, 1]), ("loops", [403], [1, 615, 4]),
    ] as [(String, [UInt64], [UInt64])])
  func nestedAMillionDeep(_ name: String, _ start: [UInt64], _ loop: [UInt64]) throws {
    let most = name == "pipelines" ? 1_000_000 : 100_000
    for count in [90, most / loop.count] {
      let inner = ProtoWriter.nested(loop, count: count)
      let bytes = [0x08, 0x08] + ProtoWriter.nested(start, count: 1, content: inner)
      let error = Codec.error(bytes)
      let found = try #require(error, "\(name), \(count)")
      #expect(found.message.contains("nested"), "\(found)")
      #expect(found.offset != nil)
    }
  }

  @Test func modestNestingIsRead() throws {
    let inner = ProtoWriter.nested([3, 1], count: 40)
    let bytes = Codec.model(502, ProtoWriter.nested([2, 2, 1, 2], count: 1, content: inner))
    #expect(try Codec.roundTrip(bytes) == bytes)
  }

  @Test func brokenEncodingIsAnErrorWithItsOffset() throws {
    let cases: [(String, [UInt8], Int)] = [
      ("wire type 3", [0x08, 0x08, 0x13], 2), ("wire type 4", [0x08, 0x08, 0x14], 2),
      ("wire type 6", [0x08, 0x08, 0x16], 2), ("wire type 7", [0x08, 0x08, 0x17], 2),
      ("field number 0", [0x08, 0x08, 0x02, 0x00], 2),
      ("overlong tag", [0x08, 0x08] + [UInt8](repeating: 0x80, count: 11) + [1], 2),
      ("overlong value", [0x08] + [UInt8](repeating: 0xFF, count: 11) + [1], 1),
      ("a length beyond the end", [0x08, 0x08, 0x12, 0x05, 0x00], 2),
      ("the largest length", [0x08, 0x08, 0x12] + [UInt8](repeating: 0xFF, count: 9) + [1], 2),
      ("a length of 2⁶³", [0x08, 0x08, 0x12] + [UInt8](repeating: 0x80, count: 9) + [1], 2),
      ("a fixed value cut off", [0x08, 0x08, 0x9D, 0x06, 1, 2], 2),
      ("nested: a length beyond its message", [0x08, 0x08, 0x12, 0x03, 0x0A, 0x05, 0x00], 4),
      ("nested: wire type 7", [0x08, 0x08, 0xB2, 0x1F, 0x01, 0x17], 5),
    ]
    for (name, bytes, offset) in cases {
      let error = try #require(Codec.error(bytes), "\(name)")
      #expect(error.offset == offset, "\(name): \(error)")
      #expect(error.kind == .malformed)
    }
    #expect(Codec.error([]) != nil)
    #expect(Codec.error([0x0A]) != nil)
  }

  /// A field of a wire type that its schema does not have.
  @Test func wrongWireTypesDoNotCrash() {
    for number: UInt64 in [1, 2, 10, 100, 200, 300, 500, 502] {
      for wireType: UInt64 in [0, 1, 2, 5] {
        var field = ProtoWriter()
        field.tag(number, wireType: wireType)
        field.raw([3, 8, 8, 8, 8, 8, 8, 8])
        _ = Codec.error(field.bytes)
        for outer: UInt64 in [2, 502, 202, 500] { _ = Codec.error(Codec.model(outer, field.bytes)) }
      }
    }
  }

  private func blobValue(_ type: Int, _ sizes: [UInt64], offset: UInt64 = 64) -> [UInt8] {
    var tensor = ProtoWriter()
    tensor.varint(1, UInt64(type))
    tensor.varint(2, UInt64(sizes.count))
    for size in sizes {
      tensor.message(3) { $0.message(1) { $0.varint(1, size) } }
    }
    var value = ProtoWriter()
    value.bytes(2, ProtoWriter.message(1, tensor.bytes))
    value.message(5) { blob in
      blob.text(1, "@model_path/weights/weight.bin")
      blob.varint(2, offset)
    }
    return value.bytes
  }

  @Test func impossibleShapesAreErrors() throws {
    let half = 10
    let shapes: [[UInt64]] = [
      [1 << 32, 1 << 32], [.max], [1 << 63], [.max, .max, .max], [1 << 62, 4],
      [UInt64(bitPattern: -3), 2], [0, 1 << 62, 1 << 62],
    ]
    for shape in shapes {
      let error = Codec.error(Codec.model(value: blobValue(half, shape)))
      if shape.first == 0 { continue }
      #expect(error?.path == "test.mlmodel", "\(shape)")
      #expect(error?.place != nil, "\(shape)")
    }
    #expect(Codec.error(Codec.model(value: blobValue(half, [2, 3]))) == nil)
    #expect(Codec.error(Codec.model(value: blobValue(999, [2]))) != nil)
  }

  @Test func weightsInTypesAreRefused() throws {
    var tensor = ProtoWriter()
    tensor.varint(1, 10)
    tensor.message(4) { entry in
      entry.text(1, "note")
      entry.bytes(2, blobValue(10, [2, 2]))
    }
    let value = ProtoWriter.message(2, ProtoWriter.message(1, tensor.bytes))
    let error = try #require(Codec.error(Codec.model(value: value)))
    #expect(error.kind == .unsupported)
    #expect(error.message.contains("\"note\""))
  }

  /// Immediate tensors whose list does not fit their shape have no elements to read.
  @Test func immediateTensorsOfOtherSizes() throws {
    let values = [
      Value(.float32, [1 << 40], .floats([1])), Value(.float32, [2], .floats([1])),
      Value(.int32, [1], .floats([1])), Value(.float16, [3], .bytes([1])),
      Value(.string, [1], .bytes([1])),
      Value(
        type: .init(
          .tensor(
            TensorType(
              dataType: DataType(.float32), rank: 2,
              dimensions: [Dimension(.constant(.max)), Dimension(.constant(.max))]))),
        content: .immediate(ImmediateValue(.tensor(.floats([1]))))),
    ]
    for value in values { #expect(value.tensorSource == nil) }
  }
}

/// Records of weight files that contradict the program.
@Suite struct HostileWeightTests {
  /// A package with one weight of 8 × 8 halves, changed by `change`, and the error of opening it.
  private func error(
    _ change: (TestFolder, _ weights: String) throws -> Void = { _, _ in },
    model: (inout Model) -> Void = { _ in }
  ) throws -> (any Error)? {
    let folder = try TestFolder()
    var weights = WeightMaker()
    let original = Make.model(
      7, [], [Make.const("w", try weights.random(.float16, [8, 8]))],
      outputs: [Make.tensor("w", [8, 8])])
    try TestPackage.write(original, to: folder("m.mlpackage"))
    var written = try LoadedModel(path: folder("m.mlpackage")).model
    model(&written)
    try folder.write(
      "m.mlpackage/Data/com.apple.CoreML/model.mlmodel", try ModelEncoder.encode(written))
    try change(folder, "m.mlpackage/Data/com.apple.CoreML/weights/weight.bin")
    do {
      _ = try LoadedModel(path: folder("m.mlpackage"))
      return nil
    } catch { return error }
  }

  private func patched(_ offset: Int, _ bytes: [UInt8]) throws -> (any Error)? {
    try error { folder, weights in
      var content = try folder.bytes(weights)
      content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
      try folder.write(weights, content)
    }
  }

  @Test func aSoundPackageOpens() throws { #expect(try error() == nil) }

  @Test func recordFields() throws {
    let cases: [(Int, [UInt8])] = [
      (64, [0, 0, 0, 0]), (68, [2, 0, 0, 0]), (68, [99, 0, 0, 0]), (72, [127]), (72, [0]),
      (72, [UInt8](repeating: 0xFF, count: 8)), (80, [0]), (80, [129]),
      (80, [UInt8](repeating: 0xFF, count: 8)), (79, [0x7F]), (87, [0x80]),
    ]
    for (offset, bytes) in cases {
      let error = try patched(offset, bytes)
      let text = "\(offset) \(bytes): \(String(describing: error))"
      switch error {
      case let error as FileError: #expect(error.path.hasSuffix("weight.bin"), "\(text)")
      case let error as SpecError:
        #expect(error.path.hasSuffix("weight.bin"), "\(text)")
        #expect(error.offset == 64 && error.place != nil, "\(text)")
      default: Issue.record("\(text)")
      }
    }
  }

  @Test func weightFileCutAtEveryLength() throws {
    for count in stride(from: 0, to: 256, by: 7) {
      let error = try error { folder, weights in
        try folder.write(weights, Array(try folder.bytes(weights).prefix(count)))
      }
      #expect(error is FileError, "\(count)")
    }
  }

  @Test func offsetsOfReferences() throws {
    for offset: UInt64 in [0, 1, 63, 65, 128, 192, 1 << 20, 1 << 63, .max, .max - 63] {
      let error = try error(model: { model in
        model.updateEachWeight { $0.reference.offset = offset }
      })
      #expect(error is FileError || error is SpecError, "\(offset)")
    }
  }

  @Test func fileNamesOfReferences() throws {
    for name in ["", "/", "@model_path/weights/absent.bin", "../weight.bin/..", "a\u{0}b"] {
      let error = try error(model: { model in
        model.updateEachWeight { $0.reference.fileName = name }
      })
      #expect(error is FileError || error is SpecError, "\(name)")
    }
  }

  @Test func shapesThatDoNotFitTheRecord() throws {
    for shape in [[8, 7], [64, 2], [], [0]] {
      let error = try error(model: { model in
        guard var program = model.program else { return }
        program.functions.updateEach { _, function in
          function.activeBlock?.operations[0].attributes["val"]?.type = .tensor(.float16, shape)
        }
        model.program = program
      })
      let found = try #require(error as? SpecError, "\(shape)")
      #expect(found.place == "main/w")
      #expect(found.offset == 64)
    }
  }
}
