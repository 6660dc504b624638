import ModelCompression
import ModelFiles
import ModelGraph
import ModelPasses
import ModelSpec

/// Configurations and recipes.
enum CompressCommand: Command {
  static let name = "compress"
  static let summary = "compress by a configuration, or to a size with schemes chosen per weight"
  static let options =
    [
      Option.value(
        "config", "FILE",
        "YAML or JSON with coremltools' keys and option names; a list "
          + "of documents applies in order"),
      .value("target-bits", "B", "choose schemes per weight for B bits per parameter"),
      .value(
        "target-size", "SIZE",
        "choose schemes per weight for a model of SIZE, unpacked: 5MB, 800kB"),
      .value(
        "menu", "NAMES",
        "schemes to choose from, such as int8,lut4,sparse75 (default: all that suit the model; "
          + "uint8, uint4 and lut1 for ML Programs only by name)"),
      .value("save-config", "FILE", "write the chosen recipe as a configuration"),
    ] + Option.compressing
  static let discussion = """
    One of --config, --target-bits and --target-size. A configuration says which scheme goes to
    which weight: op_name_configs before op_type_configs before global_config; names may be globs
    or /regular expressions/; null keeps a weight. A target tries every scheme of the menu on
    every weight and takes those of least squared error per byte saved. Neural networks take
    the schemes that they can hold. Without -o OUT stands beside MODEL with -compressed behind
    its name.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let given = ["config", "target-bits", "target-size"].filter(arguments.has)
    guard given.count == 1 else {
      throw UsageError(
        given.isEmpty
          ? "one of --config, --target-bits and --target-size is needed"
          : "--\(given[0]) does not go with --\(given[1])")
    }
    for option in ["menu", "save-config"] where given[0] == "config" && arguments.has(option) {
      throw UsageError("--\(option) goes with --target-bits or --target-size")
    }
    return given[0] == "config"
      ? try configured(arguments, console) : try chosen(arguments, console)
  }

  private static func configured(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let file = arguments.string("config") ?? ""
    let configs: [CompressionConfig]
    do {
      let mapped = try MappedFile(path: file)
      configs = try CompressionConfig.documents(mapped.withBytes { Array($0) })
    } catch let error as ConfigError {
      throw Failure(code: 64, kind: "usage", message: error.description, path: file)
    }
    let command = CompressingCommand(
      name: name, suffix: "-compressed", passSettings: [("config", .string(file))])
    return try command.run(arguments, console) { loaded, writer, compressor in
      try compressor.run(configs.map { ConfigPass($0) }, on: loaded, to: writer)
    }
  }

  private static func chosen(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let names = arguments.string("menu")?.split(separator: ",").map(String.init)
    if let names, names.isEmpty { throw UsageError("--menu is a list such as int8,lut4") }
    let given = try names.map(MenuScheme.menu)
    let bits = try arguments.string("target-bits").map(parseBits)
    let size = try arguments.string("target-size").map {
      try Quantity.bytes($0, option: "target-size")
    }
    let command = CompressingCommand(
      name: name, suffix: "-compressed",
      passSettings: [
        ("target_bits", .optional(bits)), ("target_size", .optional(size)),
      ],
      modelSettings: { model in
        [("menu", .strings((given ?? MenuScheme.menu(for: model)).map(\.name)))]
      })
    return try command.run(arguments, console) { loaded, writer, compressor in
      let menu = given ?? MenuScheme.menu(for: loaded.model)
      let search = RecipeSearch(
        menu: menu, settings: compressor.settings, parallel: compressor.parallel)
      let forms = try search.measure(loaded)
      let recipe =
        try bits.map { try choose(forms, .bits($0), loaded) }
        ?? fitted(forms, menu, size: size ?? 0, loaded, compressor)
      if let file = arguments.string("save-config") {
        try FileOutput.write(recipe.configuration, to: file)
      }
      if !console.isJSON {
        for line in lines(recipe) { try console.print(line) }
      }
      return try compressor.run(recipe.pass, on: loaded, to: writer)
    }
  }

  private static func choose(
    _ forms: MeasuredForms, _ goal: RecipeSearch.Goal, _ loaded: LoadedModel
  ) throws -> ChosenRecipe {
    guard let recipe = forms.choose(goal) else {
      throw Failure(
        code: 1, kind: "refused",
        message:
          "no recipe of the menu is that small: \(Human.bytes(forms.leastBytes)) is the least "
          + "for the weights that can be compressed", path: loaded.container.path)
    }
    return recipe
  }

  /// The recipe whose written model keeps to `size`: what the model takes beside the candidates is
  /// measured with a dry run, and the room for them narrowed until it fits.
  private static func fitted(
    _ forms: MeasuredForms, _ menu: [MenuScheme], size: Int, _ loaded: LoadedModel,
    _ compressor: Compressor
  ) throws -> ChosenRecipe {
    let writtenBytes = { (recipe: ChosenRecipe) in
      try compressor.run(recipe.pass, on: loaded, to: nil).writtenBytes
        ?? loaded.container.totalBytes
    }
    // What a model takes beside its weights depends on the schemes, so that single schemes are
    // tried as they are.
    var best: ChosenRecipe?
    for scheme in menu {
      guard let recipe = forms.uniform(scheme), best.map({ recipe.error < $0.error }) ?? true,
        try writtenBytes(recipe) <= size
      else { continue }
      best = recipe
    }
    var room = size
    for _ in 0..<12 {
      guard room > 0, let recipe = forms.choose(.bytes(room)) else { break }
      let total = try writtenBytes(recipe)
      if total <= size {
        return best.map { $0.error < recipe.error ? $0 : recipe } ?? recipe
      }
      room = min(room, recipe.bytes) - (total - size)
    }
    if let best { return best }
    let least = try choose(forms, .bytes(forms.leastBytes), loaded)
    let total = try writtenBytes(least)
    guard total <= size else {
      throw Failure(
        code: 1, kind: "refused",
        message: "no recipe of the menu makes the model that small: \(Human.bytes(total)) is the "
          + "least", path: loaded.container.path)
    }
    return least
  }

  private static func parseBits(_ text: String) throws -> Double {
    guard let bits = Double(text), bits > 0, bits <= 64 else {
      throw UsageError("--target-bits is a number of bits per parameter, such as 4.2")
    }
    return bits
  }

  private static func lines(_ recipe: ChosenRecipe) -> [String] {
    var counts: [(name: String, weights: Int, bytes: Int)] = []
    for entry in recipe.entries {
      let name = entry.scheme?.name ?? "as it is"
      if let place = counts.firstIndex(where: { $0.name == name }) {
        counts[place].weights += 1
        counts[place].bytes += entry.bytes
      } else {
        counts.append((name, 1, entry.bytes))
      }
    }
    var table = Table(
      ["recipe", "weights", "bytes"], alignments: [.left, .right, .right])
    for row in counts { table.add([row.name, "\(row.weights)", Human.bytes(row.bytes)]) }
    return table.lines(indent: 0) + [""]
  }
}
