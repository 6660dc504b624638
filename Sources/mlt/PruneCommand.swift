import ModelPasses

/// Zeros for the values of least magnitude.
enum PruneCommand: Command {
  static let name = "prune"
  static let summary = "make the values of least magnitude zero and store the others"
  static let options =
    [
      Option.value("sparsity", "S", "this share of each weight becomes zero, 0 to 1"),
      .value("threshold", "X", "values of at most this magnitude become zero"),
      .value("n-m", "N:M", "of every M consecutive values N become zero"),
      .value("block-size", "N", "with --sparsity: whole blocks of N consecutive channels"),
      .value("dim", "0|1", "where blocks (0) and N:M (1) lie: output or input channels"),
    ] + Option.compressing
  static let discussion = """
    One of --sparsity, --threshold and --n-m. The share is exact: the number of zeros is the
    larger of what is there and S times the number of values, rounded down; of equal magnitudes
    the later ones go first. Where the sparse form is not smaller the weight stays dense with its
    zeros. Palettized and quantized weights keep their tables and scales. Neural networks have
    no sparse form. Without -o OUT stands beside MODEL with -pruned behind its name.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let rule = try rule(arguments)
    let command = CompressingCommand(
      name: name, suffix: "-pruned",
      passSettings: [
        ("sparsity", .optional(arguments.string("sparsity").flatMap(Double.init))),
        ("threshold", .optional(arguments.string("threshold").flatMap(Double.init))),
        ("n_m", .optional(arguments.string("n-m"))),
        ("block_size", .optional(arguments.string("block-size").flatMap { Int($0) })),
        ("dim", .optional(arguments.string("dim").flatMap { Int($0) })),
      ])
    return try command.run(arguments, console) { loaded, writer, compressor in
      try compressor.run(PrunePass(rule: rule), on: loaded, to: writer)
    }
  }

  private static func rule(_ arguments: Arguments) throws -> PrunePass.Rule {
    let given = ["sparsity", "threshold", "n-m"].filter(arguments.has)
    guard given.count == 1 else {
      throw UsageError(
        given.isEmpty
          ? "one of --sparsity, --threshold and --n-m is needed"
          : "--\(given[0]) does not go with --\(given[1])")
    }
    let dim = arguments.string("dim").flatMap { Int($0) }
    let block = try arguments.integer("block-size", in: 2...(1 << 30))
    if block != nil, given[0] != "sparsity" {
      throw UsageError("--block-size goes with --sparsity")
    }
    if dim != nil, block == nil, given[0] != "n-m" {
      throw UsageError("--dim goes with --block-size or --n-m")
    }
    switch given[0] {
    case "sparsity":
      guard let share = arguments.string("sparsity").flatMap(Double.init), (0...1).contains(share)
      else { throw UsageError("--sparsity is a number from 0 to 1") }
      if let block { return .blocks(sparsity: share, size: block, dim: dim ?? 0) }
      return .sparsity(share)
    case "threshold":
      guard let limit = arguments.string("threshold").flatMap(Double.init), limit >= 0,
        limit.isFinite
      else {
        throw UsageError("--threshold is a number of at least 0")
      }
      return .threshold(limit, minimumSparsity: 0)
    default:
      let numbers = (arguments.string("n-m") ?? "").split(separator: ":").map { Int($0) }
      guard numbers.count == 2, let zeros = numbers[0], let count = numbers[1], zeros >= 0,
        count >= 1, zeros <= count, count <= 1 << 20
      else { throw UsageError("--n-m is N:M with N ≤ M, such as 2:4") }
      return .ratio(zeros: zeros, of: count, dim: dim ?? 1)
    }
  }
}
