import ModelToolchain
import TestSupport
import Testing

/// Which weights of networks are compressed, in which models.
@Suite struct NetworkSelectionTests {
  private func singles(_ count: Int, seed: UInt64 = 1, updatable: Bool = false) -> [UInt8] {
    MakeNetwork.singles(RandomNumbers.floats(count, seed: seed), updatable: updatable)
  }

  private func expectSame(_ run: PassRun, _ name: String) throws {
    let before = try #require(run.before.network)
    let after = try #require(try run.output.network)
    let old = try #require(run.before.networkWeight(name))
    let new = try #require(try run.output.networkWeight(name))
    #expect(Array(before.payload[old.range]) == Array(after.payload[new.range]))
  }

  @Test func limitsHoldBelow16Bits() throws {
    let model = try MakeNetwork.model([
      MakeNetwork.product("large", 64, 48), MakeNetwork.product("small", 8, 12),
      MakeNetwork.layer("addend", 250) {
        $0.bytes(1, [4, 0x80, 0x20, 1])  // 4 × 4096 × 1
        $0.bytes(2, singles(4 * 4096))
      },
      MakeNetwork.layer("channels", 245) {
        $0.bytes(1, [0x80, 0x20, 1, 1])  // 4096 × 1 × 1
        $0.bytes(2, singles(4096))
      },
    ])
    let run = try PassRun(model, QuantizePass())
    #expect(try run.row("large.weights").status == .compressed)
    #expect(try run.row("large.bias").reason == "64 elements, not more than 2048")
    #expect(try run.row("small.weights").reason == "96 elements, not more than 2048")
    // Fewer than ten values are no weight.
    #expect(!run.ledger.rows.contains { $0.name == "small.bias" })
    #expect(try run.row("addend.bias").status == .compressed)
    #expect(
      try run.row("channels.scale").reason == "rank 1; --min-elements takes such weights too")
    try expectSame(run, "large.bias")
    try expectSame(run, "small.bias")

