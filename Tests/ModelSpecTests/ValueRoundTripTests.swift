import ModelGraph
import ModelTensors
import TestSupport
import Testing

@testable import ModelSpec

/// Values of every kind, strings with odd characters, and the rules by which protobuf merges.
@Suite struct ValueRoundTripTests {
  private func roundTrip(_ value: Value) throws -> Value? {
    let operation = GraphOperation.const("c", value)
    let model = Make.model(9, [], [operation], outputs: [])
    let again = try Codec.decode(try ModelEncoder.encode(model))
    #expect(try ModelEncoder.encode(again) == ModelEncoder.encode(model))
    return again.operation("c")?.attributes["val"]
  }

  @Test func everyLiteralSurvives() throws {
    let literals: [(ElementType, TensorLiteral)] = [
      (.float32, .floats([0, -0.0, .infinity, .nan, 1.5])), (.int32, .ints([0, -1, .min, .max])),
      (.bool, .bools([true, false])), (.string, .strings(["", "a\u{0}b", "é"])),
      (.int64, .longInts([0, .min, .max])), (.float64, .doubles([-0.0, .nan, 1])),
      (.uint8, .bytes([0, 255, 7])), (.float32, .floats([])), (.int32, .ints([])),
      (.bool, .bools([])), (.string, .strings([])), (.int64, .longInts([])),
      (.float64, .doubles([])), (.int8, .bytes([])), (.float32, .absent),
    ]
    for (type, literal) in literals {
      let value = try #require(try roundTrip(Value(type, [literal.count], literal)))
      let found = try #require(value.literal)
      #expect(found.isIdentical(to: literal), "\(literal)")
    }
  }

  @Test func nestedValuesSurvive() throws {
    func list(_ values: [Value]) -> Value {
      Value(
        type: ValueType(.list(element: .tensor(.int32), length: Dimension(.constant(2)))),
        content: .immediate(ImmediateValue(.list(values))))
    }
    let inner = list([.int32(1), .int32(-2)])
    let tuple = Value(
      type: ValueType(.tuple([.tensor(.string), ValueType(.absent)])),
      content: .immediate(ImmediateValue(.tuple([.string("a"), inner]))))
    var pair = ImmediateValue.Pair(key: .string("k"), value: tuple)
    pair.unknownFields = UnknownFields([.init(number: 77, wireType: 0, bytes: [1])])
    let dictionary = Value(
      type: ValueType(.dictionary(key: .tensor(.string), value: nil)),
      content: .immediate(
        ImmediateValue(.dictionary([pair, .init(key: nil, value: .bool(true))]))))
    let state = Value(
      type: ValueType(.state(.tensor(.float16, [1, 2]))), content: .absent)
    let empty = list([])
    for value in [inner, tuple, dictionary, state, empty, Value(type: nil, content: .absent)] {
      var documented = value
      documented.docString = "what it is"
      #expect(try roundTrip(value) == value)
      #expect(try roundTrip(documented) == documented)
    }
  }

  @Test func invalidTextIsAnErrorWithItsOperation() throws {
    var operation = ProtoWriter()
    operation.text(1, "relu")
    operation.message(3) { $0.text(1, "y") }
    operation.message(5) { entry in
      entry.bytes(1, [0xFF, 0xFE])
      entry.bytes(2, [])
    }
    let block = ProtoWriter.message(3, operation.bytes)
    var function = ProtoWriter()
    function.message(3) { entry in
      entry.text(1, "CoreML7")
      entry.bytes(2, block)
    }
    var program = ProtoWriter()
    program.message(2) { entry in
      entry.text(1, "main")
      entry.bytes(2, function.bytes)
    }
    let error = try #require(Codec.error(Codec.model(502, program.bytes)))
    #expect(error.path == "test.mlmodel")
    #expect(error.place == "main/y")
    #expect(error.message == "a string is not valid UTF-8")
  }

  @Test func invalidTextInTheInterfaceIsAnError() throws {
    let feature = ProtoWriter.message(1, ProtoWriter.message(1, [0xC0, 0x80]))
    #expect(Codec.error(Codec.model(2, feature))?.path == "test.mlmodel")
    let pipeline = ProtoWriter.message(2, [0xFF])
    #expect(Codec.error(Codec.model(202, pipeline))?.offset != nil)
  }

  /// Of equal keys the last one counts.
  @Test func lastOfEqualMapKeysCounts() throws {
    var program = ProtoWriter()
    for text in ["first", "other", "last"] {
      program.message(4) { entry in
        entry.text(1, text == "other" ? "b" : "a")
        entry.message(2) { $0.text(1, text) }
      }
    }
    let attributes = try #require(try Codec.decode(Codec.model(502, program.bytes)).program)
      .attributes
    #expect(attributes.keys == ["a", "b"])
    #expect(attributes["a"]?.docString == "last")
  }

  /// A message that is given in parts is merged: lists are joined, of scalars the last counts.
  @Test func repeatedSingularMessagesAreMerged() throws {
    var model = ProtoWriter()
    model.varint(1, 6)
    model.message(2) { $0.text(11, "old") }
    model.varint(1, 7)
    model.message(502) { $0.varint(1, 3) }
    model.message(2) { description in
      description.text(11, "new")
      description.message(1) { $0.text(1, "a") }
    }
    model.message(502) { $0.text(3, "doc") }
    model.message(2) { description in description.message(1) { $0.text(1, "b") } }
    let decoded = try Codec.decode(model.bytes)
    #expect(decoded.specificationVersion == 7)
    #expect(decoded.description?.predictedFeatureName == "new")
    #expect(decoded.description?.inputs.map(\.name) == ["a", "b"])
    #expect(decoded.program?.version == 3)
    #expect(decoded.program?.docString == "doc")
  }

