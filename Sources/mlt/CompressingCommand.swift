import ModelFiles
import ModelGraph
import ModelPasses
import ModelSpec

extension Option {
  /// Options of the commands that compress weights.
  static let compressing: [Option] =
    output + [
      .value(
        "min-elements", "N",
        "weights of at most N elements stay (2048); given, weights of "
          + "rank 0 and 1 are taken too"),
      .value(
        "only", "PATTERN",
        "only these weights: a glob on the weight's or a consumer's name, "
          + "or op:TYPE (repeatable)", repeatable: true),
      .value(
        "skip", "PATTERN", "not these weights; wins over --only (repeatable)",
        repeatable: true),
      .value("function", "NAME", "only weights that this function uses"),
      .targetSystem("the version to write for (default: the lowest that can hold the scheme)"),
      .flag("strict", "a weight that must be skipped for its values is an error"),
      .flag("dry-run", "the ledger only, nothing is written"),
      .value("report", "FILE", "write the ledger as JSON to FILE"),
    ]
}

/// What the compressing commands share.
struct CompressingCommand {
  var name: String
  /// What is put behind the model's name when there is no -o.
  var suffix: String
  /// The pass's settings for the ledger.
  var passSettings: [(String, JSONValue)]
  /// Settings for the ledger that depend on the model.
  var modelSettings: (Model) -> [(String, JSONValue)] = { _ in [] }

  /// Reads the shared options.
  static func settings(_ arguments: Arguments) throws -> CompressionSettings {
    var settings = CompressionSettings()
    settings.minimumElements = try arguments.integer("min-elements", in: 0...Int.max)
    settings.only = arguments.strings("only").map(WeightPattern.init)
    settings.skip = arguments.strings("skip").map(WeightPattern.init)
    settings.function = arguments.string("function")
    settings.isStrict = arguments.has("strict")
    settings.targetVersion = arguments.targetVersion
    return settings
  }

  /// Opens the model, lets `compress` work on it, prints and stores the ledger.
  func run(
    _ arguments: Arguments, _ console: Console,
    compress: (LoadedModel, PackageWriter?, Compressor) throws -> Ledger
  ) throws -> Int32 {
    let input = try arguments.operand("MODEL")
    var compressor = Compressor(
      settings: try CompressingCommand.settings(arguments), parallel: console.parallel)
    let label = name
    compressor.progress = { console.progress($0, label) }
    let loaded = try LoadedModel(path: input)
    let output = try self.output(arguments, input: input, container: loaded.container)
    compressor.outputForm = OutputForm(path: output)
    for option in ["report", "save-config"] {
      guard let file = arguments.string(option) else { continue }
      try FileOutput.check(
        file, "--\(option)", against: [(input, "MODEL"), (output, "OUT")])
    }
    let isDry = arguments.has("dry-run")
    let writer = isDry ? nil : try PackageWriter(output: output, force: arguments.has("force"))
    if let writer, writer.form == .specification, !loaded.weightFileNames.isEmpty {
      writer.discard()
      throw UsageError(
        "an ML Program needs a package for its weights, \(output) would be a file",
        hint: "name it .mlpackage, .zip or .pkg")
    }
    let ledger: Ledger
    do {
      ledger = try compress(loaded, writer, compressor)
    } catch {
      writer?.discard()
      throw error
    }
    console.progress(nil, "")
    warn(ledger.warnings, console)
    let isWritten = !isDry && ledger.hasCompressed
    let json = LedgerText.json(
      ledger, command: name, input: input, output: isWritten ? output : nil,
      settings: try settingsJSON(arguments, loaded.model))
    if let report = arguments.string("report") {
      try FileOutput.write(json.text + "\n", to: report)
    }
    if console.isJSON {
      try console.print(json)
    } else {
      for line in LedgerText.lines(ledger, output: isWritten ? output : nil, isDry: isDry) {
        try console.print(line)
      }
    }
    return ledger.hasCompressed ? 0 : 1
  }

  /// Tells the first warnings; the JSON ledger has all.
  private func warn(_ warnings: [String], _ console: Console) {
    let shown = 10
    for warning in warnings.prefix(shown) { console.note("warning: \(warning)") }
    if warnings.count > shown {
      console.note("warning: \(warnings.count - shown) more like these are in the --report")
    }
  }

  private func settingsJSON(_ arguments: Arguments, _ model: Model) throws -> JSONValue {
    .object(
      passSettings + modelSettings(model) + [
        (
          "min_elements",
          .optional(try arguments.integer("min-elements", in: 0...Int.max))
        ), ("only", .strings(arguments.strings("only"))),
        ("skip", .strings(arguments.strings("skip"))),
        ("function", .optional(arguments.string("function"))),
        ("target_os", .optional(arguments.string("target-os"))),
        ("strict", .bool(arguments.has("strict"))), ("dry_run", .bool(arguments.has("dry-run"))),
      ])
  }

  private func output(
    _ arguments: Arguments, input: String, container: ModelContainer
  ) throws -> String {
    let output = arguments.string("output") ?? defaultOutput(input, container.kind)
    if FileOutput.isSame(output, input) {
      throw UsageError("OUT is MODEL: the source is never written", hint: "choose another name")
    }
    if container.kind != .archive, FileOutput.isInside(output, folder: input) {
      throw UsageError(
        "OUT lies in MODEL: the source is never written", hint: "choose another place")
    }
    return output
  }

  /// The model's name with the suffix before its ending.
  private func defaultOutput(_ input: String, _ kind: ContainerKind) -> String {
    var stem = input
    while stem.count > 1, stem.hasSuffix("/") { stem.removeLast() }
    var ending = ""
    let endings =
      kind == .archive
      ? [".mlpackage.zip", ".mlmodel.zip", ".zip", ".pkg"] : [".mlpackage", ".mlmodel"]
    for candidate in endings where stem.hasSuffix(candidate) && stem.count > candidate.count {
      stem.removeLast(candidate.count)
      ending = candidate
      break
    }
    if ending.isEmpty {
      switch kind {
      case .archive: ending = ".zip"
      case .specification: ending = ".mlmodel"
      default: ending = ".mlpackage"
      }
    }
    return stem + suffix + ending
  }
}
