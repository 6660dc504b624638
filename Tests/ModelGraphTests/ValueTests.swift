import ModelGraph
import ModelTensors
import Testing

@Suite struct ValueTests {
  @Test func scalars() {
    #expect(Value.string("same").stringValue == "same")
    #expect(Value.bool(true).boolValue == true)
    #expect(Value.int32(-3).intValue == -3)
    #expect(Value(.uint8, [], .bytes([200])).intValue == 200)
    #expect(Value.int32s([1, -2]).intValues == [1, -2])
    #expect(Value.string("a").intValue == nil)
  }

  @Test func literalsRoundTripThroughPackedBytes() throws {
    let cases: [(ElementType, TensorLiteral)] = [
      (.float32, .floats([1, -0.0, .infinity])),
      (.float64, .doubles([1.5, -2, 0])),
      (.int32, .ints([1, -1, .max])),
      (.int16, .ints([1, -1, -32768])),
      (.uint16, .ints([1, 0, 65535])),
      (.int64, .longInts([1, -1, .min])),
      (.bool, .bools([true, false, true])),
      (.float16, .bytes([0, 0x3C, 0, 0xBC, 1, 0])),
      (.uint32, .bytes([1, 0, 0, 0])),
    ]
    for (type, literal) in cases {
      let bytes = try #require(literal.packedBytes(as: type))
      let back = try #require(TensorLiteral(packed: bytes, as: type))
      #expect(back.isIdentical(to: literal), "\(type)")
    }
    #expect(TensorLiteral(packed: [1, 2, 3], as: .int32) == nil)
    #expect(TensorLiteral.strings(["a"]).packedBytes(as: .string) == nil)
  }

  @Test func identityIsByBits() {
    #expect(TensorLiteral.floats([0]) == .floats([-0.0]))
    #expect(!TensorLiteral.floats([0]).isIdentical(to: .floats([-0.0])))
    #expect(TensorLiteral.floats([.nan]).isIdentical(to: .floats([.nan])))
  }

  @Test func narrowIntegers() {
    #expect(Value(.int4, [3], .bytes([0x78, 0x0F])).intValues == [-8, 7, -1])
    #expect(Value(.uint1, [9], .bytes([0b101, 1])).intValues == [1, 0, 1, 0, 0, 0, 0, 0, 1])
    #expect(
      Value(.uint3, [7], .bytes([0xD1, 0x58, 0x1F])).intValues == [1, 2, 3, 4, 5, 6, 7])
  }

  @Test func tensorSourceNeedsMatchingSizes() {
    #expect(Value(.float32, [2], .floats([1, 2])).tensorSource?.elementCount == 2)
    #expect(Value(.float32, [3], .floats([1, 2])).tensorSource == nil)
    #expect(Value(.float16, [2], .floats([1, 2])).tensorSource == nil)
  }

  @Test func weightsTakeTheTypeOfTheirSource() {
    let weight = Weight(
      reference: BlobReference(fileName: "@model_path/weights/weight.bin", offset: 64),
      source: AbsentTensor(elementType: .float16, shape: [2, 3]))
    let value = Value.weight(weight)
    #expect(value.type == .tensor(.float16, [2, 3]))
    #expect(value.literal == nil)
    #expect(value.intValues == nil)
  }

  @Test func types() {
    let type = ValueType.tensor(.float16, [1, 3])
    #expect(type.tensor?.shape == [1, 3])
    #expect(type.tensor?.with(elementType: .float32).elementType == .float32)
    let open = TensorType(
      dataType: DataType(.int32), rank: 2,
      dimensions: [Dimension(.constant(1)), Dimension(.unknown(variadic: false))])
    #expect(open.shape == nil)
    #expect(ValueType(.state(type)).tensorOrStateTensor?.shape == [1, 3])
    #expect(ValueType(.state(type)).tensor == nil)
    #expect(DataType(rawValue: 99).elementType == nil)
    for element in ElementType.allCases { #expect(DataType(element).elementType == element) }
  }

  @Test func opsets() {
    #expect(Opset.name(specificationVersion: 8) == "CoreML7")
    #expect(Opset.specificationVersion("CoreML5") == 6)
    #expect(Opset.specificationVersion("CoreML4") == nil)
    #expect(Opset.specificationVersion("coreml7") == nil)
  }
}
