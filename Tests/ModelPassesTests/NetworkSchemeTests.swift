import ModelToolchain
import TestSupport
import Testing

/// A pass that stores every weight of a network in one scheme.
struct NetworkPass: CompressionPass {
  var scheme: NeuralNetworkScheme

  var selection: CandidateSelection { .anySize }
  var neuralNetworks: NeuralNetworkSupport { .scheme(scheme) }

  func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision { .skip("not asked for") }
}

/// Every form of a network's weights, through files.
@Suite struct NetworkSchemeTests {
  private static let schemes: [NeuralNetworkScheme] =
    (1...8).flatMap { bits in
      [AffineScheme.Search.none, .mse].flatMap { search in
        [false, true].map { isPerTensor in
          NeuralNetworkScheme.linear(
            LinearScheme(bits: bits, search: search), isPerTensor: isPerTensor)
        }
      } + [TableCoding.Entries.kmeans, .uniform].map { NeuralNetworkScheme.lookup(bits: bits, $0) }
    } + [
      .linear(LinearScheme(isSymmetric: true)),
      .linear(LinearScheme(isSymmetric: true, search: .mse)), .float16(clamps: false),
    ]

  private func model() throws -> Model {
    try MakeNetwork.model([
      MakeNetwork.product("a", 33, 41, seed: 5),
      MakeNetwork.layer("d", 100) {
        $0.varint(1, 9)
        $0.varint(2, 10)
        $0.varint(60, 1)
        $0.bytes(90, MakeNetwork.singles(RandomNumbers.floats(10 * 9 * 9, seed: 7)))
      },
    ])
  }

