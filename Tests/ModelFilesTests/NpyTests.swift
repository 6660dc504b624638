import ModelTensors
import Testing

@testable import ModelFiles

@Suite struct NpyTests {
  /// The header text and the data of what is written for a tensor.
  func written(
    _ type: ElementType, _ shape: [Int], _ bytes: [UInt8]
  ) throws -> (header: String, data: [UInt8]) {
    let scratch = try Scratch()
    let tensor = try MemoryTensor(elementType: type, shape: shape, bytes: bytes)
    try NpyWriter.write(tensor: tensor, to: scratch("x.npy"))
    #expect(try scratch.names() == ["x.npy"])
    let file = try scratch.bytes("x.npy")
    #expect(Array(file.prefix(8)) == [0x93, 0x4E, 0x55, 0x4D, 0x50, 0x59, 1, 0])
    let start = 10 + Int(file[8]) + Int(file[9]) << 8
    #expect(start % 64 == 0 && file[start - 1] == 10)
    let text = String(decoding: file[10..<start], as: UTF8.self)
    return (String(text.prefix(while: { $0 != "}" })) + "}", Array(file[start...]))
  }

  @Test func forms() throws {
    let half = try written(.float16, [2, 1], [0, 0x3C, 0, 0x40])
    #expect(half.header == "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 1), }")
    #expect(half.data == [0, 0x3C, 0, 0x40])
    let int4 = try written(.int4, [3], [0x78, 0x0F])
    #expect(int4.header == "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }")
    #expect(int4.data == [0xF8, 7, 0xFF])
    let uint3 = try written(.uint3, [7], [0xD1, 0x58, 0x1F])
    #expect(uint3.data == [1, 2, 3, 4, 5, 6, 7] && uint3.header.contains("|u1"))
    let bool = try written(.bool, [], [1])
    #expect(bool.header == "{'descr': '|b1', 'fortran_order': False, 'shape': (), }")
    let brain = try written(.bfloat16, [1], [0x80, 0x3F])
    #expect(brain.header.contains("<f4") && brain.data == [0, 0, 0x80, 0x3F])
    #expect(try written(.int64, [0, 3], []).data.isEmpty)
    // 1.0, 448, -2^-9, and 1.0 of the other 8-bit format.
    let small = try written(.float8E4M3FN, [3], [0x38, 0x7E, 0x81]).data
    #expect(
      small == [Float(1), 448, -0x1p-9].withUnsafeBytes { Array($0) })
    #expect(try written(.float8E5M2, [1], [0x3C]).data == [0, 0, 0x80, 0x3F])
  }

  @Test func severalPieces() throws {
    let count = 600_001
    let bits = (0..<(count * 3 + 7) / 8).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let data = try written(.uint3, [count], bits).data
    let expected = bits.withUnsafeBytes { buffer in
      (0..<count).map { BitPacking.code(buffer, at: $0, bits: 3) }
    }
    #expect(data == expected)
  }

  @Test func refusals() throws {
    let scratch = try Scratch()
    let path = scratch("x.npy")
    let absent = AbsentTensor(elementType: .float16, shape: [2])
    #expect(throws: TensorError.self) { try NpyWriter.write(tensor: absent, to: path) }
    #expect(try scratch.names().isEmpty)
    let text = AbsentTensor(elementType: .string, shape: [2])
    #expect(throws: FileError.self) { try NpyWriter.write(tensor: text, to: path) }
    let tensor = try MemoryTensor(elementType: .int8, shape: [1], bytes: [1])
    try scratch.write("x.npy", "old")
    #expect(fileError { try NpyWriter.write(tensor: tensor, to: path) } == .exists(path))
    try NpyWriter.write(tensor: tensor, to: path, force: true)
    #expect(try scratch.bytes("x.npy").count == 129)
    try NpyWriter.write(tensor: tensor, to: "/dev/null")
  }

  @Test(.enabled(if: FileSystem.exists("/dev/full"), "no /dev/full"))
  func fullDevice() throws {
    let tensor = try MemoryTensor(elementType: .int8, shape: [1], bytes: [1])
    let full = fileError { try NpyWriter.write(tensor: tensor, to: "/dev/full") }
    #expect(full == .system("/dev/full", "write", errno: noSpace))
  }
}
