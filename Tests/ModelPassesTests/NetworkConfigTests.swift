import ModelToolchain
import TestSupport
import Testing

@testable import ModelPasses

/// Configurations and recipes on neural networks, alone and in pipelines.
@Suite struct NetworkConfigTests {
  private func passes(_ text: String) throws -> [any CompressionPass] {
    try CompressionConfig.documents(Array(text.utf8)).map { ConfigPass($0) }
  }

  private func pass(_ text: String) throws -> any CompressionPass {
    try #require(try passes(text).first)
  }

  /// `one` and `two/b` are inner products, `emb` is an embedding.
  private func network() throws -> Model {
    try MakeNetwork.model([
      MakeNetwork.product("one", 64, 48, seed: 1), MakeNetwork.product("two/b", 64, 48, seed: 2),
      MakeNetwork.layer("emb", 150) {
        $0.varint(1, 48)
        $0.varint(2, 64)
        $0.bytes(20, MakeNetwork.singles(RandomNumbers.floats(64 * 48, seed: 3)))
      },
    ])
  }

  private func pipeline() throws -> Model {
    MakeNetwork.pipeline(
      7, [try network(), try Sample.linear(7, shape: [64, 48])], names: ["net", "program"])
  }

  private let head = "config_type: OpPalettizerConfig\n"

  /// The schemes' first words for the weights of `one`, `two/b` and `emb`.
  private func schemes(_ text: String) throws -> [String?] {
    let run = try PassRun(try network(), try pass(head + text))
    return try ["one.weights", "two/b.weights", "emb.weights"].map { name in
      try run.row(name).scheme.flatMap { $0.split(separator: " ").first.map(String.init) }
    }
  }

