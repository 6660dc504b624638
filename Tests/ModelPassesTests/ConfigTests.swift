import ModelToolchain
import TestSupport
import Testing

/// What a configuration says about which weight.
@Suite struct ConfigTests {
  private func pass(_ text: String) throws -> ConfigPass {
    let configs = try CompressionConfig.documents(Array(text.utf8))
    #expect(configs.count == 1)
    return ConfigPass(try #require(configs.first))
  }

  /// `w` feeds the operations `first` (linear) and `second` (add); `v` feeds `third` (linear).
  private func model() throws -> Model {
    var weights = WeightMaker()
    return Make.model(
      9, [Make.tensor("x", [64, 64])],
      [
        Make.const("w", try weights.random(.float16, [64, 64], seed: 1)),
        Make.const("v", try weights.random(.float16, [64, 64], seed: 2)),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("first", [64, 64])),
        Make.operation("add", ["x": "first", "y": "w"], Make.tensor("second", [64, 64])),
        Make.operation("linear", ["x": "second", "weight": "v"], Make.tensor("third", [64, 64])),
      ], outputs: [Make.tensor("third", [64, 64])])
  }

  private let head = "config_type: OpPalettizerConfig\n"

  private func schemes(_ text: String) throws -> [String?] {
    let run = try PassRun(try model(), try pass(head + text))
    return try ["w", "v"].map { name in
      try run.row(name).scheme.flatMap { $0.split(separator: " ").first.map(String.init) }
    }
  }

