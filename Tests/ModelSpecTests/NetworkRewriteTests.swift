import ModelGraph
import ModelTensors
import TestSupport
import Testing

@testable import ModelSpec

/// New weights inside a network's message.
@Suite struct NetworkRewriteTests {
  /// A product, a branch with a product on either side, and a loop in a branch in a loop around
  /// one; `weights` yields the message of each product's weights.
  private func payload(_ weights: (String) -> [UInt8]) -> [UInt8] {
    func product(_ name: String) -> [UInt8] {
      MakeNetwork.product(name, 2, 3, weights: weights(name))
    }
    func branch(_ name: String, _ yes: [[UInt8]], _ no: [[UInt8]]) -> [UInt8] {
      MakeNetwork.layer(name, 605) {
        // The second branch stands before the first.
        $0.bytes(2, MakeNetwork.network(no))
        $0.bytes(1, MakeNetwork.network(yes))
      }
    }
    func loop(_ name: String, _ body: [[UInt8]]) -> [UInt8] {
      MakeNetwork.layer(name, 615) {
        $0.varint(1, 7)
        $0.bytes(4, MakeNetwork.network(body))
        $0.text(2, "condition")
      }
    }
    var writer = ProtoWriter()
    writer.bytes(1, product("first"))
    writer.varint(5, 1)
    writer.bytes(1, branch("choice", [product("yes")], [product("no"), product("no2")]))
    writer.bytes(
      1, loop("outer", [branch("inner", [loop("deep", [product("deepest")])], [])]))
    // Fields that the schema does not know.
    writer.text(900, "unknown")
    writer.fixed64(901, 12345)
    return writer.bytes
  }

  private static let names = ["first", "yes", "no", "no2", "deepest"]

  private func network(_ payload: [UInt8]) throws -> NeuralNetwork {
    try NeuralNetwork(typeName: "neuralNetwork", payload: payload)
  }

  private func weight(_ network: NeuralNetwork, _ name: String) throws -> NeuralNetworkWeight {
    let layer = try #require(network.layers.first { $0.name == name })
    return try #require(layer.weights.first)
  }

  private let values: [Float] = [1, 2, 3, 4, 5, 6]
  /// A message of 900 bytes, whose length takes two bytes more than that of the others.
  private let long = [UInt8](repeating: 0x3C, count: 900)

  @Test func everySubsetOfNestedWeights() throws {
    let old = try network(payload { _ in MakeNetwork.singles(values) })
    #expect(old.layers.first { $0.name == "deepest" }?.enclosing == ["outer", "inner", "deep"])
    for subset in 0..<(1 << Self.names.count) {
      let chosen = Self.names.enumerated().filter { subset >> $0.offset & 1 == 1 }.map(\.element)
      let expected = payload { name in
        chosen.contains(name) ? ProtoWriter.message(2, long) : MakeNetwork.singles(values)
      }
      // In any order.
      let replacements = try chosen.reversed().map {
        WeightReplacement(try weight(old, $0), .halves(long))
      }
      let new = try old.replacing(replacements)
      #expect(new.payload == expected)
      #expect(new.layers.map(\.name) == old.layers.map(\.name))
      // And back.
      let singles = Make.packed(values, .float32)
      let back = try new.replacing(
        chosen.map { WeightReplacement(try weight(new, $0), .singles(singles)) })
      #expect(back.payload == old.payload)
    }
  }

  @Test func otherFieldsOfAWeightStay() throws {
    let old = try network(
      payload { _ in
        var writer = ProtoWriter()
        writer.bytes(1, Make.packed(values, .float32))
        writer.varint(3, 9)
        writer.text(77, "later")
        return writer.bytes
      })
    let codes = WeightReplacement.Content.codes([1, 2, 3, 4, 5, 6], bits: 8, .table([0.5]))
    let new = try old.replacing([WeightReplacement(try weight(old, "no"), codes)])
    let weight = try weight(new, "no")
    var expected = ProtoWriter()
    expected.varint(3, 9)
    expected.bytes(30, [1, 2, 3, 4, 5, 6])
    expected.message(40) {
      $0.varint(1, 8)
      $0.message(102) { $0.bytes(1, Make.packed([0.5], .float32)) }
    }
    expected.text(77, "later")
    #expect(Array(new.payload[weight.range]) == expected.bytes)
  }

  @Test func linearCodesHaveScalesAndBiases() throws {
    let old = try network(payload { _ in MakeNetwork.singles(values) })
    let content = WeightReplacement.Content.codes(
      [1, 2, 3, 4, 5, 6], bits: 8, .linear(scales: [1, 2], biases: [-1, 10]))
    let replacement = WeightReplacement(try weight(old, "yes"), content)
    #expect(replacement.storedBytes == 6 + 16)
    let new = try old.replacing([replacement])
    let found = try weight(new, "yes")
    #expect(
      Array(new.payload[found.range])
        == MakeNetwork.linear([1, 2, 3, 4, 5, 6], scales: [1, 2], biases: [-1, 10]))
    #expect(found.storage == .linear(bits: 8))
    #expect(found.shape == [2, 3])
    #expect(try new.values(of: found) == [0, 1, 2, 18, 20, 22])
    #expect(try new.values(of: try weight(new, "no")) == values)
  }

  @Test func weightsOfOtherNetworksAreRefused() throws {
    let old = try network(payload { _ in MakeNetwork.singles(values) })
    var stranger = try weight(old, "deepest")
    stranger.range = stranger.range.lowerBound + 1..<stranger.range.upperBound
    #expect(throws: SpecError.self) {
      try old.replacing([WeightReplacement(stranger, .halves([]))])
    }
    stranger.range = old.payload.count..<old.payload.count + 4
    #expect(throws: SpecError.self) {
      try old.replacing([WeightReplacement(stranger, .halves([]))])
    }
    let twice = WeightReplacement(try weight(old, "first"), .halves(long))
    #expect(throws: SpecError.self) { try old.replacing([twice, twice]) }
  }

  @Test func cutOffNetworksAreRefused() throws {
    let whole = payload { _ in MakeNetwork.singles(values) }
    for length in stride(from: 1, to: whole.count, by: 7) {
      let cut = Array(whole.prefix(length))
      // Some cuts fall between fields.
      guard let network = try? network(cut) else { continue }
      for layer in network.layers {
        for weight in layer.weights {
          #expect(try network.values(of: weight).count == weight.count)
        }
      }
    }
    #expect(throws: SpecError.self) { try network(Array(whole.dropLast())) }
    #expect(throws: SpecError.self) { try NeuralNetwork(typeName: "none", payload: []) }
  }
}