  @Test func theClosestEntryHolds() throws {
    let global = "global_config: {nbits: 4}\n"
    let types = "op_type_configs: {innerProduct: {nbits: 5}}\n"
    #expect(try schemes(global) == ["lut4", "lut4", "lut4"])
    #expect(try schemes(global + types) == ["lut5", "lut5", "lut4"])
    #expect(try schemes(types) == ["lut5", "lut5", nil])
    let names = "op_name_configs: {one: {nbits: 7}, two/b.weights: {nbits: 1}, \"e*\": null}\n"
    #expect(try schemes(global + types + names) == ["lut7", "lut1", nil])
    #expect(try schemes("op_name_configs: {b.weights: {nbits: 1}, one: {nbits: 2}}\n")[1] == nil)
    #expect(
      try schemes("global_config: {config_type: OpLinearQuantizerConfig, dtype: uint8}\n")
        == ["linear8", "linear8", "linear8"])
  }

  @Test func limits() throws {
    let entry = "global_config: {nbits: 4, weight_threshold: 3072}\n"
    let run = try PassRun(try network(), try pass(head + entry))
    #expect(run.after == nil)
    #expect(
      try run.row("one.weights").reason == "3072 elements, not more than weight_threshold 3072")
    let all = "global_config: {nbits: 2, weight_threshold: null}\n"
    let vectors = try PassRun(
      try network(), try pass(head + all + "op_name_configs: {one.bias: {nbits: 2}}\n"))
    #expect(try vectors.row("two/b.bias").reason == "rank 1; an entry for its own name takes it")
    // The threshold of the entry that holds.
    #expect(try vectors.row("one.bias").reason?.contains("weight_threshold 2048") == true)
    let own = "op_name_configs: {one.bias: {nbits: 2, weight_threshold: 0}}\n"
    #expect(
      try PassRun(try network(), try pass(head + own)).row("one.bias").status == .compressed)
    let skipped = try PassRun(
      try network(), try pass(head + "global_config: {nbits: 4}\n"),
      settings: { $0.skip = [WeightPattern("op:embedding")] })
    #expect(try skipped.row("emb.weights").reason == "picked by --skip")
  }

  /// Below 8 bits symmetric codes are affine where the mode was not asked for.
  @Test func symmetricCodes() throws {
    let quantizer = "config_type: OpLinearQuantizerConfig\nop_type_configs:\n"
    let run = try PassRun(
      try network(),
      try pass(
        quantizer + "  innerProduct: {dtype: int4}\n"
          + "  embedding: {dtype: int4, mode: linear_symmetric}\n"))
    #expect(try run.row("one.weights").scheme?.hasPrefix("linear4 affine") == true)
    let note = "neural networks have symmetric codes at 8 bits only"
    #expect(try run.row("one.weights").reason?.hasPrefix(note) == true)
    #expect(try run.row("emb.weights").status == .skipped)
    #expect(try run.row("emb.weights").reason == note)
    #expect(throws: PassError.usage("a neuralNetwork: \(note)")) {
      try PassRun(
        try network(), QuantizePass(scheme: AffineScheme(bits: 4), mayBeAffine: false))
    }
  }

  @Test(
    arguments: [
      ("OpMagnitudePrunerConfig", "target_sparsity: 0.5", "no sparse form"),
      ("OpThresholdPrunerConfig", "threshold: 0.5", "no sparse form"),
      ("OpLinearQuantizerConfig", "granularity: per_block", "no scales per block"),
      ("OpPalettizerConfig", "nbits: 4, granularity: per_grouped_channel", "one table per weight"),
      ("OpPalettizerConfig", "nbits: 4, cluster_dim: 2", "hold no vectors"),
      ("OpPalettizerConfig", "nbits: 4, lut_bits: 8", "are fp32"),
      ("OpPalettizerConfig", "nbits: 4, enable_per_channel_scale: true", "have no scales"),
    ])
  func whatNetworksLack(_ type: String, _ options: String, _ reason: String) throws {
    let entry = "{config_type: \(type), \(options)}"
    let some = try PassRun(
      try network(),
      try pass(
        head + "op_type_configs: {innerProduct: {nbits: 4}}\nop_name_configs: {emb: \(entry)}\n"))
    #expect(try some.row("emb.weights").reason?.contains(reason) == true)
    #expect(try some.row("one.weights").status == .compressed)
    let error = #expect(throws: PassError.self) {
      try PassRun(try network(), try pass(head + "global_config: \(entry)\n"))
    }
    #expect(error?.isUsage == true)
    #expect(error?.description.contains(reason) == true)
  }

  @Test func pipelines() throws {
    let text =
      head + "global_config: {nbits: 4}\n"
      + "op_name_configs: {net/one.weights: {nbits: 2}, two/b.weights: null, w: {nbits: 6}}\n"
    let run = try PassRun(try pipeline(), try pass(text))
    #expect(try run.row("net/one.weights").scheme?.hasPrefix("lut2") == true)
    #expect(try run.row("net/two/b.weights").reason == "its entry is null")
    #expect(try run.row("net/emb.weights").scheme?.hasPrefix("lut4") == true)
    #expect(try run.row("program/w").scheme?.hasPrefix("lut6") == true)
    #expect(run.ledger.warnings.isEmpty)
    let prune = "config_type: OpMagnitudePrunerConfig\nglobal_config: {target_sparsity: 0.5}\n"
    let pruned = try PassRun(try pipeline(), try pass(prune))
    #expect(try pruned.row("program/w").status == .compressed)
    #expect(try pruned.row("net/one.weights").reason == "neural networks have no sparse form")
    #expect(
      pruned.ledger.notes.contains(
        "neural networks are kept: neural networks have no sparse form"))
  }

  /// Steps that networks cannot take are skipped; the ledger tells the whole way.
  @Test func jointLists() throws {
    let folder = try TestFolder()
    try TestPackage.write(try network(), to: folder("in.mlpackage"))
    let loaded = try LoadedModel(path: folder("in.mlpackage"))
    let list = try passes(
      "- {config_type: OpMagnitudePrunerConfig, global_config: {target_sparsity: 0.5}}\n"
        + "- {config_type: OpPalettizerConfig, op_name_configs: {one: {nbits: 3}}}\n"
        + "- {config_type: OpLinearQuantizerConfig, op_name_configs: {one: {}, emb: {}}}\n")
    let writer = try PackageWriter(output: folder("out.mlmodel"), force: true)
    let ledger = try Compressor().run(list, on: loaded, to: writer)
    let rows = Dictionary(uniqueKeysWithValues: ledger.rows.map { ($0.name, $0) })
    let one = try #require(rows["one.weights"])
    #expect(one.scheme?.hasPrefix("lut3") == true)
    #expect(one.reason?.contains("is quantized already (lut3)") == true)
    #expect(one.reason?.contains("neural networks have no sparse form") == true)
    #expect(rows["emb.weights"]?.scheme?.hasPrefix("linear8") == true)
    let after = try LoadedModel(path: folder("out.mlmodel")).model
    #expect(after.networkWeight("one.weights")?.storage == .lookup(bits: 3))
    #expect(after.networkWeight("emb.weights")?.storage == .linear(bits: 8))
    #expect(one.afterBytes == after.networkWeight("one.weights")?.storedBytes)
    let single = try PassRun(folder: folder, list[1])
    let errors = [try single.row("one.weights").sums?.error ?? 0, one.sums?.error ?? -1]
    #expect(abs(errors[0] - errors[1]) <= 1e-12 * errors[0])
    #expect(throws: PassError.self) {
      try Compressor().run([list[0], list[0]], on: loaded, to: nil)
    }
  }

  /// An entry for all weights gives the bytes of the command that it stands for.
  @Test func asTheCommandsDo() throws {
    let quantizer = "config_type: OpLinearQuantizerConfig\nglobal_config: "
    let palettizer = "config_type: OpPalettizerConfig\nglobal_config: "
    let cases: [(String, any CompressionPass)] = [
      (quantizer + "{dtype: int8}", QuantizePass()),
      (
        quantizer + "{dtype: uint4, mode: linear, granularity: per_tensor}",
        QuantizePass(scheme: AffineScheme(bits: 4, mode: .affine), granularity: .tensor)
      ), (palettizer + "{nbits: 7}", PalettizePass(settings: PaletteSettings(bits: 7))),
      (
        palettizer + "{nbits: 3, mode: uniform}",
        PalettizePass(settings: PaletteSettings(bits: 3, mode: .uniform))
      ),
    ]
    for (text, command) in cases {
      let config = try PassRun(try network(), try pass(text))
      #expect(try config.files() == PassRun(try network(), command).files(), "\(text)")
      #expect(config.ledger.totals.compressed == 3)
    }
  }

  @Test func widthsOfNetworksOnPrograms() throws {
    let entry = try pass(head + "op_name_configs: {w: {nbits: 5}}\n")
    #expect(
      throws: PassError.usage(
        "op_name_configs.w: 5 bits are for neural networks; ML Programs take 1, 2, 3, 4, 6 or 8")
    ) { try PassRun(try Sample.linear(), entry) }
    for pass in [
      try pass(head + "global_config: {nbits: 5}\n"), QuantizePass(networkBits: 5),
    ] {
      let run = try PassRun(try pipeline(), pass)
      #expect(try run.row("net/one.weights").status == .compressed)
      #expect(try run.row("program/w").reason?.hasPrefix("5 bits are for neural") == true)
    }
  }

  /// Measured: sizes and errors as promised, no single scheme of the size better, and the saved
  /// configuration gives the same bytes, for any number of threads.
  @Test(arguments: [false, true]) func recipes(_ isPipeline: Bool) throws {
    let folder = try TestFolder()
    try TestPackage.write(
      isPipeline ? try pipeline() : try network(), to: folder("in.mlpackage"))
    let loaded = try LoadedModel(path: folder("in.mlpackage"))
    let menu = MenuScheme.menu(for: loaded.model)
    #expect(menu.count == MenuScheme.known.count)
    let forms = try RecipeSearch(
      menu: menu, settings: CompressionSettings(), parallel: Parallel(threads: 2)
    ).measure(loaded)
    #expect(forms.candidates.map(\.name).contains(isPipeline ? "net/one.weights" : "one.weights"))
    #expect(forms.parameters == (isPipeline ? 4 : 3) * 64 * 48)
    for scheme in menu {
      let uniform = try #require(forms.uniform(scheme))
      guard uniform.entries.contains(where: { $0.scheme != nil }) else { continue }
      let single = try PassRun(folder: folder, uniform.pass)
      let recipe = try #require(forms.choose(.bytes(uniform.bytes)))
      #expect(recipe.bytes <= uniform.bytes)
      let run = try PassRun(folder: folder, recipe.pass, threads: 1)
      #expect(run.ledger.totals.sums.error <= single.ledger.totals.sums.error * (1 + 1e-12))
      let rows = run.ledger.rows.filter { row in forms.candidates.contains { $0.name == row.name } }
      let bytes = rows.reduce(0) { $0 + $1.afterBytes }
      // From version 9 on int8 has no zero points.
      #expect(run.ledger.version.after < 9 ? bytes == recipe.bytes : bytes <= recipe.bytes)
      let config = try pass(recipe.configuration)
      #expect(try PassRun(folder: folder, config).files() == run.files(), "\(scheme.name)")
    }
  }

  @Test func menusThatNoWeightCanTake() throws {
    func measure(_ model: Model, _ names: [String]) throws {
      let folder = try TestFolder()
      try TestPackage.write(model, to: folder("in.mlpackage"))
      _ = try RecipeSearch(
        menu: try MenuScheme.menu(names), settings: CompressionSettings(),
        parallel: Parallel(threads: 1)
      ).measure(try LoadedModel(path: folder("in.mlpackage")))
    }
    #expect(throws: PassError.self) { try measure(try network(), ["sparse50", "int4"]) }
    #expect(throws: PassError.self) { try measure(try Sample.linear(), ["lut5"]) }
    try measure(try network(), ["sparse50", "lut4"])
    try measure(try pipeline(), ["sparse50"])
    try measure(try Sample.linear(), ["lut5", "lut1"])
  }
}
