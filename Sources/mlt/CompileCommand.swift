import ModelBundle
import ModelCache
import ModelFiles
import ModelGraph
import ModelSpec

/// Package to compiled bundle.
enum CompileCommand: Command {
  static let name = "compile"
  static let summary = "make a compiled bundle (.mlmodelc), through the cache"
  static let options: [Option] = [
    .value(
      "output", short: "o", "OUT", "where to write the bundle (default: it stays in the cache)"),
    .flag("force", "replace OUT if it exists"),
    .targetSystem(
      "the system that shall load the bundle (default: the first that loads the model)"),
    .value(
      "model-version", "V",
      "the version under which mlt cache path finds the bundle (default: that of the model)"),
    .cacheDirectory,
    .flag(
      "no-cache", "neither look into the cache nor write it; without -o OUT stands beside MODEL"),
    .flag("verify", "hash the cached bundle before it is used"),
    .flag("explain", "say what the bundle is found by and why it was made anew"),
  ]
  static let discussion = """
    Compiles ML Programs, trees, linear and other classic models, and pipelines of them. The bundle
    of a model that has not changed comes from the cache. Prints where the bundle is; without -o it
    stays in the cache, from where it may be copied but where it must not be changed. Notes tell
    which parts of the bundle rest on reports or inference instead of files of Apple's compiler.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let model = try arguments.operand("MODEL")
    let output = try self.output(arguments, model: model)
    let target = arguments.targetVersion
    let outcome: Outcome
    if arguments.has("no-cache") {
      for option in ["cache-dir", "verify", "explain", "model-version"] where arguments.has(option)
      {
        throw UsageError("--\(option) is about the cache, which --no-cache leaves out")
      }
      let place = output ?? ModelName.besides(model) + ".mlmodelc"
      try FileOutput.check(place, "--no-cache without -o", against: [(model, "MODEL")])
      outcome = try compile(model, to: place, target, arguments, reason: "no-cache")
    } else {
      outcome = try cached(model, to: output, target, arguments, console)
    }
    console.progress(nil, "")
    report(outcome, console)
    if console.isJSON {
      try console.print(outcome.json)
    } else {
      try console.print(outcome.output)
    }
    return 0
  }

  /// What was made or found.
  private struct Outcome {
    var output: String
    var key: String?
    var isHit: Bool
    /// Why the bundle was made; nil for a hit.
    var reason: String?
    var byteCount: Int
    var result: BundleCompiler.Result

    var json: JSONValue {
      .object([
        ("schema", .integer(1)), ("output", .string(output)), ("key", .optional(key)),
        ("hit", .bool(isHit)), ("reason", .optional(reason)), ("bytes", .integer(byteCount)),
        ("unproved", .strings(result.unproved)), ("dropped", .strings(result.dropped)),
      ])
    }
  }

  private static func report(_ outcome: Outcome, _ console: Console) {
    if !outcome.result.unproved.isEmpty {
      console.note("what of this bundle rests on reports or inference:")
      for part in outcome.result.unproved { console.note("  \(part)") }
    }
    if !outcome.result.dropped.isEmpty {
      console.note("what the model holds and a bundle cannot:")
      for part in outcome.result.dropped { console.note("  \(part)") }
    }
  }

  /// Compiles to a place, without the cache.
  private static func compile(
    _ model: String, to output: String, _ target: Int?, _ arguments: Arguments, reason: String
  ) throws -> Outcome {
    let loaded = try LoadedModel(path: model)
    let compiler = BundleCompiler(name: ModelName.stem(of: model), targetVersion: target)
    try compiler.check(loaded.model)
    let folder = try AtomicFolder(output: output, force: arguments.has("force"))
    let result: BundleCompiler.Result
    do {
      result = try compiler.compile(loaded, into: folder.writer)
      try folder.commit()
    } catch {
      folder.discard()
      throw error
    }
    let size = try ModelContainer.open(path: output).totalBytes
    return Outcome(
      output: output, key: nil, isHit: false, reason: reason, byteCount: size, result: result)
  }

  /// Gets the bundle from the cache, and copies it to a place where one is given.
  private static func cached(
    _ model: String, to output: String?, _ target: Int?, _ arguments: Arguments,
    _ console: Console
  ) throws -> Outcome {
    let cache = try BundleCache(arguments)
    // A folder that is no package is told to be none.
    var others = FileStatus.isFile(model + "/Manifest.json") ? [(model, "MODEL")] : []
    if let output {
      others.append((output, "OUT"))
      try FileOutput.check(output, "-o", against: [(cache.directory + "/v1", "the cache")])
    }
    try FileOutput.check(cache.directory, "the cache", against: others)
    let folder = try output.map {
      try AtomicFolder(output: $0, force: arguments.has("force"))
    }
    defer { folder?.discard() }
    var request = BundleCache.Request(model: model)
    request.targetVersion = target
    request.modelVersion = arguments.string("model-version")
    request.verifies = arguments.has("verify")
    request.progress = { progress in
      switch progress {
      case .hashing(let share): console.progress(share, "reading the model")
      case .waiting: console.note("another process compiles this model; waiting for it")
      case .compiling: console.progress(1, "writing the bundle")
      }
    }
    let bundle: CachedBundle
    do {
      bundle = try cache.bundle(request)
      if let folder { try bundle.copy(into: folder.writer) }
    } catch let error as CacheError {
      // A cache that cannot be used, or whose bundle goes meanwhile, keeps nobody from one elsewhere.
      guard case .unusable = error, let output else { throw error }
      console.note("\(error)")
      folder?.discard()
      return try compile(model, to: output, target, arguments, reason: "\(error)")
    }
    if arguments.has("explain") { explain(bundle, console) }
    try folder?.commit()
    var result = BundleCompiler.Result()
    result.unproved = bundle.entry.unproved
    result.dropped = bundle.entry.dropped
    return Outcome(
      output: output ?? bundle.path, key: bundle.entry.key.digest, isHit: bundle.miss == nil,
      reason: bundle.miss?.description, byteCount: bundle.entry.byteCount, result: result)
  }

  private static func explain(_ bundle: CachedBundle, _ console: Console) {
    let key = bundle.entry.key
    console.note("key \(key.digest)")
    console.note("  name    \(key.name)")
    console.note("  content \(key.content)")
    console.note("  target  \(key.targetName)")
    console.note("  format  \(key.format)")
    console.note(bundle.miss.map { "missed, \($0.description)" } ?? "found")
  }

  private static func output(_ arguments: Arguments, model: String) throws -> String? {
    guard let output = arguments.string("output") else {
      if arguments.has("force") && !arguments.has("no-cache") {
        throw UsageError("--force replaces OUT", hint: "name it with -o")
      }
      return nil
    }
    for ending in [".mlpackage", ".mlmodel", ".zip", ".pkg"]
    where PathNames.trimmed(output).hasSuffix(ending) {
      throw UsageError(
        "OUT is a compiled bundle, \(output) is named like another form",
        hint: "name it .mlmodelc; mlt pack makes an archive of it")
    }
    try FileOutput.check(output, "-o", against: [(model, "MODEL")])
    return output
  }
}
