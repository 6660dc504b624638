import ModelToolchain
import TestSupport
import Testing

/// Every kind of layer that carries weights.
@Suite struct NetworkLayerTests {
  /// A weight of a layer: its field path, its shape and the axis of its channels.
  private struct Field: Sendable {
    var path: String
    var shape: [Int]
    var axis: Int?
  }

  private struct Kind: Sendable, CustomTestStringConvertible {
    var type: String
    var layer: [UInt8]
    var fields: [Field]
    var testDescription: String { type }
  }

  private static func weights(_ shape: [Int], _ seed: Int) -> [UInt8] {
    MakeNetwork.singles(RandomNumbers.floats(shape.reduce(1, *), seed: UInt64(seed)))
  }

  /// A kind with numbers as (field, value), lists as (field, values), and weights as
  /// (field, path, shape, axis).
  private static func kind(
    _ type: String, _ number: UInt64, _ numbers: [(UInt64, UInt64)],
    lists: [(UInt64, [UInt64])] = [], _ fields: [(UInt64, String, [Int], Int?)]
  ) -> Kind {
    let layer = MakeNetwork.layer("l", number) { writer in
      for (index, field) in fields.enumerated() {
        // Before the sizes, which a reader must not need first.
        writer.bytes(field.0, weights(field.2, index + 1))
      }
      for (field, value) in numbers { writer.varint(field, value) }
      for (field, values) in lists {
        var packed = ProtoWriter()
        for value in values { packed.raw(varint: value) }
        writer.bytes(field, packed.bytes)
      }
    }
    return Kind(
      type: type, layer: layer, fields: fields.map { Field(path: $0.1, shape: $0.2, axis: $0.3) })
  }

  private static let kinds: [Kind] = [
    kind(
      "convolution", 100, [(1, 6), (2, 4), (10, 2)], lists: [(20, [3, 5])],
      [(90, "weights", [6, 4, 3, 5], 0), (91, "bias", [6], nil)]),
    // Without a kernel size it is 3 × 3.
    kind("convolution", 100, [(1, 6), (2, 4)], [(90, "weights", [6, 4, 3, 3], 0)]),
    kind(
      "convolution", 100, [(1, 6), (2, 4), (10, 2), (60, 1)], lists: [(20, [2, 7])],
      [(90, "weights", [4, 3, 2, 7], 1), (91, "bias", [6], nil)]),
    kind(
      "convolution3d", 1471, [(1, 6), (2, 4), (10, 2), (20, 2), (21, 3), (22, 3)],
      [(60, "weights", [6, 2, 2, 3, 3], 0), (61, "bias", [6], nil)]),
    kind(
      "convolution3d", 1471, [(1, 6), (2, 4), (10, 2), (20, 2), (21, 3), (22, 3), (86, 1)],
      [(60, "weights", [4, 3, 2, 3, 3], 1), (61, "bias", [6], nil)]),
    kind(
      "innerProduct", 140, [(1, 12), (2, 8)],
      [(20, "weights", [8, 12], 0), (21, "bias", [8], nil)]),
    kind(
      "embedding", 150, [(1, 20), (2, 8)],
      [(20, "weights", [8, 20], 0), (21, "bias", [8], nil)]),
    kind(
      "embeddingND", 1040, [(1, 20), (2, 8)],
      [(20, "weights", [8, 20], 0), (21, "bias", [8], nil)]),
    kind(
      "batchedMatmul", 1045, [(5, 10), (6, 14)],
      [(8, "weights", [14, 10], 0), (9, "bias", [14], nil)]),
    kind(
      "batchnorm", 160, [(1, 16)],
      [
        (15, "gamma", [16], nil), (16, "beta", [16], nil), (17, "mean", [16], nil),
        (18, "variance", [16], nil),
      ]),
    kind(
      "scale", 245, [], lists: [(1, [16, 2, 3]), (4, [16])],
      [(2, "scale", [16, 2, 3], nil), (5, "bias", [16], nil)]),
    kind("bias", 250, [], lists: [(1, [4, 5])], [(2, "bias", [4, 5], nil)]),
    kind("loadConstant", 290, [], lists: [(1, [2, 5, 6])], [(2, "data", [2, 5, 6], nil)]),
    kind(
      "loadConstantND", 1070, [], lists: [(1, [2, 2, 5, 6])], [(2, "data", [2, 2, 5, 6], nil)]),
    kind("layerNormalization", 1350, [], [(3, "gamma", [30], nil), (4, "beta", [30], nil)]),
    kind(
      "simpleRecurrent", 400, [(1, 7), (2, 9)],
      [
        (30, "weightMatrix", [9, 7], 0), (31, "recursionMatrix", [9, 9], 0),
        (32, "biasVector", [9], nil),
      ]),
    kind(
      "gru", 410, [(1, 7), (2, 9)],
      [
        (30, "updateGateWeightMatrix", [9, 7], 0), (31, "resetGateWeightMatrix", [9, 7], 0),
        (32, "outputGateWeightMatrix", [9, 7], 0), (50, "updateGateRecursionMatrix", [9, 9], 0),
        (51, "resetGateRecursionMatrix", [9, 9], 0), (52, "outputGateRecursionMatrix", [9, 9], 0),
        (70, "updateGateBiasVector", [9], nil), (71, "resetGateBiasVector", [9], nil),
        (72, "outputGateBiasVector", [9], nil),
      ]),
    lstm("uniDirectionalLSTM", 420, directions: 1), lstm("biDirectionalLSTM", 430, directions: 2),
    Kind(
      type: "activation",
      layer: MakeNetwork.layer("l", 130) { layer in
        layer.message(25) { $0.bytes(1, weights([16], 3)) }
      }, fields: [Field(path: "PReLU.alpha", shape: [16])]),
  ]

