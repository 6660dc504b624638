import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct VerifierConstexprTests {
  private func codes(_ version: Int, _ operation: GraphOperation) -> [String] {
    let program = Build.program(version, [], [operation], outputs: ["w"])
    return Verifier.findings(program: program, specificationVersion: version).map {
      "\($0.code.rawValue) \($0.place.split(separator: ".").dropFirst().joined())"
    }
  }

  private func inputs(_ operation: GraphOperation) -> GraphOperation {
    var result = operation
    for (name, value) in operation.attributes where name != "name" {
      result.attributes[name] = nil
      result.inputs[name] = .value(value)
    }
    return result
  }

  private func bytes(_ type: ElementType, _ shape: [Int]) -> Value {
    let count = Shape.elementCount(shape).flatMap { type.byteCount(of: $0) } ?? 0
    return Value(type, shape, .bytes([UInt8](repeating: 0, count: count)))
  }

  private func floats(_ shape: [Int]) -> Value {
    Value(
      .float32, shape, .floats([Float](repeating: 1, count: Shape.elementCount(shape) ?? 0)))
  }

  @Test func affineDequantize() {
    func operation(_ scale: Value, _ zero: Value, _ axis: Int32) -> GraphOperation {
      Build.constexpr(
        "constexpr_affine_dequantize",
        [
          "quantized_data": bytes(.int8, [2, 3]), "scale": scale, "zero_point": zero,
          "axis": .int32(axis),
        ], .tensor(.float32, [2, 3]))
    }
    #expect(codes(7, operation(floats([2]), bytes(.int8, [2]), 0)).isEmpty)
    #expect(codes(7, operation(floats([]), bytes(.int8, []), -1)).isEmpty)
    #expect(codes(9, operation(floats([3]), floats([3]), 1)).isEmpty)
    #expect(
      codes(7, operation(floats([2]), bytes(.int8, [2]), 1))
        == ["constexpr-shape scale", "constexpr-shape zero_point"])
    #expect(codes(7, operation(floats([2]), bytes(.int8, [2]), 2)) == ["constexpr-shape axis"])
    #expect(
      codes(7, operation(floats([2]), bytes(.uint8, [2]), 0)) == ["constexpr-shape zero_point"])
  }

  @Test func packedTable() {
    func operation(_ count: Int, entries: Int) -> GraphOperation {
      Build.constexpr(
        "constexpr_lut_to_dense",
        [
          "indices": bytes(.uint8, [count]), "lut": floats([entries]),
          "shape": Value(.uint32, [2], .bytes([2, 0, 0, 0, 3, 0, 0, 0])),
        ], .tensor(.float32, [2, 3]))
    }
    #expect(codes(7, operation(2, entries: 4)).isEmpty)
    #expect(codes(7, operation(3, entries: 4)) == ["constexpr-shape indices"])
    #expect(codes(7, operation(3, entries: 8)) == ["constexpr-shape lut"])
    // The older form is no longer valid at 9.
    #expect(codes(9, operation(2, entries: 4)).contains("unknown-input shape"))
  }

  @Test func table() {
    func operation(
      _ indices: Value, _ table: [Int], axis: Int32? = nil, _ output: [Int] = [2, 4]
    ) -> GraphOperation {
      var operation = inputs(
        Build.constexpr(
          "constexpr_lut_to_dense", ["indices": indices, "lut": floats(table)],
          .tensor(.float32, output)))
      if let axis { operation.inputs["vector_axis"] = .value(.int32(axis)) }
      return operation
    }
    #expect(codes(9, operation(bytes(.uint2, [2, 4]), [1, 1, 4, 1])).isEmpty)
    #expect(codes(9, operation(bytes(.uint2, [2, 4]), [2, 2, 4, 1])).isEmpty)
    #expect(codes(9, operation(bytes(.uint1, [2, 2]), [1, 1, 2, 2], axis: 1)).isEmpty)
    #expect(
      codes(9, operation(bytes(.uint1, [2, 2]), [1, 1, 2, 2])) == ["constexpr-shape vector_axis"])
    #expect(
      codes(9, operation(bytes(.uint2, [2, 4]), [1, 3, 4, 1])) == ["constexpr-shape lut"])
    #expect(codes(9, operation(bytes(.uint2, [2, 4]), [1, 4, 1])) == ["constexpr-shape lut"])
    #expect(
      codes(9, operation(bytes(.uint2, [2, 4]), [1, 1, 8, 1])) == ["constexpr-shape lut"])
    #expect(codes(9, operation(bytes(.uint2, [2, 3]), [1, 1, 4, 1])) == ["output-type "])
  }

  @Test func blockwiseScale() {
    func operation(_ scale: [Int], offset: Value? = nil) -> GraphOperation {
      var operation = inputs(
        Build.constexpr(
          "constexpr_blockwise_shift_scale",
          ["data": bytes(.int4, [4, 8]), "scale": floats(scale)], .tensor(.float32, [4, 8])))
      if let offset { operation.inputs["offset"] = .value(offset) }
      return operation
    }
    #expect(codes(9, operation([4, 2])).isEmpty)
    #expect(codes(9, operation([4, 2], offset: bytes(.int4, [4, 2]))).isEmpty)
    #expect(codes(9, operation([4, 3])) == ["constexpr-shape scale"])
    #expect(codes(9, operation([4])) == ["constexpr-shape scale"])
    #expect(
      codes(9, operation([4, 2], offset: bytes(.int4, [4, 1]))) == ["constexpr-shape offset"])
    #expect(
      codes(9, operation([4, 2], offset: bytes(.uint4, [4, 2]))) == ["constexpr-shape offset"])
    #expect(codes(8, operation([4, 2])) == ["operation-version "])
  }

  @Test func sparse() {
    let packed = Build.constexpr(
      "constexpr_sparse_to_dense",
      [
        "nonzero_data": floats([3]), "mask": bytes(.uint8, [2]),
        "shape": Value(.uint32, [1], .bytes([10, 0, 0, 0])),
      ], .tensor(.float32, [10]))
    #expect(codes(7, packed).isEmpty)
    var short = packed
    short.attributes["mask"] = bytes(.uint8, [1])
    #expect(codes(7, short) == ["constexpr-shape mask"])
    let dense = inputs(
      Build.constexpr(
        "constexpr_sparse_to_dense",
        ["nonzero_data": floats([3]), "mask": bytes(.uint1, [2, 5])], .tensor(.float32, [2, 5])))
    #expect(codes(9, dense).isEmpty)
    var wrong = dense
    wrong.inputs["nonzero_data"] = .value(floats([3, 1]))
    #expect(codes(9, wrong) == ["constexpr-shape nonzero_data"])
  }

  @Test func chains() {
    var values = inputs(
      Build.constexpr(
        "constexpr_sparse_blockwise_shift_scale",
        [
          "data_mask": bytes(.uint1, [2, 5]), "nonzero_data": bytes(.int8, [3]),
          "scale": floats([2, 1]),
        ], .tensor(.uint1, [2, 5])))
    values.outputs = [
      NamedValueType("m", .tensor(.uint1, [2, 5])), NamedValueType("v", .tensor(.float32, [3])),
    ]
    values.attributes["name"] = .string("v")
    let dense = GraphOperation(
      type: "constexpr_sparse_to_dense",
      inputs: ["nonzero_data": .name("v"), "mask": .name("m")],
      outputs: [NamedValueType("w", .tensor(.float32, [2, 5]))])
    let program = Build.program(9, [], [values, dense], outputs: ["w"])
    #expect(Verifier.findings(program: program, specificationVersion: 9).isEmpty)
    values.outputs[1].type = .tensor(.float32, [4])
    let wrong = Build.program(9, [], [values, dense], outputs: ["w"])
    #expect(
      Verifier.findings(program: wrong, specificationVersion: 9).map(\.code) == [.outputType])
  }
}