  /// The constant's own name, then consumers by name, then by type, then the global entry.
  @Test func theClosestEntryHolds() throws {
    let global = "global_config: {nbits: 4}\n"
    let types = "op_type_configs: {linear: {nbits: 6}}\n"
    #expect(try schemes(global) == ["lut4", "lut4"])
    #expect(try schemes(global + types) == ["lut6", "lut6"])
    #expect(
      try schemes(global + types + "op_name_configs: {third: {nbits: 2}}\n") == ["lut6", "lut2"])
    #expect(
      try schemes(global + types + "op_name_configs: {third: {nbits: 2}, v: {nbits: 1}}\n")
        == ["lut6", "lut1"])
    #expect(
      try schemes(global + types + "op_name_configs: {second: {nbits: 3}}\n") == ["lut3", "lut6"])
    #expect(try schemes(types) == ["lut6", "lut6"])
    #expect(try schemes("op_name_configs: {third: {nbits: 2}}\n") == [nil, "lut2"])
  }

  @Test func nullKeepsWeights() throws {
    #expect(
      try schemes("global_config: {nbits: 4}\nop_name_configs: {v: null}\n") == ["lut4", nil])
    #expect(try schemes("global_config: {nbits: 4}\nop_type_configs: {linear: ~}\n") == [nil, nil])
    let run = try PassRun(
      try model(), try pass(head + "global_config: null\nop_type_configs: {add: {nbits: 4}}\n"))
    #expect(try run.row("v").reason == "no entry of the configuration matches")
    #expect(try run.row("w").status == .compressed)
  }

  /// Consumers that match different entries: the first in file order decides, and the ledger says so.
  @Test func consumersThatDiffer() throws {
    let text = "op_name_configs: {first: {nbits: 2}, second: {nbits: 6}}\n"
    let run = try PassRun(try model(), try pass(head + text))
    #expect(try run.row("w").scheme?.hasPrefix("lut2") == true)
    let note = "its consumers match different entries; that of first holds"
    #expect(try run.row("w").reason == note)
    let same = "op_name_configs: {first: {nbits: 2}, second: {nbits: 2}}\n"
    #expect(try PassRun(try model(), try pass(head + same)).row("w").reason == nil)
    let keep = "op_name_configs: {first: null, second: {nbits: 2}}\n"
    let kept = try PassRun(try model(), try pass(head + keep + "global_config: {nbits: 4}\n"))
    #expect(try kept.row("w").status == .skipped)
    #expect(try kept.row("v").status == .compressed)
  }

  @Test func globsAndExpressions() throws {
    #expect(try schemes("op_name_configs: {\"*ir*\": {nbits: 2}}\n") == ["lut2", "lut2"])
    #expect(try schemes("op_name_configs: {\"thir?\": {nbits: 2}}\n") == [nil, "lut2"])
    #expect(try schemes("op_name_configs: {\"/^(first|v)$/\": {nbits: 2}}\n") == ["lut2", "lut2"])
    // An exact name goes before patterns, those in file order.
    #expect(
      try schemes("op_name_configs: {\"*\": {nbits: 2}, \"v*\": {nbits: 3}, v: {nbits: 6}}\n")
        == ["lut2", "lut6"])
  }

  @Test func thresholds() throws {
    #expect(try schemes("global_config: {nbits: 4, weight_threshold: 4096}\n") == [nil, nil])
    #expect(try schemes("global_config: {nbits: 4, weight_threshold: 4095}\n") == ["lut4", "lut4"])
    let small = try Sample.linear(9, shape: [32, 32])
    let entry = "global_config: {nbits: 4, weight_threshold: null}\n"
    #expect(try PassRun(small, try pass(head + entry)).row("w").status == .compressed)
    let usual = try PassRun(small, try pass(head + "global_config: {nbits: 4}\n"))
    #expect(try usual.row("w").reason?.contains("weight_threshold 2048") == true)
  }

  /// Vectors only by their own name.
  @Test func vectors() throws {
    var weights = WeightMaker()
    let model = Sample.add(9, try weights.random(.float16, [4096]))
    #expect(
      try PassRun(model, try pass(head + "global_config: {nbits: 4}\n")).row("w").status
        == .skipped)
    #expect(
      try PassRun(model, try pass(head + "op_name_configs: {w: {nbits: 4}}\n")).row("w").status
        == .compressed)
  }

  /// Ratios and blocks of configurations are for conv and linear, as coremltools has it.
  @Test func ratiosAreForConvAndLinear() throws {
    let text = "config_type: OpMagnitudePrunerConfig\nglobal_config: {n_m_ratio: [2, 4]}\n"
    let run = try PassRun(try model(), try pass(text))
    #expect(try run.row("v").status == .compressed)
    #expect(try run.row("w").reason == "this rule is for conv and linear, not add")
  }

  /// Every option of coremltools, in YAML and in JSON.
  @Test(
    arguments: [
      (
        "OpLinearQuantizerConfig",
        "mode: linear, dtype: uint4, granularity: per_block, block_size: 16",
        "uint4 affine per block of 16"
      ),
      (
        "OpLinearQuantizerConfig", "dtype: int4, granularity: per_block, block_size: [0, 32]",
        "int4 symmetric per block of [0, 32]"
      ),
      (
        "OpLinearQuantizerConfig", "dtype: int8, granularity: per_tensor",
        "int8 symmetric per tensor"
      ),
      ("OpLinearQuantizerConfig", "mode: LINEAR_SYMMETRIC", "int8 symmetric per channel"),
      ("OpPalettizerConfig", "mode: uniform, nbits: 6", "lut6 uniform per tensor"),
      (
        "OpPalettizerConfig", "nbits: 4, granularity: per_grouped_channel, group_size: 16",
        "lut4 k-means per 16 channels"
      ),
      (
        "OpPalettizerConfig", "nbits: 2, cluster_dim: 2, num_kmeans_workers: 4",
        "vectors of 2"
      ), ("OpPalettizerConfig", "nbits: 4, enable_per_channel_scale: true", "a scale per channel"),
      (
        "OpPalettizerConfig",
        "nbits: 4, granularity: per_grouped_channel, group_size: 16, channel_axis: 1",
        "per 16 channels (axis 1)"
      ), ("OpMagnitudePrunerConfig", "target_sparsity: 0.75", "sparse, 75 % zeros"),
      ("OpMagnitudePrunerConfig", "n_m_ratio: [2, 4], dim: 0", "2:4 zeros (axis 0)"),
      (
        "OpMagnitudePrunerConfig", "target_sparsity: 0.5, block_size: 4",
        "zero blocks of 4 (axis 0)"
      ),
      (
        "OpThresholdPrunerConfig", "threshold: 0.6, minimum_sparsity_percentile: 0.4",
        "zeros up to 0.6"
      ),
    ])
  func options(_ type: String, _ options: String, _ scheme: String) throws {
    let model = try Sample.linear(9, shape: [64, 64])
    let run = try PassRun(model, try pass("config_type: \(type)\nglobal_config: {\(options)}\n"))
    #expect(try run.row("w").scheme?.contains(scheme) == true, "\(run.rows)")
    let members = options.split(separator: ", ").joined(separator: ",").split(separator: ",")
    guard !options.contains("[") else { return }
    let json = members.map { member in
      let parts = member.split(separator: ":").map { $0.trimmingPrefix(" ") }
      let isText = parts[1].first?.isLetter == true && parts[1] != "true"
      return "\"\(parts[0])\": \(isText ? "\"\(parts[1])\"" : String(parts[1]))"
    }.joined(separator: ", ")
    let other = try PassRun(
      model, try pass("{\"config_type\": \"\(type)\", \"global_config\": {\(json)}}"))
    #expect(try other.row("w").scheme == run.row("w").scheme)
    #expect(try other.files() == run.files())
  }

  @Test func errorsSayWhere() {
    let cases: [(String, String)] = [
      ("", "empty"), ("[]", "empty"), ("text", "mapping"), ("a: [", "line"),
      ("config_type: 3\n", "config_type is missing"),
      ("config_type: OpPalettizerConfig\nop_type_configs: [1]\n", "op_type_configs is a mapping"),
      (
        "config_type: OpPalettizerConfig\nop_name_configs: {a: {nbits: 4, mode: unique}}\n",
        "op_name_configs.a: mode unique takes no nbits"
      ),
      (
        "config_type: OpMagnitudePrunerConfig\nglobal_config: {target_sparsity: yes}\n",
        "target_sparsity is a number"
      ),
      (
        "config_type: OpMagnitudePrunerConfig\nglobal_config: {n_m_ratio: [4, 2]}\n", "n ≤ m"
      ),
      (
        "config_type: OpPalettizerConfig\nglobal_config: {nbits: 4, lut_function: f}\n",
        "lut_function"
      ), ("config_type: OpPalettizerConfig\nglobal_config: {nbits: 4.0}\n", "whole number"),
    ]
    for (text, wanted) in cases {
      let error = #expect(throws: ConfigError.self) {
        try CompressionConfig.documents(Array(text.utf8))
      }
      #expect(error?.description.contains(wanted) == true, "\(text): \(error?.description ?? "")")
    }
  }
}
