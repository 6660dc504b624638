import ModelTensors
import Synchronization

@testable import ModelCompression

/// A small deterministic generator (splitmix64).
struct Random {
  var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  mutating func uniform() -> Double { Double(next() >> 11) * 0x1p-53 }

  /// Roughly normal, mean 0, deviation 1.
  mutating func normal() -> Double {
    var sum = 0.0
    for _ in 0..<12 { sum += uniform() }
    return sum - 6
  }
}

/// Values of a float tensor, and the tensor.
struct Sample {
  let values: [Double]
  let tensor: MemoryTensor

  init(_ values: [Double], shape: [Int], half: Bool) throws {
    if half {
      let bits = values.map { HalfFloat.bits($0) }
      self.values = bits.map { Double(HalfFloat.float($0)) }
      tensor = try MemoryTensor(elementType: .float16, shape: shape, values: bits)
    } else {
      let floats = values.map { Float($0) }
      self.values = floats.map { Double($0) }
      tensor = try MemoryTensor(elementType: .float32, shape: shape, values: floats)
    }
  }
}

func roundToType(_ value: Double, half: Bool) -> Double {
  half ? Double(HalfFloat.float(HalfFloat.bits(value))) : Double(Float(value))
}

/// The group of an element, straight from the shapes.
func plainGroup(_ element: Int, shape: [Int], scaleShape: [Int]) -> Int {
  var rest = element
  var indices = [Int](repeating: 0, count: shape.count)
  for axis in shape.indices.reversed() {
    indices[axis] = rest % shape[axis]
    rest /= shape[axis]
  }
  var group = 0
  for axis in shape.indices {
    group = group * scaleShape[axis] + indices[axis] / (shape[axis] / scaleShape[axis])
  }
  return group
}

/// All shapes of a rank with sizes from `sizes`.
func shapes(rank: Int, sizes: [Int]) -> [[Int]] {
  rank == 0
    ? [[]] : shapes(rank: rank - 1, sizes: sizes).flatMap { head in sizes.map { head + [$0] } }
}

/// All scale shapes of a shape.
func scaleShapes(_ shape: [Int]) -> [[Int]] {
  shape.reduce([[]]) { heads, size in
    heads.flatMap { head in (1...size).filter { size % $0 == 0 }.map { head + [$0] } }
  }
}

/// Collects streamed bytes.
final class Collector: Sendable {
  let bytes: Mutex<[UInt8]>
  let written: Mutex<Int>

  init(_ count: Int) {
    bytes = Mutex([UInt8](repeating: 0xA5, count: count))
    written = Mutex(0)
  }

  func write(_ offset: Int, _ part: UnsafeRawBufferPointer) {
    bytes.withLock { bytes in
      for index in part.indices { bytes[offset + index] = part[index] }
    }
    written.withLock { $0 += part.count }
  }

  var result: [UInt8] { bytes.withLock { $0 } }
}
