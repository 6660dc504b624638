import ModelPasses

/// Back to plain weights.
enum DecompressCommand: Command {
  static let name = "decompress"
  static let summary = "turn compressed weights back into plain ones"
  static let options = Option.compressing
  static let discussion = """
    Every weight that constexpr operations decode becomes a plain constant of the values that
    Core ML decodes. Without -o OUT stands beside MODEL with -dense behind its name.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let command = CompressingCommand(name: name, suffix: "-dense", passSettings: [])
    return try command.run(arguments, console) { loaded, writer, compressor in
      try compressor.run(DecompressPass(), on: loaded, to: writer)
    }
  }
}
