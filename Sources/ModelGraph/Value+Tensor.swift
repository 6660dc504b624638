import ModelTensors

extension Value {
  /// The tensor that the value holds, or nil when it is not a numeric tensor of fixed shape or its
  /// literal does not fit its type.
  public var tensorSource: (any TensorSource)? {
    if let weight { return weight.source }
    guard let tensor = type?.tensor, let elementType = tensor.elementType,
      let shape = tensor.shape, let literal, let bytes = literal.packedBytes(as: elementType)
    else { return nil }
    return try? MemoryTensor(elementType: elementType, shape: shape, bytes: bytes)
  }

  /// All elements of an integer tensor, immediate or not, up to 64 Ki of them.
  public var intValues: [Int]? {
    guard let source = tensorSource, source.elementCount <= 1 << 16,
      let bytes = try? source.bytes()
    else { return nil }
    return integers(bytes, source.elementType, source.elementCount)
  }

  /// An immediate tensor of `elementType` from packed bytes, in the list that the file format
  /// prescribes for the type; nil for strings.
  public init?(_ elementType: ElementType, _ shape: [Int], packed bytes: [UInt8]) {
    guard let literal = TensorLiteral(packed: bytes, as: elementType) else { return nil }
    self.init(elementType, shape, literal)
  }
}

private func integers(_ bytes: [UInt8], _ type: ElementType, _ count: Int) -> [Int]? {
  bytes.withUnsafeBytes { raw in
    func load<T: FixedWidthInteger>(_: T.Type) -> [Int]? {
      var values: [Int] = []
      values.reserveCapacity(count)
      for index in 0..<count {
        let value = raw.loadUnaligned(fromByteOffset: index * MemoryLayout<T>.size, as: T.self)
        guard let fitting = Int(exactly: value) else { return nil }
        values.append(fitting)
      }
      return values
    }
    switch type {
    case .int8: return load(Int8.self)
    case .int16: return load(Int16.self)
    case .int32: return load(Int32.self)
    case .int64: return load(Int64.self)
    case .uint8: return load(UInt8.self)
    case .uint16: return load(UInt16.self)
    case .uint32: return load(UInt32.self)
    case .uint64: return load(UInt64.self)
    case .int4, .uint1, .uint2, .uint3, .uint4, .uint6:
      return (0..<count).map {
        let code = BitPacking.code(raw, at: $0, bits: type.bitWidth)
        return type == .int4 ? Int(Int8(bitPattern: code << 4) >> 4) : Int(code)
      }
    default: return nil
    }
  }
}

extension TensorLiteral {
  /// The elements as packed little-endian bytes of `type`, or nil when the list is not the one
  /// that the type uses or an element does not fit.
  public func packedBytes(as type: ElementType) -> [UInt8]? {
    func packed<T: BitwiseCopyable>(_ values: [T]) -> [UInt8] {
      values.withUnsafeBytes { Array($0) }
    }
    switch (self, type) {
    case (.floats(let values), .float32): return packed(values)
    case (.doubles(let values), .float64): return packed(values)
    case (.bools(let values), .bool): return values.map { $0 ? 1 : 0 }
    case (.longInts(let values), .int64), (.longInts(let values), .uint64): return packed(values)
    case (.ints(let values), .int32): return packed(values)
    case (.ints(let values), .uint32):
      return packed(values.map { UInt32(bitPattern: $0) })
    case (.ints(let values), .int16):
      return packed(values.map { Int16(truncatingIfNeeded: $0) })
    case (.ints(let values), .uint16):
      return packed(values.map { UInt16(truncatingIfNeeded: $0) })
    case (.ints(let values), .int8):
      return packed(values.map { Int8(truncatingIfNeeded: $0) })
    case (.ints(let values), .uint8):
      return packed(values.map { UInt8(truncatingIfNeeded: $0) })
    case (.bytes(let bytes), _):
      return type == .string ? nil : bytes
    case (.absent, _): return type == .string ? nil : []
    default: return nil
    }
  }

  /// The literal of packed bytes of `type`; nil for strings and for a ragged byte count.
  public init?(packed bytes: [UInt8], as type: ElementType) {
    func load<T: BitwiseCopyable>(_: T.Type) -> [T]? {
      guard bytes.count % MemoryLayout<T>.size == 0 else { return nil }
      return bytes.withUnsafeBytes { raw in
        (0..<bytes.count / MemoryLayout<T>.size).map {
          raw.loadUnaligned(fromByteOffset: $0 * MemoryLayout<T>.size, as: T.self)
        }
      }
    }
    switch type {
    case .string: return nil
    case .float32:
      guard let values = load(Float.self) else { return nil }
      self = .floats(values)
    case .float64:
      guard let values = load(Double.self) else { return nil }
      self = .doubles(values)
    case .bool: self = .bools(bytes.map { $0 != 0 })
    case .int64, .uint64:
      guard let values = load(Int64.self) else { return nil }
      self = .longInts(values)
    case .int32:
      guard let values = load(Int32.self) else { return nil }
      self = .ints(values)
    case .int16:
      guard let values = load(Int16.self) else { return nil }
      self = .ints(values.map { Int32($0) })
    case .uint16:
      guard let values = load(UInt16.self) else { return nil }
      self = .ints(values.map { Int32($0) })
    default: self = .bytes(bytes)
    }
  }
}
