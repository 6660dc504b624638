import ModelToolchain
import TestSupport
import Testing

/// Schemes on top of each other, and the way back.
@Suite struct JointTests {
  /// Runs passes one after the other, each on the output before it.
  private func chain(
    _ model: Model, _ passes: [any CompressionPass], threads: Int = 2
  ) throws -> [PassRun] {
    var runs: [PassRun] = []
    for pass in passes {
      runs.append(try PassRun(try runs.last?.output ?? model, pass, threads: threads))
    }
    return runs
  }

  private func decoded(_ run: PassRun) throws -> [Float] {
    try Make.floats(try #require(try run.output.constant("w")))
  }

  private func types(_ run: PassRun) throws -> [String] {
    try run.output.operations().map(\.type).filter { $0.hasPrefix("constexpr_") }
  }

  private static let prune = PrunePass(rule: .sparsity(0.75))
  private static let table = QuantizePass(granularity: .tensor)
  private static let quarter = PalettizePass(settings: PaletteSettings(bits: 2))

  @Test(arguments: [ElementType.float16, .float32])
  func everyChain(_ type: ElementType) throws {
    let chains: [([any CompressionPass], [String])] = [
      ([Self.prune, PalettizePass()], ["constexpr_lut_to_sparse", "constexpr_sparse_to_dense"]),
      (
        [Self.prune, QuantizePass()],
        ["constexpr_sparse_blockwise_shift_scale", "constexpr_sparse_to_dense"]
      ),
      (
        [PalettizePass(), Self.table],
        ["constexpr_blockwise_shift_scale", "constexpr_lut_to_dense"]
      ),
      (
        [Self.prune, Self.quarter, Self.table],
        [
          "constexpr_blockwise_shift_scale", "constexpr_lut_to_sparse",
          "constexpr_sparse_to_dense",
        ]
      ),
      ([PalettizePass(), Self.prune], ["constexpr_lut_to_sparse", "constexpr_sparse_to_dense"]),
      (
        [QuantizePass(), Self.prune],
        ["constexpr_sparse_blockwise_shift_scale", "constexpr_sparse_to_dense"]
      ),
      ([Self.prune, PrunePass(rule: .sparsity(0.9))], ["constexpr_sparse_to_dense"]),
    ]
    for (passes, wanted) in chains {
      let runs = try chain(try Sample.linear(9, shape: [64, 64], type: type), passes)
      let last = try #require(runs.last)
      #expect(try types(last) == wanted)
      var zeros: [Bool]?
      for (pass, run) in zip(passes, runs) {
        let values = try decoded(run)
        if let zeros {
          #expect(zip(zeros, values).allSatisfy { !$0 || $1 == 0 }, "zeros are gone")
        }
        if pass is PrunePass { zeros = values.map { $0 == 0 } }
        #expect(try run.row("w").afterBytes < run.row("w").beforeBytes)
      }
      let dense = try PassRun(try last.output, DecompressPass())
      #expect(try dense.output.operation("w")?.isConst == true)
      #expect(try decoded(dense) == decoded(last))
      #expect(try types(dense).isEmpty)
    }
  }

  /// Tables of sparse weights come from the kept values: no entry is spent on zero.
  @Test func tablesOfKeptValues() throws {
    var weights = WeightMaker()
    let values = (0..<4096).map { (index: Int) -> Float in
      if index % 4 == 0 { return Float(1 + index / 4 % 4) }
      return Float(index % 3) * 0.001
    }
    let model = try Sample.linear(
      9, shape: [64, 64], weight: try weights.value(.float16, [64, 64], values))
    let runs = try chain(model, [Self.prune, Self.quarter])
    let last = try #require(runs.last)
    #expect(try last.row("w").sums?.error == 0)
    #expect(Set(try decoded(last)) == [0, 1, 2, 3, 4])
  }

  @Test func theSameSchemeTwiceIsSkipped() throws {
    let passes: [any CompressionPass] = [
      PalettizePass(), QuantizePass(), Self.prune, PalettizePass(granularity: .channelGroup(8)),
    ]
    for pass in passes {
      let first = try PassRun(try Sample.linear(9, shape: [64, 64]), pass)
      let again = try PassRun(try first.output, pass)
      #expect(again.after == nil)
      #expect(try again.row("w").reason?.contains("already") == true, "\(again.rows)")
    }
    let plain = try PassRun(try Sample.linear(9, shape: [64, 64]), DecompressPass())
    #expect(plain.after == nil)
    #expect(try plain.row("w").reason == "is not compressed")
  }

  @Test func whatDoesNotCompose() throws {
    let model = try Sample.linear(9, shape: [64, 64])
    let vectors = PalettizePass(settings: PaletteSettings(bits: 2, clusterDimension: 2))
    let pairs: [(any CompressionPass, any CompressionPass, String)] = [
      (QuantizePass(), PalettizePass(), "palettize first"), (vectors, Self.prune, "vectors"),
      (Self.prune, vectors, "only scalars"),
      (PalettizePass(), QuantizePass(scheme: AffineScheme(bits: 4)), "to 8 bits"),
    ]
    for (first, second, reason) in pairs {
      let before = try PassRun(model, first)
      let run = try PassRun(try before.output, second)
      #expect(run.after == nil)
      #expect(try run.row("w").reason?.contains(reason) == true, "\(run.rows)")
    }
  }

  /// A list of passes is one command: the ledger tells the whole way.
  @Test func sequences() throws {
    let folder = try TestFolder()
    try TestPackage.write(try Sample.linear(7, shape: [64, 64]), to: folder("in.mlpackage"))
    let loaded = try LoadedModel(path: folder("in.mlpackage"))
    let writer = try PackageWriter(output: folder("out.mlpackage"), force: true)
    let compressor = Compressor(parallel: Parallel(threads: 2))
    let ledger = try compressor.run([Self.prune, PalettizePass()], on: loaded, to: writer)
    let row = try #require(ledger.rows.first { $0.name == "w" })
    #expect(row.scheme?.contains(", then sparse + lut4") == true)
    #expect(row.beforeBytes == 8192)
    #expect(ledger.version.before == 7 && ledger.version.after == 9)
    let dry = try compressor.run([Self.prune, PalettizePass()], on: loaded, to: nil)
    #expect(dry.rows.map(\.afterBytes) == ledger.rows.map(\.afterBytes))
    #expect(dry.rows.map { $0.sums?.error } == ledger.rows.map { $0.sums?.error })

    let out = try LoadedModel(path: folder("out.mlpackage")).model
    let before = try Make.floats(try #require(try loaded.model.constant("w")))
    let after = try Make.floats(try #require(try out.constant("w")))
    var sums = ErrorSums()
    for (old, new) in zip(before, after) { sums.add(Double(old), decoded: Double(new)) }
    #expect(abs(sums.error - (row.sums?.error ?? 0)) < 1e-9)
  }

  /// The last step has nothing to do: what stands before it is the result.
  @Test func sequencesWhoseLastStepIsSkipped() throws {
    let folder = try TestFolder()
    try TestPackage.write(try Sample.linear(9, shape: [64, 64]), to: folder("in.mlpackage"))
    let loaded = try LoadedModel(path: folder("in.mlpackage"))
    let writer = try PackageWriter(output: folder("out.mlpackage"), force: true)
    let ledger = try Compressor().run([QuantizePass(), PalettizePass()], on: loaded, to: writer)
    let row = try #require(ledger.rows.first)
    #expect(row.status == .compressed)
    #expect(row.reason?.contains("a step was skipped") == true)
    #expect(
      try LoadedModel(path: folder("out.mlpackage")).model.operation("w")?.isConstexpr == true)
  }

  /// The same bytes for any number of threads.
  @Test func threads() throws {
    let vectors = PalettizePass(settings: PaletteSettings(bits: 2, clusterDimension: 4))
    let chains: [[any CompressionPass]] = [
      [PalettizePass()], [PalettizePass(granularity: .channelGroup(16))], [vectors],
      [PalettizePass(hasChannelScale: true)], [Self.prune], [Self.prune, PalettizePass()],
      [PrunePass(rule: .blocks(sparsity: 0.5, size: 4, dim: 0))],
      [Self.prune, QuantizePass(), PrunePass(rule: .sparsity(0.9))],
      [PalettizePass(), Self.table], [PalettizePass(), DecompressPass()],
    ]
    for type in [ElementType.float16, .float32] {
      let model = try Sample.linear(9, shape: [96, 128], type: type)
      for passes in type == .float16 ? chains : Array(chains.prefix(2)) {
        let files = try [1, 2, 7].map {
          try chain(model, passes, threads: $0).last?.files()
        }
        #expect(files[0] != nil && files[0] == files[1] && files[0] == files[2], "\(passes)")
      }
    }
  }
}
