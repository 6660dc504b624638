import ModelToolchain
import TestSupport
import Testing

/// Weights that nobody expects, palettized and pruned: exact, or skipped with a reason and every bit
/// as it was.
@Suite struct OddWeightTests {
  static let palettes: [PalettizePass] = [
    PalettizePass(), PalettizePass(granularity: .channelGroup(16)),
    PalettizePass(settings: PaletteSettings(bits: 6, mode: .uniform)),
    PalettizePass(hasChannelScale: true),
    PalettizePass(settings: PaletteSettings(tableQuantization: .symmetric)),
    PalettizePass(settings: PaletteSettings(bits: 2, clusterDimension: 2)),
  ]
  static let prunings: [PrunePass.Rule] = [
    .sparsity(0.75), .threshold(0.5, minimumSparsity: 0), .ratio(zeros: 2, of: 4, dim: 1),
    .blocks(sparsity: 0.75, size: 4, dim: 0),
  ]
  static var passes: [any CompressionPass] { palettes + prunings.map { PrunePass(rule: $0) } }

  private func decoded(_ run: PassRun, _ name: String = "w") throws -> [Float] {
    try Make.floats(try #require(try run.output.constant(name)))
  }

  private func original(_ run: PassRun, _ name: String = "w") throws -> [Float] {
    try Make.floats(try #require(try run.before.constant(name)))
  }

  private func sameBytes(_ run: PassRun, _ name: String) throws -> Bool {
    try run.output.constant(name)?.bytes() == run.before.constant(name)?.bytes()
  }

  @Test(arguments: [ElementType.float16, .float32])
  func valuesThatAreNotFinite(_ type: ElementType) throws {
    for bad in [Float.nan, .infinity, -.infinity] {
      var weights = WeightMaker()
      var values = RandomNumbers.floats(64 * 64)
      values[100] = bad
      let model = try Sample.linear(9, shape: [64, 64], type: type).appending([
        Make.const("bad", try weights.value(type, [64, 64], values, file: "bad.bin")),
        Make.operation("linear", ["x": "y", "weight": "bad"], Make.tensor("z", [2, 64], type)),
      ])
      for pass in Self.passes {
        let run = try PassRun(model, pass)
        #expect(try run.row("w").status == .compressed, "\(run.rows)")
        let reason = try #require(try run.row("bad").reason)
        #expect(try run.row("bad").status == .skipped)
        #expect(reason.contains(bad.isNaN ? "NaN" : "infinite"), "\(reason)")
        #expect(try sameBytes(run, "bad"))
        let error = #expect(throws: PassError.self) {
          try PassRun(model, pass) { $0.isStrict = true }
        }
        #expect(error.map { "\($0)".contains("\"bad\"") } == true)
      }
    }
  }

  /// Masks that are added to scores: zeros and −∞.
  @Test func masks() throws {
    var weights = WeightMaker()
    let values = (0..<4096).map { (index: Int) -> Float in
      index % 64 > index / 64 ? -.infinity : 0
    }
    let model = try Sample.linear(9, shape: [64, 64]).appending([
      Make.const("mask", try weights.value(.float16, [64, 64], values, file: "mask.bin")),
      Make.operation("add", ["x": "y", "y": "mask"], Make.tensor("z", [64, 64])),
    ])
    for pass in Self.passes {
      let run = try PassRun(model, pass)
      #expect(try run.row("mask").reason?.contains("infinite") == true)
      #expect(try sameBytes(run, "mask"))
    }
  }

  @Test(arguments: [ElementType.float16, .float32])
  func channelsOfZeros(_ type: ElementType) throws {
    var weights = WeightMaker()
    var values = RandomNumbers.floats(64 * 64)
    for index in 0..<128 { values[index] = index % 2 == 0 ? 0 : -0.0 }
    let model = try Sample.linear(
      9, shape: [64, 64], type: type, weight: try weights.value(type, [64, 64], values))
    for pass in [
      PalettizePass(hasChannelScale: true), PalettizePass(granularity: .channelGroup(1)),
    ] {
      let result = try decoded(try PassRun(model, pass))
      #expect(result.prefix(128).allSatisfy { $0 == 0 })
      #expect(result.allSatisfy { $0.isFinite })
    }
    for rule in Self.prunings {
      let run = try PassRun(model, PrunePass(rule: rule))
      let result = try decoded(run)
      #expect(result.prefix(128).allSatisfy { $0 == 0 })
      for (new, old) in zip(result, try original(run)) { #expect(new == 0 || new == old) }
    }
  }

  /// Constant tensors and those with fewer values than a table has entries lose nothing.
  @Test(arguments: [1, 2, 5, 16], [ElementType.float16, .float32])
  func fewValues(_ distinct: Int, _ type: ElementType) throws {
    var weights = WeightMaker()
    let values = (0..<4096).map { (index: Int) -> Float in
      Float((index * 7919) % distinct) * 0.37 - 1.1
    }
    let weight = try weights.value(type, [64, 64], values)
    let model = try Sample.linear(9, shape: [64, 64], type: type, weight: weight)
    for granularity in [PalettizationGranularity.tensor, .channelGroup(16)] {
      for settings in [PaletteSettings(), PaletteSettings(mode: .unique)] {
        let run = try PassRun(model, PalettizePass(settings: settings, granularity: granularity))
        #expect(try run.row("w").sums?.error == 0)
        #expect(try run.row("w").sums?.snr == nil)
        #expect(try decoded(run) == original(run))
      }
    }
    let scaled = try PassRun(model, PalettizePass(hasChannelScale: true))
    #expect(try decoded(scaled) == original(scaled))
  }

  /// More distinct values than indices can say.
  @Test func tooManyValues() throws {
    let model = try Sample.linear(9, shape: [64, 64])
    let run = try PassRun(model, PalettizePass(settings: PaletteSettings(mode: .unique)))
    #expect(run.after == nil)
    #expect(try run.row("w").status == .skipped)
  }

  @Test func denormals() throws {
    var weights = WeightMaker()
    let bits = (0..<4096).map { (index: Int) -> UInt16 in
      UInt16(1 + index % 16) | (index % 3 == 0 ? 0x8000 : 0)
    }
    let bytes = bits.withUnsafeBytes { Array($0) }
    let weight = try weights.value(.float16, [64, 64], bytes: bytes)
    let model = try Sample.linear(9, shape: [64, 64], weight: weight)
    let exact = try PassRun(model, PalettizePass(settings: PaletteSettings(bits: 6)))
    #expect(try sameBytesDecoded(exact))
    let coarse = try PassRun(model, PalettizePass())
    #expect(try #require(try coarse.row("w").sums?.snr) > 20)
    let pruned = try PassRun(model, PrunePass(rule: .sparsity(0.5)))
    #expect(try decoded(pruned).count { $0 == 0 } == 2048)

    let singles = (0..<4096).map { Float(bitPattern: UInt32(1 + $0 % 16)) }
    let small = try weights.value(.float32, [64, 64], singles)
    let single = try PassRun(
      Sample.linear(9, shape: [64, 64], type: .float32, weight: small), PalettizePass())
    #expect(try decoded(single) == singles)
  }

  private func sameBytesDecoded(_ run: PassRun) throws -> Bool { try sameBytes(run, "w") }

  /// The largest magnitudes of fp16: tables, scales and sums stay finite.
  @Test func largestValues() throws {
    var weights = WeightMaker()
    var values = RandomNumbers.floats(64 * 64).map { $0 * 60000 }
    for index in stride(from: 0, to: 4096, by: 5) {
      values[index] = index % 2 == 0 ? 65504 : -65504
    }
    let model = try Sample.linear(
      9, shape: [64, 64], weight: try weights.value(.float16, [64, 64], values))
    for pass in Self.passes {
      let run = try PassRun(model, pass)
      if case .threshold = (pass as? PrunePass)?.rule {
        let reason = try run.row("w").reason
        #expect(reason == "would stay as it is: no value is to become zero")
        continue
      }
      #expect(try decoded(run).allSatisfy { $0.isFinite }, "\(pass)")
      #expect(try run.row("w").sums?.error.isFinite == true)
    }
    let full = Float.greatestFiniteMagnitude
    let large = (0..<4096).map { (index: Int) -> Float in
      index % 3 == 0 ? -full : full / Float(1 + index % 40)
    }
    let single = try PassRun(
      Sample.linear(
        9, shape: [64, 64], type: .float32,
        weight: try weights.value(.float32, [64, 64], large)), PalettizePass())
    if single.after != nil { #expect(try decoded(single).allSatisfy { $0.isFinite }) }
  }

  /// Palettize takes tables of 8-bit integers; the others leave them with a reason.
  @Test(arguments: [ElementType.int8, .uint8])
  func integerTables(_ type: ElementType) throws {
    var weights = WeightMaker()
    let bytes = (0..<4096).map { UInt8(truncatingIfNeeded: ($0 * 37) % 11 + 100) }
    let model = Make.model(
      9, [],
      [
        Make.const("w", try weights.value(type, [64, 64], bytes: bytes)),
        Make.const("i", .int32s([1])), Make.const("a", .int32(0)), Make.const("f", .bool(false)),
        Make.operation(
          "gather", ["x": "w", "indices": "i", "axis": "a", "validate_indices": "f"],
          Make.tensor("g", [1, 64], type)), Make.const("half", .string("fp16")),
        Make.operation("cast", ["x": "g", "dtype": "half"], Make.tensor("y", [1, 64])),
      ], outputs: [Make.tensor("y", [1, 64])])
    let run = try PassRun(model, PalettizePass())
    #expect(try run.row("w").status == .compressed)
    #expect(try run.output.constant("w")?.bytes() == bytes)
    #expect(try run.output.constant("w")?.elementType == type)
    for pass in [PrunePass(rule: .sparsity(0.5)) as any CompressionPass, QuantizePass()] {
      let other = try PassRun(model, pass)
      #expect(other.after == nil)
      #expect(try other.row("w").reason?.contains(type.rawValue) == true, "\(other.rows)")
    }
  }

  /// Ranks 1 to 6, and axes of one element.
  @Test(
    arguments: [
      [4096], [64, 64], [4, 16, 64], [4, 4, 16, 16], [2, 4, 8, 8, 8], [2, 2, 4, 4, 8, 8],
      [1, 4096], [4096, 1], [1, 1, 4096, 1], [1, 64, 64],
    ])
  func ranks(_ shape: [Int]) throws {
    var weights = WeightMaker()
    let model = Sample.add(9, try weights.random(.float16, shape))
    for pass in Self.passes {
      let run = try PassRun(model, pass, settings: everySize)
      let row = try run.row("w")
      if run.after == nil {
        #expect(row.reason?.isEmpty == false)
        continue
      }
      let result = try #require(try run.output.constant("w"))
      #expect(result.shape == shape)
      #expect(row.afterBytes <= row.beforeBytes)
      var sums = ErrorSums()
      for (old, new) in zip(try original(run), try decoded(run)) {
        sums.add(Double(old), decoded: Double(new))
      }
      #expect(abs(sums.error - (row.sums?.error ?? -1)) <= 1e-9 * max(1, sums.error))
    }
  }

  /// Scalars and empty tensors are no weights.
  @Test(arguments: [[], [0], [0, 64], [64, 0, 2]])
  func emptyAndScalar(_ shape: [Int]) throws {
    var weights = WeightMaker()
    let count = shape.reduce(1, *)
    let odd =
      shape.isEmpty
      ? Value(.float16, [], .bytes([0, 0x3C]))
      : try weights.value(.float16, shape, [Float](repeating: 1, count: count), file: "odd.bin")
    let model = try Sample.linear(9, shape: [64, 64]).appending([
      Make.const("odd", odd),
      Make.operation("relu", ["x": "odd"], Make.tensor("z", shape)),
    ])
    for pass in Self.passes {
      let run = try PassRun(model, pass, settings: everySize)
      #expect(run.ledger.rows.map(\.name) == ["w"])
      #expect(try run.output.constant("odd")?.shape == shape)
    }
  }

  /// One square weight on both sides of products: its output channels are two axes.
  @Test func consumersThatDisagree() throws {
    var weights = WeightMaker()
    let model = Make.model(
      9, [Make.tensor("x", [64, 64])],
      [
        Make.const("w", try weights.random(.float16, [64, 64])), Make.const("no", .bool(false)),
        Make.operation(
          "matmul", ["x": "x", "y": "w", "transpose_x": "no", "transpose_y": "no"],
          Make.tensor("a", [64, 64])),
        Make.operation(
          "matmul", ["x": "w", "y": "a", "transpose_x": "no", "transpose_y": "no"],
          Make.tensor("y", [64, 64])),
      ], outputs: [Make.tensor("y", [64, 64])])
    let needsAxis: [any CompressionPass] = [
      PalettizePass(granularity: .channelGroup(8)), PalettizePass(hasChannelScale: true),
      PalettizePass(settings: PaletteSettings(clusterDimension: 2)),
      PrunePass(rule: .ratio(zeros: 2, of: 4, dim: 1)),
      PrunePass(rule: .blocks(sparsity: 0.5, size: 4, dim: 0)),
    ]
    for pass in needsAxis {
      let run = try PassRun(model, pass)
      #expect(run.after == nil)
      #expect(try run.row("w").reason?.contains("disagree") == true, "\(run.rows)")
    }
    for pass in [PalettizePass() as any CompressionPass, PrunePass(rule: .sparsity(0.75))] {
      #expect(try PassRun(model, pass).row("w").status == .compressed)
    }
  }

  @Test func blockOutputsStay() throws {
    var weights = WeightMaker()
    let model = Make.model(
      9, [], [Make.const("w", try weights.random(.float16, [64, 64]))],
      outputs: [Make.tensor("w", [64, 64])])
    for pass in Self.passes {
      let run = try PassRun(model, pass)
      #expect(run.after == nil)
      #expect(try run.row("w").reason == "is an output of its block")
    }
  }

  @Test func groupsThatDoNotDivide() throws {
    let model = try Sample.linear(9, shape: [96, 100])
    for (size, wanted) in [(50, 48), (7, 6), (1000, 96), (96, 96), (5, 4)] {
      let run = try PassRun(
        model, PalettizePass(settings: PaletteSettings(bits: 2), granularity: .channelGroup(size)))
      #expect(
        try run.row("w").scheme?.contains("per \(wanted) channels") == true,
        "\(size): \(run.rows)")
    }
    let vectors = PalettizePass(settings: PaletteSettings(clusterDimension: 5))
    #expect(try PassRun(model, vectors).row("w").reason?.contains("do not divide") == true)
  }

  /// Blocks of 7 of 96: the last one of each line has 5.
  @Test func blocksThatDoNotDivide() throws {
    let run = try PassRun(
      Sample.linear(9, shape: [96, 100]),
      PrunePass(rule: .blocks(sparsity: 0.5, size: 7, dim: 0)))
    let result = try decoded(run)
    var empty = 0
    for column in 0..<100 {
      for start in stride(from: 0, to: 96, by: 7) {
        let block = (start..<min(start + 7, 96)).map { result[$0 * 100 + column] }
        if block.allSatisfy({ $0 == 0 }) { empty += 1 }
      }
    }
    #expect(empty == 14 * 100 / 2)
    let ratio = try decoded(
      try PassRun(
        Sample.linear(9, shape: [96, 100]), PrunePass(rule: .ratio(zeros: 3, of: 7, dim: 1))))
    for row in 0..<96 {
      for start in stride(from: 0, to: 100, by: 7) {
        let block = ratio[row * 100 + start..<row * 100 + min(start + 7, 100)]
        #expect(block.count { $0 == 0 } == max(0, 3 - (7 - block.count)))
      }
    }
  }

  /// Ties fall in a fixed order: the later ones go.
  @Test func ties() throws {
    var weights = WeightMaker()
    let values = [Float](repeating: 0.5, count: 4096)
    let run = try PassRun(
      Sample.linear(
        9, shape: [64, 64], weight: try weights.value(.float16, [64, 64], values)),
      PrunePass(rule: .sparsity(0.75)))
    let result = try decoded(run)
    #expect(result.prefix(1024).allSatisfy { $0 == 0.5 })
    #expect(result.dropFirst(1024).allSatisfy { $0 == 0 })
  }

  /// No gain, no sparse form: the weight is dense with its zeros, and the ledger says so.
  @Test func sparseFormsThatWouldNotShrink() throws {
    let run = try PassRun(
      Sample.linear(9, shape: [64, 64]), PrunePass(rule: .sparsity(0.05)))
    #expect(try run.output.operation("w")?.isConst == true)
    #expect(try run.row("w").reason?.contains("stays dense with its 204 zeros") == true)
    #expect(try decoded(run).count { $0 == 0 } == 204)
  }
}
