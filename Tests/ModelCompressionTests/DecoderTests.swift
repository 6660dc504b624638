import ModelTensors
import Testing

@testable import ModelCompression

/// Each decoder against the definition of its operation, read in pieces.
@Suite struct DecoderTests {
  /// A tensor of random integer codes.
  static func codes(
    _ type: ElementType, _ shape: [Int], _ random: inout Random
  ) throws -> (values: [Int], tensor: MemoryTensor) {
    let bits = type.bitWidth
    let raw = (0..<shape.reduce(1, *)).map { _ in UInt8(random.below(1 << bits)) }
    var bytes = [UInt8](repeating: 0, count: (raw.count * bits + 7) / 8)
    raw.withUnsafeBufferPointer { raw in
      bytes.withUnsafeMutableBytes { BitPacking.pack(raw, bits: bits, into: $0) }
    }
    let values = raw.map { code -> Int in
      type.isSignedInteger && code >> (bits - 1) == 1 ? Int(code) - (1 << bits) : Int(code)
    }
    return (values, try MemoryTensor(elementType: type, shape: shape, bytes: bytes))
  }

  static func floats(
    _ shape: [Int], half: Bool, _ random: inout Random, scale: Double = 1
  ) throws -> Sample {
    try Sample(
      (0..<shape.reduce(1, *)).map { _ in random.normal() * scale }, shape: shape, half: half)
  }

