import ModelTensors

/// The executable: finds the command, runs it, turns errors into exit codes.
enum Toolchain {
  static let version = "0.1.0"

  static let commands: [any Command.Type] = [
    InspectCommand.self, QuantizeCommand.self, PalettizeCommand.self, PruneCommand.self,
    CompressCommand.self,
    DecompressCommand.self,
    PackCommand.self, UnpackCommand.self, ValidateCommand.self, PlanCommand.self,
    CompileCommand.self, GenerateCommand.self, CacheCommand.self,
  ]

  static var help: String {
    var table = Table(alignments: [.left, .left])
    for command in commands { table.add([command.name, command.summary]) }
    let lines =
      [
        "usage: mlt COMMAND [options] MODEL…", "",
        "Reads, inspects, compresses, plans and compiles Core ML models.", "", "Commands",
      ] + table.lines() + [
        "", "mlt COMMAND --help tells the options of a command; mlt --version the version.",
        "Exit codes: 0 done, 1 a check failed or nothing was compressed, 2 the model cannot be",
        "used, 64 wrong usage, 74 the system refused a read or write.",
      ]
    return lines.joined(separator: "\n") + "\n"
  }

  /// Runs the command line `words` and returns the exit code.
  static func main(_ words: [String]) -> Int32 {
    // What is wrong with the command line itself is reported in the form that it asks for.
    let asksForJSON = words.prefix { $0 != "--" }.contains("--json")
    let bare = Console(isJSON: asksForJSON)
    do {
      guard let word = words.first else {
        try? bare.print(help)
        return 64
      }
      switch word {
      case "-h", "--help", "help":
        if word == "help", words.count > 1, let command = try command(named: words[1]) {
          try bare.print(command.help)
        } else {
          try bare.print(help)
        }
        return 0
      case "--version", "version":
        try bare.print("mlt \(version)")
        return 0
      default: break
      }
      guard let command = try command(named: word) else { return 64 }
      return try run(command, Array(words.dropFirst()))
    } catch {
      let failure = Failure(error, model: "")
      bare.report(failure)
      return failure.code
    }
  }

  private static func command(named word: String) throws -> (any Command.Type)? {
    if let command = commands.first(where: { $0.name == word }) { return command }
    if word.hasPrefix("-") {
      throw UsageError("a command comes first, not \(word)", hint: "see mlt --help")
    }
    let near = Arguments.nearest(to: word, in: commands.map { $0.name })
    throw UsageError(
      "unknown command \"\(word)\"", hint: near.map { "did you mean \($0)?" } ?? "see mlt --help")
  }

  private static func run(_ command: any Command.Type, _ words: [String]) throws -> Int32 {
    if words.prefix(while: { $0 != "--" }).contains(where: { $0 == "-h" || $0 == "--help" }) {
      try Console().print(command.help)
      return 0
    }
    let arguments = try Arguments(words, options: command.options + Option.common)
    let console = Console(
      isJSON: arguments.has("json"), isQuiet: arguments.has("quiet"),
      parallel: Parallel(threads: try arguments.integer("threads", in: 1...1024)))
    do {
      return try command.run(arguments, console)
    } catch {
      console.progress(nil, "")
      let failure = Failure(error, model: arguments.operands.first ?? "")
      console.report(failure)
      return failure.code
    }
  }
}