    let all = try PassRun(model, QuantizePass(), settings: everySize)
    #expect(try all.row("large.bias").status == .compressed)
    #expect(try all.row("channels.scale").scheme == "linear8 symmetric per tensor")
    #expect(all.ledger.totals.skipped == 0)
  }

  @Test func weightsOfUpdatableLayersStay() throws {
    var model = try MakeNetwork.model(
      [
        MakeNetwork.product("trained", 64, 48, weights: singles(64 * 48), updatable: true),
        MakeNetwork.product("marked", 64, 48, weights: singles(64 * 48, updatable: true)),
        MakeNetwork.product("fixed", 64, 48),
      ], version: 4)
    model.isUpdatable = true
    for pass in [QuantizePass(), Float16Pass()] as [any CompressionPass] {
      let run = try PassRun(model, pass)
      for name in ["trained.weights", "marked.weights"] {
        #expect(try run.row(name).reason == "its layer is updatable")
        try expectSame(run, name)
      }
      #expect(try run.row("fixed.weights").status == .compressed)
      #expect(try run.output.isUpdatable)
      #expect(run.ledger.version.after == 4)
    }
  }

  @Test func formsThatStay() throws {
    var signed = ProtoWriter()
    signed.bytes(31, [UInt8](repeating: 3, count: 64 * 48))
    var both = ProtoWriter()
    both.bytes(1, Make.packed(RandomNumbers.floats(64 * 48), .float32))
    both.bytes(2, [UInt8](repeating: 0, count: 2 * 64 * 48))
    let model = try MakeNetwork.model([
      MakeNetwork.product("dynamic", 64, 48, weights: signed.bytes),
      MakeNetwork.product("both", 64, 48, weights: both.bytes),
      MakeNetwork.layer("own", 500) {
        $0.text(10, "OwnLayer")
        $0.bytes(20, singles(5000))
      }, MakeNetwork.product("plain", 64, 48),
    ])
    for pass in [QuantizePass(), Float16Pass(), DecompressPass()] as [any CompressionPass] {
      let run = try PassRun(model, pass)
      #expect(try run.row("dynamic.weights").reason == "is int8 for dynamic quantization")
      #expect(try run.row("both.weights").reason == "gives its values in several forms")
      #expect(try run.row("own.weights[0]").reason == "is read by the code of a custom layer")
      if run.after == nil { continue }
      for name in ["dynamic.weights", "both.weights", "own.weights[0]"] {
        try expectSame(run, name)
      }
    }
  }

  @Test func patterns() throws {
    let model = try MakeNetwork.model([
      MakeNetwork.product("one", 64, 48), MakeNetwork.product("two", 64, 48),
      MakeNetwork.layer("emb", 150) {
        $0.varint(1, 48)
        $0.varint(2, 64)
        $0.bytes(20, singles(64 * 48))
      },
    ])
    func compressed(_ change: (inout CompressionSettings) -> Void) throws -> [String] {
      try PassRun(model, QuantizePass(), settings: change).ledger.rows
        .filter { $0.status == .compressed }.map(\.name)
    }
    #expect(try compressed { $0.only = [WeightPattern("t*")] } == ["two.weights"])
    #expect(try compressed { $0.only = [WeightPattern("one.weights")] } == ["one.weights"])
    #expect(try compressed { $0.skip = [WeightPattern("op:innerProduct")] } == ["emb.weights"])
    #expect(
      try compressed {
        $0.only = [WeightPattern("*.weights")]
        $0.skip = [WeightPattern("one")]
      } == ["two.weights", "emb.weights"])
    #expect(try compressed { $0.function = "main" }.count == 3)
    #expect(throws: PassError.self) { try compressed { $0.function = "other" } }
  }

  @Test func whatIsCompressedStays() throws {
    let codes = MakeNetwork.linear(
      (0..<64 * 48).map { UInt8(truncatingIfNeeded: $0) }, scales: [0.5], biases: [-64])
    let half = [UInt8](repeating: 0x3C, count: 2 * 64 * 48)
    let model = try MakeNetwork.model(
      [
        MakeNetwork.product("linear", 64, 48, weights: codes),
        MakeNetwork.product("half", 64, 48, weights: ProtoWriter.message(2, half)),
      ], version: 3)
    let run = try PassRun(model, QuantizePass(scheme: AffineScheme(bits: 4)))
    #expect(try run.row("linear.weights").reason == "is quantized already (linear8)")
    try expectSame(run, "linear.weights")
    #expect(try run.row("half.weights").beforeBytes == half.count)
    #expect(try run.output.networkWeight("half.weights")?.storage == .linear(bits: 4))
    let halves = try PassRun(model, Float16Pass())
    #expect(try halves.row("half.weights").reason == "is fp16 already")
    #expect(halves.after == nil)
    let dense = try PassRun(model, DecompressPass())
    #expect(try dense.row("linear.weights").scheme == "fp32 (was linear8)")
    #expect(
      try dense.output.networkValues("linear.weights")
        == (0..<64 * 48).map { 0.5 * Float($0 % 256) - 64 })
  }

  @Test func versionsRiseAsNeeded() throws {
    let layers = [MakeNetwork.product("l", 64, 48)]
    for (version, pass, expected) in [
      (1, Float16Pass() as any CompressionPass, 2), (1, QuantizePass(), 3), (2, QuantizePass(), 3),
      (4, QuantizePass(), 4), (5, Float16StoragePass(), 5),
    ] {
      let run = try PassRun(try MakeNetwork.model(layers, version: version), pass)
      #expect(try run.output.specificationVersion == expected)
      #expect(run.ledger.version.before == version)
      #expect(run.ledger.version.after == expected)
      #expect((run.ledger.version.reason != nil) == (expected > version))
    }
    let target = try PassRun(
      try MakeNetwork.model(layers), QuantizePass(), settings: { $0.targetVersion = 6 })
    #expect(try target.output.specificationVersion == 6)
    #expect(target.ledger.version.reason == "--target-os")
    #expect(throws: PassError.self) {
      try PassRun(
        try MakeNetwork.model(layers, version: 7), QuantizePass(),
        settings: { $0.targetVersion = 6 })
    }
  }

  @Test(arguments: ["neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor"])
  func everyKindOfNetwork(_ typeName: String) throws {
    let model = try MakeNetwork.model([MakeNetwork.product("l", 64, 48)], typeName: typeName)
    let run = try PassRun(model, QuantizePass())
    #expect(try run.output.kind.typeName == typeName)
    #expect(try run.row("l.weights").status == .compressed)
  }

  @Test func malformedWeightsAreToldByName() throws {
    // Seven scales for 64 channels.
    let codes = MakeNetwork.linear(
      [UInt8](repeating: 1, count: 64 * 48), scales: [Float](repeating: 1, count: 7), biases: [0])
    let model = try MakeNetwork.model(
      [MakeNetwork.product("l", 64, 48, weights: codes)], version: 3)
    #expect {
      try PassRun(model, DecompressPass())
    } throws: { error in
      "\(error)" == "weight \"l.weights\": 7 scales for 64 channels"
    }
  }

  @Test func unsupportedPassesAreTold() throws {
    let model = try MakeNetwork.model([MakeNetwork.product("l", 64, 48)])
    #expect {
      try PassRun(model, QuantizePass(granularity: .block(32)))
    } throws: { error in
      "\(error)" == "a neuralNetwork: neural networks have no scales per block"
    }
    #expect {
      try PassRun(try Sample.linear(), QuantizePass(networkBits: 5))
    } throws: { error in
      (error as? PassError)?.isUsage == true
    }
  }
}