  /// Compares all bytes, read whole and in ranges.
  static func check(_ tensor: any TensorSource, _ expected: [UInt8], _ random: inout Random) throws
  {
    #expect(try tensor.bytes() == expected)
    let count = tensor.elementCount
    let bits = tensor.elementType.bitWidth
    for _ in 0..<8 where count > 0 {
      var low = random.below(count)
      if bits < 8 { low &= ~7 }
      let high = low + random.below(count - low + 1)
      try tensor.withElements(low..<high) { bytes in
        #expect(bytes.count == ((high - low) * bits + 7) / 8)
        if bits >= 8 {
          #expect(bytes.elementsEqual(expected[low * bits / 8..<high * bits / 8]))
        } else {
          for index in low..<high {
            #expect(
              BitPacking.code(bytes, at: index - low, bits: bits)
                == expected.withUnsafeBytes { BitPacking.code($0, at: index, bits: bits) })
          }
        }
      }
    }
  }

  static func bytes(_ values: [Double], half: Bool) -> [UInt8] {
    half
      ? values.map { HalfFloat.bits($0) }.withUnsafeBytes { Array($0) }
      : values.map { Float($0) }.withUnsafeBytes { Array($0) }
  }

  @Test func affine() throws {
    var random = Random(21)
    for shape in [[5], [3, 7], [4, 3, 5], [70, 90]] {
      for axis in -shape.count..<shape.count {
        for (type, half, floatZero, vector) in [
          (ElementType.int8, true, false, true), (.uint8, false, false, true),
          (.int8, true, true, true), (.uint8, true, false, false), (.int8, false, true, false),
        ] {
          let size = shape[(axis + shape.count) % shape.count]
          let data = try DecoderTests.codes(type, shape, &random)
          let scale = try DecoderTests.floats(vector ? [size] : [], half: half, &random)
          let zeros = try DecoderTests.codes(type, vector ? [size] : [], &random)
          let zeroFloats = try DecoderTests.floats(
            zeros.tensor.shape, half: false, &random, scale: 9)
          let tensor = try AffineTensor(
            data: data.tensor, zeroPoint: floatZero ? zeroFloats.tensor : zeros.tensor,
            scale: scale.tensor, axis: axis)
          var scaleShape = shape.map { _ in 1 }
          scaleShape[(axis + shape.count) % shape.count] = size
          let expected = data.values.indices.map { index -> Double in
            let group = vector ? plainGroup(index, shape: shape, scaleShape: scaleShape) : 0
            let zero = floatZero ? Float(zeroFloats.values[group]) : Float(zeros.values[group])
            return Double((Float(data.values[index]) - zero) * Float(scale.values[group]))
          }
          try DecoderTests.check(tensor, DecoderTests.bytes(expected, half: half), &random)
        }
      }
    }
  }

  @Test func blockwise() throws {
    var random = Random(22)
    for shape in [[6], [4, 6], [3, 4, 2], [2, 4, 2, 3], [64, 80]] {
      for scales in scaleShapes(shape) where shape.count < 4 || random.below(3) == 0 {
        if shape[0] == 64 && random.below(10) > 0 { continue }
        for (type, half, offsetKind) in [
          (ElementType.int4, true, 0), (.uint4, true, 1), (.int8, false, 1), (.uint8, true, 2),
          (.int8, true, 3), (.int4, false, 2), (.uint8, false, 0),
        ] {
          let data = try DecoderTests.codes(type, shape, &random)
          let scale = try DecoderTests.floats(scales, half: half, &random)
          let codes = try DecoderTests.codes(type, scales, &random)
          let halves = try DecoderTests.floats(scales, half: true, &random, scale: 5)
          let singles = try DecoderTests.floats(scales, half: false, &random, scale: 5)
          let offset: (any TensorSource)? = [nil, codes.tensor, halves.tensor, singles.tensor][
            offsetKind]
          let tensor = try BlockwiseTensor(data: data.tensor, scale: scale.tensor, offset: offset)
          let expected = data.values.indices.map { index -> Double in
            let group = plainGroup(index, shape: shape, scaleShape: scales)
            var value = Double(data.values[index])
            switch offsetKind {
            case 1: value -= Double(codes.values[group])
            case 2: value = roundToType(value - halves.values[group], half: half)
            case 3: value = roundToType(value - singles.values[group], half: false)
            default: break
            }
            return Double(Float(value) * Float(scale.values[group]))
          }
          try DecoderTests.check(tensor, DecoderTests.bytes(expected, half: half), &random)
        }
      }
    }
  }

  @Test func blockwiseOfFloats() throws {
    var random = Random(23)
    let shape = [4, 37]
    for (dataHalf, half) in [(true, true), (true, false), (false, true), (false, false)] {
      let data = try DecoderTests.floats(shape, half: dataHalf, &random, scale: 3000)
      let scale = try DecoderTests.floats([4, 1], half: half, &random, scale: 20)
      let tensor = try BlockwiseTensor(data: data.tensor, scale: scale.tensor, offset: nil)
      let expected = data.values.enumerated().map { index, value in
        Double(Float(roundToType(value, half: half)) * Float(scale.values[index / 37]))
      }
      try DecoderTests.check(tensor, DecoderTests.bytes(expected, half: half), &random)
    }
  }

  static let indexTypes: [ElementType] = [.uint1, .uint2, .uint3, .uint4, .uint6, .uint8]

  /// Entry components of a table, straight from the shapes.
  static func lookup(
    _ indices: [Int], _ shape: [Int], lutShape: [Int], axis: Int, at element: Int
  ) -> Int {
    let vector = lutShape[shape.count + 1]
    var dense = shape
    dense[axis] *= vector
    var rest = element
    var position = [Int](repeating: 0, count: shape.count)
    for axis in shape.indices.reversed() {
      position[axis] = rest % dense[axis]
      rest /= dense[axis]
    }
    let component = position[axis] % vector
    position[axis] /= vector
    let index = zip(position, shape).reduce(0) { $0 * $1.1 + $1.0 }
    let group = plainGroup(index, shape: shape, scaleShape: Array(lutShape.prefix(shape.count)))
    return (group * lutShape[shape.count] + indices[index]) * vector + component
  }

  @Test func tables() throws {
    var random = Random(24)
    for shape in [[9], [4, 6], [3, 4, 2], [2, 2, 3, 4], [20, 30]] {
      for groups in scaleShapes(shape) where random.below(shape.count == 1 ? 1 : 8) == 0 {
        for type in DecoderTests.indexTypes {
          for vector in [1, 2, 3] {
            let axis = random.below(shape.count)
            let lutShape = groups + [1 << type.bitWidth, vector]
            let indices = try DecoderTests.codes(type, shape, &random)
            let half = random.below(2) == 0
            let lut = try DecoderTests.floats(lutShape, half: half, &random)
            let tensor = try LookupTensor(
              indices: indices.tensor, lut: lut.tensor,
              vectorAxis: vector > 1 ? axis - (axis % 2 == 0 ? shape.count : 0) : nil)
            let expected = (0..<tensor.elementCount).map {
              lut.values[
                DecoderTests.lookup(indices.values, shape, lutShape: lutShape, axis: axis, at: $0)]
            }
            #expect(tensor.elementCount == indices.values.count * vector)
            try DecoderTests.check(tensor, DecoderTests.bytes(expected, half: half), &random)
          }
        }
      }
    }
  }

  @Test func flatTables() throws {
    var random = Random(25)
    for type in [ElementType.uint1, .uint2, .uint4, .uint6, .uint8] {
      let shape = [5, 13]
      let indices = try DecoderTests.codes(type, shape, &random)
      let packed = try MemoryTensor(
        elementType: .uint8, shape: [indices.tensor.byteCount], bytes: indices.tensor.bytes())
      let lut = try DecoderTests.codes(.int8, [1 << type.bitWidth], &random)
      let tensor = try LookupTensor(packedIndices: packed, lut: lut.tensor, shape: shape)
      #expect(tensor.elementType == .int8 && tensor.shape == shape)
      let expected = indices.values.map { UInt8(truncatingIfNeeded: lut.values[$0]) }
      try DecoderTests.check(tensor, expected, &random)
    }
  }

  @Test func sparse() throws {
    var random = Random(26)
    for count in [0, 1, 7, 8, 9, 64, 65, 4096, 4097, 20000] {
      for type in [ElementType.uint8, .float16, .float32, .int4, .uint3] {
        let density = [0, 10, 50, 100][random.below(4)]
        let set = (0..<count).map { _ in random.below(100) < density }
        let mask = try DecoderTests.mask(set, [count])
        let total = set.filter { $0 }.count
        let bits = type.bitWidth
        let bytes = (0..<(total * bits + 7) / 8).map { _ in UInt8(random.below(256)) }
        let values = try MemoryTensor(elementType: type, shape: [total], bytes: bytes)
        let tensor = try SparseTensor(values: values, mask: mask)
        var expected = [UInt8](repeating: 0, count: (count * bits + 7) / 8)
        var next = 0
        for index in 0..<count where set[index] {
          for bit in 0..<bits {
            let from = next * bits + bit
            let to = index * bits + bit
            if bytes[from / 8] >> UInt8(from % 8) & 1 == 1 {
              expected[to / 8] |= 1 << UInt8(to % 8)
            }
          }
          next += 1
        }
        try DecoderTests.check(tensor, expected, &random)
        let flat = try SparseTensor(
          values: values,
          packedMask: MemoryTensor(
            elementType: .uint8, shape: [mask.byteCount], bytes: mask.bytes()), shape: [count])
        #expect(try flat.bytes() == expected)
        if bits >= 8 {
          let gathered = try GatheredTensor(dense: tensor, mask: mask, count: total)
          try DecoderTests.check(gathered, bytes, &random)
        }
      }
    }
  }

  static func mask(_ set: [Bool], _ shape: [Int]) throws -> MemoryTensor {
    var bytes = [UInt8](repeating: 0, count: (set.count + 7) / 8)
    for index in set.indices where set[index] { bytes[index / 8] |= 1 << UInt8(index % 8) }
    return try MemoryTensor(elementType: .uint1, shape: shape, bytes: bytes)
  }

  @Test func sparseCompositions() throws {
    var random = Random(27)
    let shape = [6, 20]
    for trial in 0..<6 {
      let set = (0..<120).map { _ in random.below(100) < 40 }
      let mask = try DecoderTests.mask(set, shape)
      let total = set.filter { $0 }.count
      let codes = try DecoderTests.codes(.uint3, [total], &random)
      var dense = [Int](repeating: 0, count: 120)
      var next = 0
      for index in 0..<120 where set[index] {
        dense[index] = codes.values[next]
        next += 1
      }
      let vector = trial % 3 + 1
      let axis = trial % 2
      let lutShape = [2, 1, 8, vector]
      let lut = try DecoderTests.floats(lutShape, half: true, &random)
      let pair = try SparsePair.lookup(
        mask: mask, indices: codes.tensor, lut: lut.tensor, vectorAxis: axis)
      let tensor = try pair.dense()
      let expected = (0..<120 * vector).map { element -> Double in
        let entry = DecoderTests.lookup(
          Array(0..<120), shape, lutShape: [1, 1, 120, vector], axis: axis, at: element)
        if !set[entry / vector] { return 0 }
        return lut.values[
          DecoderTests.lookup(dense, shape, lutShape: lutShape, axis: axis, at: element)]
      }
      try DecoderTests.check(tensor, DecoderTests.bytes(expected, half: true), &random)

      let scale = try DecoderTests.floats([6, 1], half: true, &random)
      let data = try DecoderTests.codes(.int4, [total], &random)
      let offset = try DecoderTests.codes(.int4, [6, 1], &random)
      let scaled = try SparsePair.blockwise(
        mask: mask, data: data.tensor, scale: scale.tensor, offset: offset.tensor)
      next = 0
      let values = (0..<120).map { index -> Double in
        if !set[index] { return 0 }
        next += 1
        return Double(data.values[next - 1] - offset.values[index / 20]) * scale.values[index / 20]
      }
      try DecoderTests.check(
        try scaled.dense(), DecoderTests.bytes(values, half: true), &random)
    }
  }

  @Test func casts() throws {
    var random = Random(28)
    let half = try DecoderTests.floats([9000], half: true, &random)
    let wide = try CastTensor(half.tensor, to: .float32)
    try DecoderTests.check(wide, DecoderTests.bytes(half.values, half: false), &random)
    let single = try DecoderTests.floats([9000], half: false, &random, scale: 30000)
    let narrow = try CastTensor(single.tensor, to: .float16)
    try DecoderTests.check(narrow, DecoderTests.bytes(single.values, half: true), &random)
  }

  @Test func codesFromAnywhere() throws {
    var random = Random(29)
    for type in DecoderTests.indexTypes + [.int4, .int8] {
      let codes = try DecoderTests.codes(type, [75], &random)
      for low in 0...75 {
        for high in [low, min(low + 1, 75), min(low + 9, 75), 75] {
          #expect(
            try CodeReader.integers(codes.tensor, low..<high)
              == codes.values[low..<high].map { Int32($0) })
        }
      }
      #expect(try CodeReader.floats(codes.tensor) == codes.values.map { Float($0) })
    }
  }

  @Test func malformed() throws {
    var random = Random(30)
    let data = try DecoderTests.codes(.int8, [4, 6], &random).tensor
    let scale = try DecoderTests.floats([4], half: true, &random).tensor
    let uint4 = try DecoderTests.codes(.uint4, [4, 6], &random).tensor
    let lut = try DecoderTests.floats([1, 1, 16, 1], half: true, &random).tensor
    let vector = try DecoderTests.floats([1, 1, 16, 2], half: true, &random).tensor
    let mask = try DecoderTests.mask([true, false, true], [3])
    #expect(throws: TensorError.self) {
      try AffineTensor(data: uint4, zeroPoint: data, scale: scale, axis: 0)
    }
    #expect(throws: TensorError.self) {
      try AffineTensor(data: data, zeroPoint: scale, scale: scale, axis: 0)
    }
    let zero = try DecoderTests.codes(.int8, [4], &random).tensor
    #expect(throws: TensorError.self) {
      try AffineTensor(data: data, zeroPoint: zero, scale: scale, axis: 1)
    }
    #expect(throws: TensorError.self) {
      try AffineTensor(data: data, zeroPoint: zero, scale: scale, axis: 2)
    }
    #expect(throws: TensorError.self) { try BlockwiseTensor(data: data, scale: scale, offset: nil) }
    #expect(throws: TensorError.self) { try LookupTensor(indices: data, lut: lut) }
    #expect(throws: TensorError.self) { try LookupTensor(indices: uint4, lut: scale) }
    #expect(throws: TensorError.self) { try LookupTensor(indices: uint4, lut: vector) }
    #expect(throws: TensorError.self) {
      try LookupTensor(indices: uint4, lut: vector, vectorAxis: 2)
    }
    #expect(throws: TensorError.self) { try SparseTensor(values: data, mask: mask) }
    #expect(throws: TensorError.self) { try SparseTensor(values: scale, mask: data) }
    let one = try MemoryTensor(elementType: .uint8, shape: [1], bytes: [7])
    #expect(throws: TensorError.self) { try SparseTensor(values: one, mask: mask).bytes() }
    #expect(throws: TensorError.self) { try CastTensor(data, to: .float32) }
    #expect(throws: TensorError.self) {
      try ReinterpretedTensor(one, as: .uint4, shape: [3])
    }
  }
}