  /// protobuf-c does not merge such parts as it should, so they are refused, never lost.
  @Test func partsInsideAMessageAreRefused() throws {
    let array = { (number: UInt64, value: UInt64) -> [UInt8] in
      var array = ProtoWriter()
      array.varint(number, value)
      return ProtoWriter.message(5, array.bytes)
    }
    var feature = ProtoWriter()
    feature.bytes(3, array(1, 4))
    feature.bytes(3, array(2, 65568))
    let error = try #require(Codec.error(Codec.model(2, ProtoWriter.message(1, feature.bytes))))
    #expect(error.kind == .unsupported)
    #expect(error.message == "type is given in several parts")
    #expect(error.offset == 12)
    var description = ProtoWriter()
    description.message(100) { $0.text(1, "a") }
    description.message(100) { $0.text(3, "b") }
    #expect(Codec.error(Codec.model(2, description.bytes))?.kind == .unsupported)
  }

  /// Of the alternatives of a oneof the last one counts.
  @Test func lastAlternativeCounts() throws {
    var type = ProtoWriter()
    type.bytes(1, [])
    type.bytes(5, ProtoWriter.message(31, []))
    type.bytes(3, [])
    let feature = ProtoWriter.message(3, type.bytes)
    let inputs = try Codec.decode(Codec.model(2, ProtoWriter.message(1, feature))).description
    #expect(inputs?.inputs.first?.type?.kind == .string)

    var model = ProtoWriter()
    model.varint(1, 5)
    model.bytes(500, [])
    model.bytes(502, [])
    model.bytes(300, [])
    #expect(try Codec.decode(model.bytes).kind.typeName == "glmRegressor")
  }

  /// Lists of numbers may be packed or not, or both.
  @Test func packedAndUnpackedListsAreEqual() throws {
    var unpacked = ProtoWriter()
    for value: UInt64 in [1, 300, UInt64(bitPattern: -1)] { unpacked.varint(1, value) }
    var numbers = ProtoWriter()
    for value: UInt64 in [1, 300] { numbers.raw(varint: value) }
    var mixed = ProtoWriter()
    mixed.bytes(1, numbers.bytes)
    mixed.varint(1, UInt64(bitPattern: -1))
    let value = { (list: [UInt8]) in
      ProtoWriter.message(3, ProtoWriter.message(1, ProtoWriter.message(2, list)))
    }
    for list in [unpacked.bytes, mixed.bytes] {
      #expect(try Codec.value(value(list))?.literal == .ints([1, 300, -1]))
    }
    var floats = ProtoWriter()
    floats.fixed32(1, Float(-0.0).bitPattern)
    floats.fixed32(1, Float(2.5).bitPattern)
    let literal = try Codec.value(
      ProtoWriter.message(3, ProtoWriter.message(1, ProtoWriter.message(1, floats.bytes))))?
      .literal
    #expect(literal?.isIdentical(to: .floats([-0.0, 2.5])) == true)
  }

  @Test func defaultValueOfMinusZeroSurvives() throws {
    var type = ArrayType(shape: [1], dataType: .float32)
    for value in [ArrayType.DefaultValue.float(-0.0), .double(-0.0), .int(0), .float(0)] {
      type.defaultValue = value
      var description = ModelDescription()
      description.inputs = [FeatureDescription(name: "x", type: FeatureType(.multiArray(type)))]
      let model = Model(specificationVersion: 6, description: description, kind: .absent)
      let bytes = try ModelEncoder.encode(model)
      let again = try Codec.decode(bytes)
      guard case .multiArray(let found) = again.description?.inputs.first?.type?.kind else {
        Issue.record("no array")
        return
      }
      #expect("\(found.defaultValue)" == "\(value)")
      #expect(try ModelEncoder.encode(again) == bytes)
    }
  }

  /// Bytes that a pass does not look at stay: networks and other kinds are never repacked.
  @Test func kindsKeptWholeAreNotRepacked() throws {
    // Fields out of order, unpacked floats, −0.0, a field given twice.
    var weights = ProtoWriter()
    weights.fixed32(1, Float(-0.0).bitPattern)
    weights.varint(50, 0)
    weights.fixed32(1, 7)
    for number: UInt64 in [300, 400, 500, 403, 303, 302, 604, 2000, 3000] {
      let bytes = Codec.model(number, ProtoWriter.message(3000, weights.bytes))
      #expect(try Codec.roundTrip(bytes) == bytes, "field \(number)")
    }
  }

  @Test func pipelinesNest() throws {
    let leaf = Codec.model(300, ProtoWriter.message(1, [0x09, 1, 2, 3, 4, 5, 6, 7, 8]))
    var inner = ProtoWriter()
    inner.bytes(1, leaf)
    inner.bytes(1, Codec.model(502, []))
    inner.text(2, "first")
    inner.text(2, "")
    let classifier = ProtoWriter.message(1, inner.bytes)
    var outer = ProtoWriter()
    outer.bytes(1, Codec.model(200, classifier))
    outer.bytes(1, Codec.model(201, []))
    outer.varint(99, 5)
    let bytes = Codec.model(202, outer.bytes)
    #expect(try Codec.roundTrip(bytes) == bytes)
    var places: [[Int]] = []
    try Codec.decode(bytes).forEachProgram { _, place in places.append(place) }
    #expect(places == [[0, 1]])
  }
}
