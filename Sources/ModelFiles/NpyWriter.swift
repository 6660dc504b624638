import ModelTensors

/// Writes tensors as NumPy's `.npy` files, format 1.0.
public enum NpyWriter {
  /// Writes all elements, piece by piece: integers narrower than a byte as bytes; bfloat16 and
  /// 8-bit floats, which NumPy lacks, as 32-bit floats.
  ///
  /// - Throws: ``FileError``, and what reading the tensor throws.
  public static func write(
    tensor: any TensorSource, to path: String, force: Bool = false
  ) throws {
    let type = tensor.elementType
    guard let description = descriptions[type] else {
      throw FileError.unsupported(path, "NumPy has no form for elements of \(type.rawValue)")
    }
    let start = try header(description, tensor.shape, path)
    var failure: (any Error)?
    do {
      try AtomicFile.write(to: path, force: force) { file throws(FileError) in
        try file.append(start)
        let step = 1 << 18
        var index = 0
        while index < tensor.elementCount {
          let range = index..<min(tensor.elementCount, index + step)
          let bytes: [UInt8]
          do {
            bytes = try tensor.withElements(range) { widened($0, type, count: range.count) }
          } catch {
            failure = error
            throw FileError.malformed(path, "the tensor cannot be read")
          }
          try file.append(bytes)
          tensor.release(range)
          index = range.upperBound
        }
      }
    } catch { throw failure ?? error }
  }

  private static let descriptions: [ElementType: String] = [
    .bool: "|b1", .int4: "|i1", .int8: "|i1", .uint1: "|u1", .uint2: "|u1", .uint3: "|u1",
    .uint4: "|u1", .uint6: "|u1", .uint8: "|u1", .int16: "<i2", .uint16: "<u2", .int32: "<i4",
    .uint32: "<u4", .int64: "<i8", .uint64: "<u8", .float16: "<f2", .float32: "<f4",
    .float64: "<f8", .bfloat16: "<f4", .float8E4M3FN: "<f4", .float8E5M2: "<f4",
  ]

  /// Magic, version and the dictionary, padded so that the data starts at a multiple of 64 bytes.
  private static func header(
    _ description: String, _ shape: [Int], _ path: String
  ) throws(FileError) -> [UInt8] {
    let sizes = shape.map(String.init).joined(separator: ", ") + (shape.count == 1 ? "," : "")
    var text = "{'descr': '\(description)', 'fortran_order': False, 'shape': (\(sizes)), }"
    let unpadded = 10 + text.utf8.count + 1
    text += String(repeating: " ", count: (64 - unpadded % 64) % 64) + "\n"
    guard let length = UInt16(exactly: text.utf8.count) else {
      throw .unsupported(path, "a tensor of rank \(shape.count)")
    }
    return [0x93] + Array("NUMPY".utf8) + [1, 0, UInt8(length & 0xFF), UInt8(length >> 8)]
      + Array(text.utf8)
  }

  /// The elements as NumPy holds them.
  private static func widened(
    _ bytes: UnsafeRawBufferPointer, _ type: ElementType, count: Int
  ) -> [UInt8] {
    if type.isSubByte {
      return [UInt8](unsafeUninitializedCapacity: count) { codes, initialized in
        codes.initialize(repeating: 0)
        let part = UnsafeMutableBufferPointer(rebasing: codes[..<count])
        BitPacking.unpack(bytes, bits: type.bitWidth, signed: type.isSignedInteger, into: part)
        initialized = count
      }
    }
    let floats: [Float]
    switch type {
    case .bfloat16:
      floats = (0..<count).map {
        let bits = bytes.loadUnaligned(fromByteOffset: $0 * 2, as: UInt16.self)
        return Float(bitPattern: UInt32(UInt16(littleEndian: bits)) << 16)
      }
    case .float8E5M2: floats = bytes.map { HalfFloat.float(UInt16($0) << 8) }
    case .float8E4M3FN: floats = bytes.map(float8E4M3FN)
    default: return Array(bytes)
    }
    return floats.withUnsafeBytes { Array($0) }
  }

  /// The value of an 8-bit float with 4 exponent bits of bias 7 and no infinities.
  private static func float8E4M3FN(_ byte: UInt8) -> Float {
    let exponent = Int(byte >> 3 & 15)
    let mantissa = Float(byte & 7) / 8
    let sign: Float = byte & 0x80 == 0 ? 1 : -1
    if byte & 0x7F == 0x7F { return .nan }
    if exponent == 0 { return sign * mantissa * 0x1p-6 }
    return sign * Float(sign: .plus, exponent: exponent - 7, significand: 1 + mantissa)
  }
}
