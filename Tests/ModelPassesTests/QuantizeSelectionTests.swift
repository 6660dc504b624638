import ModelToolchain
import TestSupport
import Testing

/// Which constants are taken, and what is said about the others.
@Suite struct QuantizeSelectionTests {
  /// Two linear layers, `first` and `second`, and a table that is added.
  private func layers() throws -> Model {
    var weights = WeightMaker()
    return Make.model(
      7, [Make.tensor("x", [2, 64])],
      [
        Make.const("w1", try weights.random(.float16, [64, 64], seed: 1)),
        Make.operation("linear", ["x": "x", "weight": "w1"], Make.tensor("first", [2, 64])),
        Make.const("w2", try weights.random(.float16, [64, 64], seed: 2)),
        Make.operation("linear", ["x": "first", "weight": "w2"], Make.tensor("second", [2, 64])),
        Make.const("table", try weights.random(.float16, [64, 64], seed: 3)),
        Make.operation("add", ["x": "second", "y": "table"], Make.tensor("y", [64, 64])),
      ], outputs: [Make.tensor("y", [64, 64])])
  }

  private func compressed(
    _ model: Model, _ settings: (inout CompressionSettings) -> Void
  ) throws -> [String] {
    try PassRun(model, settings: settings).ledger.rows.filter { $0.status == .compressed }.map(
      \.name)
  }

  @Test func patterns() throws {
    let cases: [(only: [String], skip: [String], expected: [String])] = [
      ([], [], ["w1", "w2", "table"]), (["w1"], [], ["w1"]), (["w*"], [], ["w1", "w2"]),
      (["w?"], ["w2"], ["w1"]), (["op:linear"], [], ["w1", "w2"]), (["op:a*"], [], ["table"]),
      (["second"], [], ["w2"]), (["*"], ["op:linear"], ["table"]),
      ([], ["first"], ["w2", "table"]),
      (["w1", "table"], [], ["w1", "table"]), (["op:first"], [], []), (["nothing"], [], []),
    ]
    for (only, skip, expected) in cases {
      let found = try compressed(try layers()) { settings in
        settings.only = only.map(WeightPattern.init)
        settings.skip = skip.map(WeightPattern.init)
      }
      #expect(found == expected, "only \(only), skip \(skip)")
    }
  }

