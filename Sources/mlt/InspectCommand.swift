import ModelBundle
import ModelFiles
import ModelGraph
import ModelInspection
import ModelSpec
import ModelTensors

/// Facts about a model.
enum InspectCommand: Command {
  static let name = "inspect"
  static let summary = "interface, operations, weights, sizes, minimum OS of a model"
  static let options: [Option] = [
    .flag("ops", "list every operation or layer"),
    .flag(
      "weights",
      "list every weight and read its values: range, mean, sparsity, distinct "
        + "values"),
    .value("tensor", "NAME", "show one weight, decoded"),
    .value("output", short: "o", "FILE.npy", "write the weight of --tensor as a NumPy file"),
    .flag("force", "replace FILE.npy if it exists"),
    .value("function", "NAME", "only this function of the program"),
  ]
  static let discussion = """
    Shows what a model takes and yields, what it is made of, how its weights are stored, which
    releases run it and why. The weight file is read with --weights and --tensor only.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let path = try arguments.operand("MODEL")
    if arguments.has("output") && !arguments.has("tensor") {
      throw UsageError("-o goes with --tensor", hint: "--tensor NAME -o FILE.npy")
    }
    let readsWeights = arguments.has("weights") || arguments.has("tensor")
    let (loaded, compiled) = try LoadedModel.open(path: path, readingWeights: readsWeights)
    if let compiled, !compiled.isWhole {
      for option in ["tensor", "weights"] where arguments.has(option) {
        throw Failure(
          code: 2, kind: "unsupported",
          message: "--\(option) does not work on compiled neural networks", path: path,
          hint: "inspect the model that it was compiled from")
      }
    }
    if let tensor = arguments.string("tensor") {
      return try InspectTensor(loaded: loaded, path: path, name: tensor).run(arguments, console)
    }
    var report = try ModelReport(
      loaded, readingWeights: arguments.has("weights"), parallel: console.parallel,
      progress: { console.progress($0, "reading weights") })
    console.progress(nil, "")
    if let compiled { report.limit(to: compiled) }
    if let function = arguments.string("function") {
      try report.keep(function: function, path: path)
    }
    let operations =
      arguments.has("ops")
      ? OperationFact.operations(of: loaded.model, functions: report.functions.map(\.name)) : nil
    try show(report, operations, arguments, console)
    return 0
  }

  private static func show(
    _ report: ModelReport, _ operations: [OperationFact]?, _ arguments: Arguments,
    _ console: Console
  ) throws {
    if console.isJSON {
      try console.print(InspectJSON.document(report, operations: operations))
    } else {
      let lines = InspectText(
        report: report, listsWeights: arguments.has("weights"), operations: operations
      ).lines
      try console.print(lines.map(\.onOneLine).joined(separator: "\n"))
    }
  }
}

extension ModelReport {
  /// Leaves out everything that other functions use.
  fileprivate mutating func keep(function name: String, path: String) throws {
    guard functions.contains(where: { $0.name == name }) else {
      let names = functions.map(\.name)
      throw UsageError(
        "\(path) has no function \"\(name)\"",
        hint: Arguments.nearest(to: name, in: names).map { "did you mean \($0)?" }
          ?? "its functions: \(names.joined(separator: ", "))")
    }
    functions.removeAll { $0.name != name }
    weights.removeAll { !$0.functions.contains(name) }
    parameters.count = weights.reduce(0) { $0 &+ $1.parameters }
    parameters.storedBytes = weights.reduce(0) { $0 &+ $1.storedBytes }
  }
}
