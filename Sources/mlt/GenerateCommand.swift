import ModelBundle
import ModelFiles

/// The Swift interface of a model.
enum GenerateCommand: Command {
  static let name = "generate"
  static let summary = "write the Swift classes that Xcode would generate for a model"
  static let options: [Option] = [
    .value(
      "output", short: "o", "FILE.swift", "where to write (default: standard output)"),
    .flag("force", "replace FILE.swift if it exists"),
  ]
  static let discussion = """
    Writes the classes through which an app uses a model: inputs, outputs, loading, predictions one
    by one, in batches, with async and with states, and the class labels that the model holds. A
    program of several functions gets classes for each. The main class is called like the model;
    names that Swift does not allow are changed. Takes packages, archives, specification files and
    compiled bundles of all kinds.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let path = try arguments.operand("MODEL")
    let output = arguments.string("output")
    if let output {
      try FileOutput.check(output, "-o", against: [(path, "MODEL")])
    } else if arguments.has("force") {
      throw UsageError("--force replaces FILE.swift", hint: "name it with -o")
    }
    let interface = try SwiftInterface(path: path)
    if let output {
      try AtomicFile.write(
        Array(interface.source.utf8), to: output, force: arguments.has("force"))
    }
    if console.isJSON {
      var fields: [(String, JSONValue)] = [
        ("schema", .integer(1)), ("output", .optional(output)),
        ("class_name", .string(interface.className)),
      ]
      if output == nil { fields.append(("source", .string(interface.source))) }
      try console.print(.object(fields))
    } else if let output {
      try console.print(output)
    } else {
      try console.write(interface.source)
    }
    return 0
  }
}
