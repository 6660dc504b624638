import ModelFiles

/// Folder to archive.
enum PackCommand: Command {
  static let name = "pack"
  static let summary = "pack a package folder into an archive"
  static let options = Option.output("the archive: .zip or .pkg")
  static let discussion = """
    Packs a model into a zip archive: the same model gives the same bytes (fixed dates, sorted
    names). Without -o the archive stands beside MODEL under its name with .zip behind it.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let model = try arguments.operand("MODEL")
    let output = arguments.string("output") ?? trimmed(model) + ".zip"
    for ending in [".mlpackage", ".mlmodel", ".mlmodelc"] where output.hasSuffix(ending) {
      throw UsageError(
        "OUT is an archive, \(output) is named like a model", hint: "name it .zip or .pkg")
    }
    let container = try ModelContainer.open(path: model, readingWeights: false)
    if container.kind == .archive {
      throw Failure(
        code: 2, kind: "unsupported", message: "is an archive already", path: model)
    }
    if FileOutput.isInside(output, folder: model) {
      throw UsageError(
        "OUT lies in MODEL: the source is never written", hint: "choose another place")
    }
    try Archive.pack(model, to: output, force: arguments.has("force"))
    try report(console, command: name, input: model, output: output)
    return 0
  }
}

/// Archive to folder.
enum UnpackCommand: Command {
  static let name = "unpack"
  static let summary = "unpack an archive into a package folder"
  static let operands = "ARCHIVE"
  static let options = Option.output("the model: .mlpackage, .mlmodel or .mlmodelc")
  static let discussion = """
    Unpacks the model in a zip archive, whatever the archive is called. Without -o the model
    stands beside ARCHIVE under its name without .zip or .pkg, with the ending of its form.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let archive = try arguments.operand("ARCHIVE")
    let container = try ModelContainer.open(path: archive, readingWeights: false)
    guard container.kind == .archive else {
      throw Failure(
        code: 2, kind: "unsupported", message: "is no archive but a \(container.kind.rawValue)",
        path: archive)
    }
    let output = arguments.string("output") ?? place(for: archive, container.contents)
    if output.hasSuffix(".zip") || output.hasSuffix(".pkg") {
      throw UsageError("OUT is a model, \(output) is named like an archive")
    }
    try Archive.unpack(archive, to: output, force: arguments.has("force"))
    try report(console, command: name, input: archive, output: output)
    return 0
  }

  private static func place(for archive: String, _ contents: ContainerKind) -> String {
    var name = trimmed(archive)
    for suffix in [".zip", ".pkg"] where name.hasSuffix(suffix) && name.count > suffix.count {
      name.removeLast(suffix.count)
      break
    }
    let suffix =
      switch contents {
      case .compiled: ".mlmodelc"
      case .specification: ".mlmodel"
      default: ".mlpackage"
      }
    return name.hasSuffix(suffix) ? name : name + suffix
  }
}

private func report(_ console: Console, command: String, input: String, output: String) throws {
  if console.isJSON {
    try console.print(
      .object([
        ("schema", .integer(1)), ("command", .string(command)), ("input", .string(input)),
        ("output", .string(output)),
      ]))
  } else {
    try console.print(output)
  }
}

private func trimmed(_ path: String) -> String {
  var path = path
  while path.count > 1, path.hasSuffix("/") { path.removeLast() }
  return path
}
