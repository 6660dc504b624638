import ModelCompression
import ModelFiles
import ModelPasses
import ModelSpec

/// Linear quantization of weights.
enum QuantizeCommand: Command {
  static let name = "quantize"
  static let summary = "quantize weights to 8 or 4 bits, or the model to float16"
  static let options =
    [
      Option.value("bits", "8|4|16|1|2|3|5|6|7", "bits per weight (8); ML Programs take 8, 4, 16"),
      .value(
        "mode", "symmetric|affine",
        "range around zero, or from minimum to maximum "
          + "(symmetric)"),
      .flag("unsigned", "codes from 0 upwards with a zero point"),
      .value("granularity", "channel|tensor|block", "what shares a scale (channel)"),
      .value("block-size", "N", "input channels per block (32)"),
      .value("scale-search", "none|mse", "scale from the range, or of least squared error (none)"),
      .flag("io-float16", "16 bits: inputs and outputs become float16 too"),
      .flag("clamp", "16 bits: weights beyond ±65504 are clamped instead of refused"),
      .flag("storage-only", "16 bits: weights only, arithmetic as before (constexpr_cast)"),
    ] + Option.compressing
  static let discussion = """
    8 and 4 bits: weights become integers with scales (and zero points); arithmetic stays as it
    is. 16 bits: weights and arithmetic become float16, the interface keeps its types. Neural
    networks (.mlmodel) take 1 to 8 bits, symmetric at 8 only (below it the default is affine),
    and 16 bits for their weights.
    Without -o OUT stands beside MODEL with -int8, -int4 or -fp16 behind its name. What is
    skipped stays bit-identical; the ledger says why.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let bits = arguments.string("bits") ?? "8"
    try check(arguments, bits: bits)
    if bits == "16" { return try float16(arguments, console) }
    let mode = arguments.string("mode") ?? "symmetric"
    let search = arguments.string("scale-search") ?? "none"
    let granularity = arguments.string("granularity") ?? "channel"
    let blockSize = try arguments.integer("block-size", in: 1...(1 << 30)) ?? 32
    let isUnsigned = arguments.has("unsigned")
    let width = Int(bits) ?? 8
    let pass = QuantizePass(
      scheme: AffineScheme(
        bits: width == 4 ? 4 : 8, signed: !isUnsigned,
        mode: mode == "affine" ? .affine : .symmetric, search: search == "mse" ? .mse : .none),
      granularity: granularity == "tensor"
        ? .tensor : granularity == "block" ? .block(blockSize) : .channel,
      networkBits: width, mayBeAffine: !arguments.has("mode"))
    let command = CompressingCommand(
      name: name, suffix: "-int\(bits)",
      passSettings: [
        ("bits", .integer(width)), ("mode", .string(mode)),
        ("unsigned", .bool(isUnsigned)), ("granularity", .string(granularity)),
        ("block_size", granularity == "block" ? .integer(blockSize) : .null),
        ("scale_search", .string(search)),
      ])
    return try command.run(arguments, console) { loaded, writer, compressor in
      try compressor.run(pass, on: loaded, to: writer)
    }
  }

  /// Refuses options that contradict each other.
  private static func check(_ arguments: Arguments, bits: String) throws {
    let linear = ["mode", "unsigned", "granularity", "block-size", "scale-search"]
    let half = ["io-float16", "clamp", "storage-only"]
    let wrong = bits == "16" ? linear : half
    if let option = wrong.first(where: arguments.has) {
      throw UsageError("--\(option) does not go with --bits \(bits)")
    }
    if arguments.has("block-size"), arguments.string("granularity") != "block" {
      throw UsageError("--block-size goes with --granularity block")
    }
    if arguments.has("storage-only"), arguments.has("io-float16") {
      throw UsageError("--io-float16 does not go with --storage-only, which leaves the arithmetic")
    }
  }

  private static func float16(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let isStorage = arguments.has("storage-only")
    let clamps = arguments.has("clamp")
    let command = CompressingCommand(
      name: name, suffix: "-fp16",
      passSettings: [
        ("bits", .integer(16)), ("storage_only", .bool(isStorage)),
        ("io_float16", .bool(arguments.has("io-float16"))), ("clamp", .bool(clamps)),
      ])
    let pass: any CompressionPass =
      isStorage
      ? Float16StoragePass(clamps: clamps)
      : Float16Pass(changesInterface: arguments.has("io-float16"), clamps: clamps)
    return try command.run(arguments, console) { loaded, writer, compressor in
      try compressor.run(pass, on: loaded, to: writer)
    }
  }
}
