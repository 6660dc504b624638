import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct UpgraderConstexprTests {
  private func upgraded(_ operation: GraphOperation) throws -> GraphOperation {
    var program = Build.program(7, [], [operation], outputs: ["w"])
    _ = try Upgrader.upgrade(&program, from: 7, to: 9)
    #expect(Verifier.findings(program: program, specificationVersion: 9).isEmpty)
    return try #require(program.operations.first)
  }

  private static let shape = Value(.uint32, [2], .bytes([2, 0, 0, 0, 3, 0, 0, 0]))

  private func blob(_ type: ElementType, _ shape: [Int], _ bytes: [UInt8]) throws -> Value {
    .weight(
      Weight(
        reference: BlobReference(fileName: "@model_path/weights/weight.bin", offset: 128),
        source: try MemoryTensor(elementType: type, shape: shape, bytes: bytes)))
  }

  @Test func cast() throws {
    let source = Value(.float16, [2], .bytes([0, 0x3C, 0, 0]))
    let result = try upgraded(
      Build.constexpr(
        "constexpr_cast", ["source_val": source, "output_dtype": .string("fp32")],
        .tensor(.float32, [2])))
    #expect(result.inputs["source_val"]?.value == source)
    #expect(result.inputs["output_dtype"]?.value?.stringValue == "fp32")
    #expect(result.attributes.keys == ["name"])
  }

  @Test func table() throws {
    let table = Value(.float32, [4], .floats([0, 1, 2, 3]))
    let result = try upgraded(
      Build.constexpr(
        "constexpr_lut_to_dense",
        [
          "indices": Value(.uint8, [2], .bytes([0b1110_0100, 0b1111_1001])), "lut": table,
          "shape": Self.shape,
        ], .tensor(.float32, [2, 3])))
    let indices = result.inputs["indices"]?.value
    #expect(indices?.type == .tensor(.uint2, [2, 3]))
    #expect(indices?.intValues == [0, 1, 2, 3, 1, 2])
    // Bits after the last index are cleared.
    #expect(indices?.literal == .bytes([0b1110_0100, 0b0000_1001]))
    #expect(result.inputs["lut"]?.value == Value(.float32, [1, 1, 4, 1], .floats([0, 1, 2, 3])))
    #expect(result.inputs["shape"] == nil)
    #expect(result.attributes.keys == ["name"])
  }

  @Test func blobsKeepTheirPlaceAndBytes() throws {
    let half = [UInt8](repeating: 7, count: 32)
    let result = try upgraded(
      Build.constexpr(
        "constexpr_lut_to_dense",
        [
          "indices": try blob(.uint8, [3], [0x21, 0x43, 0x65]),
          "lut": try blob(.float16, [16], half), "shape": Self.shape,
        ], .tensor(.float16, [2, 3])))
    let indices = try #require(result.inputs["indices"]?.value)
    #expect(indices.type == .tensor(.uint4, [2, 3]))
    #expect(indices.weight?.reference.offset == 128)
    #expect(indices.weight?.source.elementType == .uint4)
    #expect(try indices.weight?.source.bytes() == [0x21, 0x43, 0x65])
    let table = try #require(result.inputs["lut"]?.value)
    #expect(table.weight?.source.shape == [1, 1, 16, 1])
    #expect(try table.weight?.source.bytes() == half)
  }

  @Test func eightBitIndices() throws {
    let result = try upgraded(
      Build.constexpr(
        "constexpr_lut_to_dense",
        [
          "indices": Value(.uint8, [6], .bytes([1, 2, 3, 4, 5, 255])),
          "lut": try blob(.uint8, [256], (0...255).map { UInt8($0) }), "shape": Self.shape,
        ], .tensor(.uint8, [2, 3])))
    #expect(result.inputs["indices"]?.value?.type == .tensor(.uint8, [2, 3]))
    #expect(result.inputs["lut"]?.value?.type == .tensor(.uint8, [1, 1, 256, 1]))
  }

  @Test func sparse() throws {
    let values = Value(.float32, [2], .floats([5, 6]))
    let result = try upgraded(
      Build.constexpr(
        "constexpr_sparse_to_dense",
        [
          "nonzero_data": values, "mask": Value(.uint8, [1], .bytes([0b0001_0010])),
          "shape": Self.shape,
        ], .tensor(.float32, [2, 3])))
    #expect(result.inputs["nonzero_data"]?.value == values)
    #expect(result.inputs["mask"]?.value == Value(.uint1, [2, 3], .bytes([0b0001_0010])))
    #expect(result.inputs["shape"] == nil)
  }

  @Test func affineDequantizeKeepsItsAttributes() throws {
    let operation = Build.constexpr(
      "constexpr_affine_dequantize",
      [
        "quantized_data": Value(.int8, [2], .bytes([1, 2])),
        "zero_point": Value(.int8, [], .bytes([0])), "scale": Value(.float32, [], .floats([1])),
        "axis": .int32(0),
      ], .tensor(.float32, [2]))
    #expect(try upgraded(operation) == operation)
  }

  @Test func inconsistentSizesAreRefused() {
    let operation = Build.constexpr(
      "constexpr_lut_to_dense",
      [
        "indices": Value(.uint8, [3], .bytes([0, 0, 0])),
        "lut": Value(.float32, [4], .floats([0, 1, 2, 3])), "shape": Self.shape,
      ], .tensor(.float32, [2, 3]))
    var program = Build.program(7, [], [operation], outputs: ["w"])
    #expect(throws: UpgradeRefusal.self) { _ = try Upgrader.upgrade(&program, from: 7, to: 9) }
    var missing = operation
    missing.attributes["shape"] = nil
    program = Build.program(7, [], [missing], outputs: ["w"])
    #expect(throws: UpgradeRefusal.self) { _ = try Upgrader.upgrade(&program, from: 7, to: 9) }
  }
}