  @Test(arguments: schemes)
  func ledgerTellsWhatTheFileDecodes(_ scheme: NeuralNetworkScheme) throws {
    let run = try PassRun(try model(), NetworkPass(scheme: scheme))
    let output = try run.output
    for row in run.ledger.rows {
      let before = try #require(try run.before.networkValues(row.name))
      let after = try #require(try output.networkValues(row.name))
      let weight = try #require(output.networkWeight(row.name))
      #expect(row.afterBytes == weight.storedBytes)
      #expect(row.beforeBytes == before.count * 4)
      #expect(row.parameters == before.count)
      guard row.status == .compressed else {
        #expect(before == after)
        continue
      }
      var sums = ErrorSums()
      for (value, decoded) in zip(before, after) {
        sums.add(Double(value), decoded: Double(decoded))
      }
      let found = try #require(row.sums)
      #expect(found.count == sums.count)
      #expect(found.peak == sums.peak)
      #expect(found.maxAbsError == sums.maxAbsError)
      #expect(abs(found.error - sums.error) <= 1e-9 * sums.error)
      #expect(abs(found.signal - sums.signal) <= 1e-9 * sums.signal)
    }
    #expect(try run.row("a.weights").status == .compressed)
    #expect(try run.row("d.weights").status == .compressed)
    // The catalog of weights says the same.
    let catalog = WeightCatalog(output)
    let entry = try #require(catalog.entry(named: "d.weights"))
    #expect(
      try catalog.source(of: entry).elements(as: Float.self)
        == output.networkValues("d.weights"))
    #expect(entry.fact.shape == [10, 9, 3, 3])
  }

  @Test(arguments: [1, 3, 8])
  func threadsDoNotMatter(_ bits: Int) throws {
    for scheme in [
      NeuralNetworkScheme.linear(LinearScheme(bits: bits, search: .mse)),
      .lookup(bits: bits, .kmeans), .float16(clamps: false),
    ] {
      let one = try PassRun(try model(), NetworkPass(scheme: scheme), threads: 1).files()
      #expect(try PassRun(try model(), NetworkPass(scheme: scheme), threads: 3).files() == one)
    }
  }

  @Test func decompressionReturnsTheDecodedValues() throws {
    for scheme in Self.schemes {
      let run = try PassRun(try model(), NetworkPass(scheme: scheme))
      let packed = try run.output
      let dense = try PassRun(packed, DecompressPass())
      let output = try dense.output
      for row in run.ledger.rows {
        #expect(output.networkWeight(row.name)?.storage == .float32)
        #expect(try output.networkValues(row.name) == packed.networkValues(row.name))
      }
      // Versions never fall.
      #expect(output.specificationVersion == packed.specificationVersion)
    }
  }

  /// A search is never worse than the plain range, and much better where few codes are.
  @Test func searchedScales() throws {
    for bits in 1...8 {
      let plain = try PassRun(
        try model(), NetworkPass(scheme: .linear(LinearScheme(bits: bits))))
      let searched = try PassRun(
        try model(), NetworkPass(scheme: .linear(LinearScheme(bits: bits, search: .mse))))
      for name in ["a.weights", "d.weights"] {
        let (before, after) = (try plain.row(name).sums, try searched.row(name).sums)
        #expect(try #require(after).error <= #require(before).error * (bits < 3 ? 0.7 : 1))
      }
    }
  }

  @Test func fewValuesAreExact() throws {
    let values = (0..<600).map { Float([-1, 0.25, 3][$0 % 3]) }
    let model = try MakeNetwork.model([
      MakeNetwork.product("l", 20, 30, weights: MakeNetwork.singles(values))
    ])
    for (scheme, storage) in [
      (NeuralNetworkScheme.lookup(bits: 2, .kmeans), NeuralNetworkWeight.Storage.lookup(bits: 2)),
      (.lookup(bits: 8, .unique), .lookup(bits: 2)), (.lookup(bits: 5, .kmeans), .lookup(bits: 5)),
    ] {
      let output = try PassRun(model, NetworkPass(scheme: scheme)).output
      #expect(output.networkWeight("l.weights")?.storage == storage)
      #expect(try output.networkValues("l.weights") == values)
    }
    let many = try PassRun(
      try MakeNetwork.model([MakeNetwork.product("l", 20, 30)]),
      NetworkPass(scheme: .lookup(bits: 8, .unique)))
    #expect(try many.row("l.weights").reason == "has more than 256 distinct values")
    #expect(many.after == nil)
  }

  @Test func halvesBeyondTheRange() throws {
    var values = RandomNumbers.floats(600)
    values[7] = 70000
    values[8] = 1e-9
    let model = try MakeNetwork.model([
      MakeNetwork.product("l", 20, 30, weights: MakeNetwork.singles(values))
    ])
    #expect {
      try PassRun(model, Float16Pass())
    } throws: { error in
      (error as? PassError)?.description == "weight \"l.weights\": holds 1 value beyond ±65504"
    }
    let run = try PassRun(model, Float16StoragePass(clamps: true))
    #expect(try run.output.networkValues("l.weights")?[7] == 65504)
    #expect(
      try run.row("l.weights").reason
        == "1 values beyond ±65504 were clamped; 1 values too small for fp16 became zero")
  }

  @Test(arguments: [Float.nan, .infinity, -.infinity])
  func oddValuesAreRefused(_ odd: Float) throws {
    var values = RandomNumbers.floats(600)
    values[599] = odd
    let model = try MakeNetwork.model([
      MakeNetwork.product("l", 20, 30, weights: MakeNetwork.singles(values)),
      MakeNetwork.product("fine", 20, 30),
    ])
    for scheme in [
      NeuralNetworkScheme.linear(LinearScheme()), .lookup(bits: 4, .kmeans),
      .lookup(bits: 4, .uniform), .lookup(bits: 4, .unique),
    ] {
      let run = try PassRun(model, NetworkPass(scheme: scheme))
      let row = try run.row("l.weights")
      #expect(row.status == .skipped)
      #expect(row.reason == (odd.isNaN ? "holds 1 NaN value" : "holds 1 infinite value"))
      if let after = run.after {
        let bits = try #require(try after.networkValues("l.weights")).map(\.bitPattern)
        #expect(bits == values.map(\.bitPattern))
      }
      #expect(throws: PassError.self) {
        try PassRun(model, NetworkPass(scheme: scheme), settings: { $0.isStrict = true })
      }
    }
  }
}
