import ModelTensors

/// Elements of tensors as numbers.
public enum WeightValues {
  /// The first elements of a tensor, up to `count`; none of a type without numbers.
  public static func first(_ count: Int, of source: any TensorSource) throws -> [Double] {
    let count = min(count, source.elementCount)
    if count <= 0 { return [] }
    let type = source.elementType
    return try source.withElements(0..<count) { bytes in
      func load<T>(_: T.Type, _ convert: (T) -> Double) -> [Double] {
        (0..<count).map {
          convert(bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<T>.size, as: T.self))
        }
      }
      switch type {
      case .float16: return load(UInt16.self) { Double(HalfFloat.float($0)) }
      case .float32: return load(Float.self) { Double($0) }
      case .float64: return load(Double.self) { $0 }
      case .bfloat16: return load(UInt16.self) { Double(Float(bitPattern: UInt32($0) << 16)) }
      case .int8: return load(Int8.self) { Double($0) }
      case .uint8, .bool: return load(UInt8.self) { Double($0) }
      case .int16: return load(Int16.self) { Double($0) }
      case .uint16: return load(UInt16.self) { Double($0) }
      case .int32: return load(Int32.self) { Double($0) }
      case .uint32: return load(UInt32.self) { Double($0) }
      case .int64: return load(Int64.self) { Double($0) }
      case .uint64: return load(UInt64.self) { Double($0) }
      case .int4, .uint1, .uint2, .uint3, .uint4, .uint6:
        return (0..<count).map {
          let code = BitPacking.code(bytes, at: $0, bits: type.bitWidth)
          return type == .int4 ? Double(Int8(bitPattern: code << 4) >> 4) : Double(code)
        }
      case .float8E4M3FN, .float8E5M2, .string: return []
      }
    }
  }
}
