import ModelToolchain
import TestSupport
import Testing

/// Every encoding of weights decodes to the bits that Core ML's own tools decode.
@Suite(.enabled(if: TestData.conformance != nil, Comment(rawValue: TestData.absence)))
struct DenseWeightTests {
  /// The packages of the zoo by name.
  static let packages: [String] =
    ((try? TestData.models(in: [TestData.conformance("zoo")])) ?? []).map {
      String($0.split(separator: "/").last?.dropLast(".mlpackage".count) ?? "")
    }

  @Test func allPackagesAreThere() {
    #expect(Self.packages.filter { !$0.hasPrefix("base_") }.count == 50)
  }

  @Test(arguments: packages)
  func decodedWeightsAreExact(_ name: String) throws {
    let loaded = try LoadedModel(path: TestData.conformance("zoo/\(name).mlpackage"))
    let expected = try NpzFile(path: TestData.conformance("zoo/\(name).dense.npz")).arrays
    #expect(!expected.isEmpty)
    for (key, array) in expected {
      let tensor = try #require(try Self.tensor(key, of: loaded.model), "\(key)")
      #expect(tensor.shape == array.shape, "\(key)")
      #expect(try tensor.bytes() == array.bytes, "\(key)")
      #expect(try Self.inPieces(tensor) == array.bytes, "\(key), in pieces")
    }
  }

  /// The constant bound to an input, by `function/consumer.parameter`.
  static func tensor(_ key: String, of model: Model) throws -> (any TensorSource)? {
    let parts = key.split(separator: "/", maxSplits: 1)
    guard parts.count == 2, let point = parts[1].lastIndex(of: "."),
      let function = model.program?.functions[String(parts[0])], let block = function.activeBlock
    else { return nil }
    let consumer = parts[1][..<point]
    let parameter = String(parts[1][parts[1].index(after: point)...])
    var bound: String?
    block.forEachOperation { operation, _ in
      let names = operation.outputs.map(\.name) + [operation.name]
      if names.contains(String(consumer)), let name = operation.inputs[parameter]?.name {
        bound = name
      }
    }
    return try bound.flatMap { try ConstantEvaluator(block).tensor(named: $0) }
  }

  /// All bytes, read in pieces that end at odd places.
  private static func inPieces(_ tensor: any TensorSource) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var start = 0
    var step = 1
    while start < tensor.elementCount {
      // Pieces of types narrower than a byte start at multiples of 8.
      let size = tensor.elementType.isSubByte ? step * 8 : step
      let end = min(tensor.elementCount, start + size)
      try tensor.withElements(start..<end) { bytes += $0 }
      start = end
      step = step % 613 + 37
    }
    return bytes
  }
}