  private static func lstm(_ type: String, _ number: UInt64, directions: Int) -> Kind {
    let matrices = ["inputGate", "forgetGate", "blockInput", "outputGate"]
    var parts: [(UInt64, String, [Int], Int?)] = []
    for (index, gate) in matrices.enumerated() {
      parts.append((UInt64(1 + index), "\(gate)WeightMatrix", [9, 7], 0))
      parts.append((UInt64(20 + index), "\(gate)RecursionMatrix", [9, 9], 0))
      parts.append((UInt64(40 + index), "\(gate)BiasVector", [9], nil))
    }
    parts.append((60, "inputGatePeepholeVector", [9], nil))
    let layer = MakeNetwork.layer("l", number) { layer in
      for direction in 0..<directions {
        layer.message(20) { writer in
          for (index, part) in parts.enumerated() {
            writer.bytes(part.0, weights(part.2, 1 + index + direction * 50))
          }
        }
      }
      layer.varint(1, 7)
      layer.varint(2, 9)
    }
    let fields = (0..<directions).flatMap { direction in
      parts.map { part in
        let path = directions == 1 ? "weightParams" : "weightParams[\(direction)]"
        return Field(path: "\(path).\(part.1)", shape: part.2, axis: part.3)
      }
    }
    return Kind(type: type, layer: layer, fields: fields)
  }

  @Test(arguments: kinds) private func shapesAndAxes(_ kind: Kind) throws {
    let model = try MakeNetwork.model([kind.layer])
    let layer = try #require(model.network?.layers.first)
    #expect(layer.type == kind.type)
    #expect(Set(layer.weights.map(\.path)) == Set(kind.fields.map(\.path)))
    for field in kind.fields {
      let weight = try #require(layer.weights.first { $0.path == field.path })
      #expect(weight.shape == field.shape, "\(field.path)")
      #expect(weight.channelAxis == field.axis, "\(field.path)")
    }
  }

  /// Each weight comes back as its own scales, or one scale, decode it.
  @Test(arguments: kinds) private func linearCodesDecode(_ kind: Kind) throws {
    let run = try PassRun(
      try MakeNetwork.model([kind.layer]), QuantizePass(networkBits: 6),
      settings: { $0.minimumElements = 0 })
    let output = try run.output
    #expect(output.specificationVersion == 3)
    for field in kind.fields {
      let row = try run.row("l.\(field.path)")
      #expect(row.shape == field.shape)
      let before = try #require(try run.before.networkValues(row.name))
      let after = try #require(try output.networkValues(row.name))
      guard row.status == .compressed else {
        #expect(before == after)
        #expect(row.reason?.hasPrefix("would not shrink") == true, "\(row.reason ?? "")")
        continue
      }
      #expect(output.networkWeight(row.name)?.storage == .linear(bits: 6))
      // Values between −1 and 1 in 63 steps at most.
      for (value, decoded) in zip(before, after) { #expect(abs(value - decoded) <= 1.01 / 63) }
      let scope = field.axis.map { "per channel (axis \($0))" } ?? "per tensor"
      #expect(row.scheme == "linear6 affine \(scope)")
    }
  }

  @Test(arguments: kinds) private func halvesOfEverything(_ kind: Kind) throws {
    let run = try PassRun(try MakeNetwork.model([kind.layer]), Float16Pass())
    let output = try run.output
    #expect(output.specificationVersion == 2)
    for field in kind.fields {
      let name = "l.\(field.path)"
      #expect(output.networkWeight(name)?.storage == .float16)
      let before = try #require(try run.before.networkValues(name))
      #expect(
        try output.networkValues(name) == before.map { HalfFloat.float(HalfFloat.bits($0)) })
      #expect(try run.row(name).afterBytes == before.count * 2)
    }
  }

  /// Layers whose sizes contradict their weights have flat ones.
  @Test func contradictingSizes() throws {
    let layer = MakeNetwork.product("l", 5, 7, weights: Self.weights([48], 1))
    let huge = MakeNetwork.layer("h", 290) {
      for _ in 0..<4 { $0.varint(1, 1 << 60) }
      $0.bytes(2, Self.weights([48], 1))
    }
    let negative = MakeNetwork.layer("n", 1471) {
      $0.varint(1, UInt64(bitPattern: -3))
      $0.bytes(60, Self.weights([48], 1))
    }
    let model = try MakeNetwork.model([layer, huge, negative])
    for name in ["l.weights", "h.data", "n.weights"] {
      let weight = try #require(model.networkWeight(name))
      #expect(weight.shape == [48])
      #expect(weight.channelAxis == nil)
    }
    let run = try PassRun(model, QuantizePass(), settings: everySize)
    #expect(run.ledger.totals.compressed == 3)
    #expect(try run.row("l.weights").scheme == "linear8 symmetric per tensor")
  }
}
