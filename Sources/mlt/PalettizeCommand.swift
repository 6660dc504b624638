import ModelCompression
import ModelPasses

/// Tables of few values.
enum PalettizeCommand: Command {
  static let name = "palettize"
  static let summary = "replace weights by indices into tables of few values"
  static let options =
    [
      Option.value("nbits", "4|1|2|3|5|6|7|8", "bits per index (4); 5 and 7 for neural networks"),
      .value(
        "mode", "kmeans|uniform|unique",
        "how entries are chosen: least squared error, even "
          + "levels, or the distinct values (kmeans)"),
      .value("granularity", "tensor|channel-group", "what shares a table (tensor)"),
      .value("group-size", "N", "channels per table (32); 1: a table per channel"),
      .value("cluster-dim", "N", "values along the channels that share an index (1)"),
      .flag("per-channel-scale", "a scale per output channel, in a table of its own"),
      .value("lut-bits", "8", "store the table in 8 bits with a scale"),
    ] + Option.compressing
  static let discussion = """
    Scalar k-means is exact: no table of the size has less squared error. Without -o OUT stands
    beside MODEL with -palN behind its name (-pal4). A model that is sparse keeps its zeros:
    tables come from the other values only. What is skipped stays bit-identical; the ledger says
    why.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let mode = arguments.string("mode") ?? "kmeans"
    let isUnique = mode == "unique"
    if isUnique, arguments.has("nbits") {
      throw UsageError("--mode unique takes no --nbits: it finds the bits itself")
    }
    let isGrouped = arguments.string("granularity") == "channel-group"
    if arguments.has("group-size"), !isGrouped {
      throw UsageError("--group-size goes with --granularity channel-group")
    }
    let bits = try arguments.integer("nbits", in: 1...8) ?? 4
    let group = try arguments.integer("group-size", in: 1...(1 << 30)) ?? 32
    let vector = try arguments.integer("cluster-dim", in: 1...64) ?? 1
    let hasTable = try arguments.integer("lut-bits", in: 8...8) != nil
    let hasScale = arguments.has("per-channel-scale")
    if vector > 1 {
      if mode != "kmeans" { throw UsageError("--cluster-dim goes with --mode kmeans") }
      if hasScale { throw UsageError("--cluster-dim does not go with --per-channel-scale") }
      if isGrouped, group % vector != 0 {
        throw UsageError("--group-size is a multiple of --cluster-dim")
      }
    }
    if hasScale, hasTable {
      throw UsageError("--per-channel-scale does not go with --lut-bits")
    }
    let pass = PalettizePass(
      settings: PaletteSettings(
        bits: bits, mode: isUnique ? .unique : mode == "uniform" ? .uniform : .kmeans,
        clusterDimension: vector, tableQuantization: hasTable ? .symmetric : nil),
      granularity: isGrouped ? .channelGroup(group) : .tensor, hasChannelScale: hasScale)
    let command = CompressingCommand(
      name: name, suffix: isUnique ? "-palunique" : "-pal\(bits)",
      passSettings: [
        ("nbits", isUnique ? .null : .integer(bits)), ("mode", .string(mode)),
        ("granularity", .string(isGrouped ? "channel-group" : "tensor")),
        ("group_size", isGrouped ? .integer(group) : .null), ("cluster_dim", .integer(vector)),
        ("per_channel_scale", .bool(hasScale)), ("lut_bits", hasTable ? .integer(8) : .null),
      ])
    return try command.run(arguments, console) { loaded, writer, compressor in
      try compressor.run(pass, on: loaded, to: writer)
    }
  }
}