  @Test func globs() {
    let cases = [
      ("a*b*c", "aXXbYYc", true), ("a*b*c", "abcb", false), ("*", "", true), ("?", "", false),
      ("**x", "x", true), ("a?c", "abc", true), ("a?c", "ac", false), ("", "a", false),
      ("*a", "aaa", true), ("[a]", "a", false), ("é*", "éa", true),
    ]
    for (pattern, name, expected) in cases {
      #expect(
        WeightPattern(pattern).matches(name: name, consumers: []) == expected,
        "\(pattern) \(name)")
    }
  }

  @Test func theLimitIsStrict() throws {
    let exact = try Sample.linear(shape: [32, 64])
    #expect(try PassRun(exact).row("w").reason?.contains("2048") == true)
    #expect(try PassRun(Sample.linear(shape: [32, 65])).row("w").status == .compressed)
    let lower = try PassRun(exact) { $0.minimumElements = 2047 }
    #expect(try lower.row("w").status == .compressed)
  }

  @Test func vectorsOnlyWhenAsked() throws {
    var weights = WeightMaker()
    let model = Sample.add(7, try weights.random(.float16, [4096]))
    let run = try PassRun(model)
    #expect(run.after == nil)
    #expect(try run.row("w").reason?.contains("rank 1") == true)
    let asked = try PassRun(model, QuantizePass(granularity: .tensor)) { $0.minimumElements = 2048 }
    #expect(try asked.row("w").status == .compressed)
    #expect(try asked.output.constant("w")?.shape == [4096])
  }

  /// Per channel a vector would have a scale per element.
  @Test func whatWouldNotShrinkStays() throws {
    var weights = WeightMaker()
    let run = try PassRun(Sample.add(7, try weights.random(.float16, [4096])), settings: everySize)
    #expect(run.after == nil)
    #expect(try run.row("w").reason?.contains("would not shrink") == true)
  }

  @Test func scalarsAndSmallConstantsAreNotListed() throws {
    var model = try Sample.linear()
    model = model.appending([
      Make.const("s", Value(.float16, [], .bytes([0, 0x3C]))),
      Make.operation("mul", ["x": "y", "y": "s"], Make.tensor("z", [2, 64])),
    ])
    let run = try PassRun(model, settings: everySize)
    #expect(run.ledger.rows.map(\.name) == ["w"])
    #expect(try run.output.operation("s") == run.before.operation("s"))
  }

  @Test func unusedConstantsStay() throws {
    var weights = WeightMaker()
    let model = try Sample.linear().appending([
      Make.const("unused", try weights.random(.float16, [64, 64], seed: 9, file: "a/b.bin"))
    ])
    let run = try PassRun(model)
    #expect(try run.row("unused").reason == "no operation uses it")
    #expect(
      try run.output.constant("unused")?.bytes() == run.before.constant("unused")?.bytes())
  }

  @Test func blockOutputsStay() throws {
    var weights = WeightMaker()
    let model = Make.model(
      7, [], [Make.const("w", try weights.random(.float16, [64, 64]))],
      outputs: [Make.tensor("w", [64, 64])])
    let run = try PassRun(model)
    #expect(run.after == nil)
    #expect(try run.row("w").reason == "is an output of its block")
  }

  @Test(arguments: [Float.infinity, -.infinity, .nan])
  func valuesThatAreNotFinite(_ bad: Float) throws {
    var weights = WeightMaker()
    var values = RandomNumbers.floats(64 * 64)
    values[4000] = bad
    let model = try Sample.linear(shape: [64, 64]).appending([
      Make.const("bad", try weights.value(.float16, [64, 64], values, file: "bad.bin")),
      Make.operation("linear", ["x": "y", "weight": "bad"], Make.tensor("z", [2, 64])),
    ])
    let run = try PassRun(model)
    #expect(try run.row("w").status == .compressed)
    let row = try run.row("bad")
    #expect(row.status == .skipped)
    #expect(row.reason?.contains(bad.isNaN ? "NaN" : "infinite") == true, "\(row.reason ?? "")")
    #expect(try run.output.constant("bad")?.bytes() == run.before.constant("bad")?.bytes())
    #expect(throws: PassError.self) { try PassRun(model) { $0.isStrict = true } }
    do {
      _ = try PassRun(model) { $0.isStrict = true }
    } catch {
      #expect("\(error)".contains("\"bad\""))
    }
  }

  @Test func integerTables() throws {
    var weights = WeightMaker()
    let bytes = (0..<4096).map { UInt8(truncatingIfNeeded: $0) }
    let model = Make.model(
      9, [],
      [
        Make.const("w", try weights.value(.uint8, [64, 64], bytes: bytes)),
        Make.const("i", .int32s([1])), Make.const("a", .int32(0)), Make.const("f", .bool(false)),
        Make.operation(
          "gather", ["x": "w", "indices": "i", "axis": "a", "validate_indices": "f"],
          Make.tensor("y", [1, 64], .uint8)),
      ], outputs: [Make.tensor("y", [1, 64], .uint8)])
    let run = try PassRun(model)
    #expect(run.after == nil)
    #expect(try run.row("w").reason?.contains("uint8") == true)
  }

  @Test func channelsOfZeros() throws {
    var weights = WeightMaker()
    var values = RandomNumbers.floats(64 * 48)
    for index in 0..<96 { values[index] = index % 2 == 0 ? 0 : -0.0 }
    for version in [7, 9] {
      let model = try Sample.linear(
        version, weight: try weights.value(.float16, [64, 48], values))
      let run = try PassRun(model)
      let decoded = try Make.floats(try #require(try run.output.constant("w")))
      let allZero = decoded.prefix(96).allSatisfy { $0 == 0 }
      let allFinite = decoded.allSatisfy { $0.isFinite }
      #expect(allZero && allFinite)
    }
    let zeros = try weights.value(.float16, [64, 48], [Float](repeating: 0, count: 64 * 48))
    for mode in [AffineScheme.Mode.symmetric, .affine] {
      for granularity in [QuantizationGranularity.tensor, .channel, .block(16)] {
        let scheme = AffineScheme(mode: mode)
        let run = try PassRun(
          Sample.linear(9, weight: zeros), QuantizePass(scheme: scheme, granularity: granularity))
        #expect(try run.row("w").sums?.error == 0)
        #expect(try run.row("w").sums?.snr == nil)
      }
    }
  }

  @Test func immediateWeights() throws {
    let values = RandomNumbers.floats(16)
    let bytes = Make.packed(values, .float16)
    let small = Make.model(
      7, [Make.tensor("x", [2, 4])],
      [
        Make.const("w", Value(.float16, [4, 4], .bytes(bytes))),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("y", [2, 4])),
      ], outputs: [Make.tensor("y", [2, 4])])
    let run = try PassRun(small, QuantizePass(granularity: .tensor), settings: everySize)
    let operation = try #require(try run.output.operation("w"))
    // Ten elements or more go to the weight file, fewer stay in the program.
    #expect(operation.attributes["quantized_data"]?.weight != nil)
    #expect(operation.attributes["scale"]?.literal != nil)

    let large = try Sample.linear(
      7, weight: Value(.float32, [64, 48], .floats(RandomNumbers.floats(64 * 48))))
    let other = try PassRun(large)
    #expect(try other.row("w").status == .compressed)
    #expect(try other.output.operation("w")?.attributes["quantized_data"]?.weight != nil)
  }

  @Test func constantsInNestedBlocks() throws {
    var weights = WeightMaker()
    let branch = { (name: String, weight: Value) in
      Block(
        outputs: ["\(name)_y"],
        operations: [
          Make.const("\(name)_w", weight),
          Make.operation(
            "linear", ["x": "x", "weight": "\(name)_w"], Make.tensor("\(name)_y", [2, 64])),
        ])
    }
    let model = Make.model(
      7, [Make.tensor("x", [2, 48]), Make.tensor("p", [1], .float16)],
      [
        Make.const("zero", Value(.float16, [1], .bytes([0, 0]))),
        Make.operation("greater", ["x": "p", "y": "zero"], Make.tensor("g", [1], .bool)),
        Make.const("axes", .int32s([0])),
        Make.operation("squeeze", ["x": "g", "axes": "axes"], Make.tensor("q", [], .bool)),
        Make.operation(
          "cond", ["pred": "q"], Make.tensor("y", [2, 64]),
          blocks: [
            branch("yes", try weights.random(.float16, [64, 48], seed: 1)),
            branch("no", try weights.random(.float16, [64, 48], seed: 2)),
          ]),
      ], outputs: [Make.tensor("y", [2, 64])])
    let run = try PassRun(model)
    #expect(try run.row("yes_w").status == .compressed)
    #expect(try run.row("no_w").status == .compressed)
    let cond = try #require(try run.output.operation("y"))
    for block in cond.blocks {
      #expect(block.operations.map(\.type) == ["constexpr_affine_dequantize", "linear"])
    }
  }

  /// A table that a compressed weight decodes with stays, whoever else uses it.
  @Test func parametersOfCompressedWeightsStay() throws {
    var weights = WeightMaker()
    let table = (0..<16).map { Float($0) }
    let indices = (0..<(64 * 48 / 2)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let lookup = GraphOperation(
      type: "constexpr_lut_to_dense",
      inputs: [
        "indices": .value(try weights.value(.uint4, [64, 48], bytes: indices)),
        "lut": .name("table"),
      ], outputs: [Make.tensor("w", [64, 48])], attributes: ["name": .string("w")])
    let model = Make.model(
      9, [Make.tensor("x", [2, 48])],
      [
        Make.const("table", try weights.value(.float16, [1, 1, 16, 1], table)), lookup,
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("y", [2, 64])),
        Make.operation("relu", ["x": "table"], Make.tensor("z", [1, 1, 16, 1])),
      ], outputs: [Make.tensor("y", [2, 64]), Make.tensor("z", [1, 1, 16, 1])])
    let run = try PassRun(model, QuantizePass(granularity: .tensor), settings: everySize)
    #expect(try run.row("table").reason == "is a parameter of a compressed weight")
    #expect(try run.output.constant("table")?.bytes() == run.before.constant("table")?.bytes())
    #expect(try run.row("w").scheme?.hasPrefix("lut4 with int8") == true)
  }

  /// One blob that two constants read in different shapes: one is compressed, the other stays.
  @Test func oneBlobInTwoShapes() throws {
    var weights = WeightMaker()
    let matrix = try weights.random(.float16, [64, 48])
    guard var weight = matrix.weight else { return }
    weight.source = try MemoryTensor(
      elementType: .float16, shape: [64 * 48], bytes: try weight.source.bytes())
    let model = try Sample.linear(weight: matrix).appending([
      Make.const("flat", .weight(weight)),
      Make.operation("relu", ["x": "flat"], Make.tensor("z", [64 * 48])),
    ])
    let run = try PassRun(model)
    #expect(try run.row("w").status == .compressed)
    #expect(try run.row("flat").status == .skipped)
    #expect(try run.output.constant("flat")?.bytes() == run.before.constant("flat")?.bytes())
  }

  /// A matrix product of fp32 and fp16 takes a constant, not what a constexpr operation decodes.
  @Test func mixedProductsStay() throws {
    var weights = WeightMaker()
    let model = Make.model(
      8, [Make.tensor("x", [2, 64], .float32)],
      [
        Make.const("w", try weights.random(.float16, [64, 64])),
        Make.operation("matmul", ["x": "x", "y": "w"], Make.tensor("y", [2, 64], .float32)),
      ], outputs: [Make.tensor("y", [2, 64], .float32)])
    let run = try PassRun(model)
    #expect(run.after == nil)
    #expect(try run.row("w").reason?.contains("mixes element types") == true)
  }

  @Test func compressedWeightsAreListedAndStay() throws {
    let first = try PassRun(Sample.linear(9))
    let again = try PassRun(try first.output)
    #expect(again.after == nil)
    #expect(try again.row("w").reason?.contains("quantized already") == true)
    #expect(again.ledger.totals.compressed == 0)
  }
}

extension Model {
  /// The model with operations added to `main`; the last one's output is the function's.
  func appending(_ operations: [GraphOperation]) -> Model {
    var copy = self
    guard var program = copy.program, var function = program.functions["main"],
      var block = function.activeBlock
    else { return self }
    block.operations += operations
    if let last = operations.last, last.type != "const", let output = last.outputs.first {
      block.outputs = [output.name]
      copy.description?.outputs = [Make.feature(output)]
    }
    function.activeBlock = block
    program.functions["main"] = function
    copy.program = program
    return copy
  }
}
