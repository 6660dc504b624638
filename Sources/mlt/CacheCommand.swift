import ModelCache
import ModelFiles

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What lies in the cache of compiled bundles.
enum CacheCommand: Command {
  static let name = "cache"
  static let summary = "list, find, verify and remove compiled bundles in the cache"
  static let operands = "list|path NAME|verify|prune|remove NAME"
  static let options: [Option] = [
    .cacheDirectory,
    .value("version", "V", "path, remove: only this version of the model (path: latest)"),
    .value(
      "max-size", "SIZE", "prune: bytes that may stay, 2GB; those unused for longest go first"),
    .value("max-age", "AGE", "prune: how long an entry may be unused, 30d, 12h"),
    .value("keep-versions", "N", "prune: how many versions of each model may stay"),
  ]
  static let discussion = """
    list: every bundle with name, version, size, age and hits.
    path NAME: where the newest version of a model lies that verifies; when a newer one does not,
    standard error says so. Exit code 1 when there is none.
    verify: hashes every bundle; exit code 1 when one does not verify. The next compilation of its
    model makes it anew.
    prune: removes what is beyond the limits, what cannot be used, and what killed processes left.
    remove NAME: removes the bundles of a model; NAME may also be a key.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    guard let action = arguments.operands.first else {
      throw UsageError("what to do is missing: \(operands)")
    }
    guard let row = actions.first(where: { $0.name == action }) else {
      let near = Arguments.nearest(to: action, in: actions.map(\.name))
      throw UsageError(
        "cache does not know \"\(action)\"", hint: near.map { "did you mean \($0)?" } ?? operands)
    }
    for option in ["version", "max-size", "max-age", "keep-versions"]
    where arguments.has(option) && !row.options.contains(option) {
      throw UsageError("--\(option) does not go with cache \(action)")
    }
    let names = arguments.operands.dropFirst()
    guard names.count == (row.takesName ? 1 : 0) else {
      throw UsageError(
        row.takesName ? "cache \(action) takes one NAME" : "cache \(action) takes no NAME")
    }
    let cache = try BundleCache(arguments)
    return try row.run(cache, names.first ?? "", arguments, console)
  }

  private struct Action: Sendable {
    var name: String
    var takesName = false
    var options: [String] = []
    var run: @Sendable (BundleCache, String, Arguments, Console) throws -> Int32
  }

  private static let actions = [
    Action(name: "list") { cache, _, _, console in try list(cache, console) },
    Action(name: "path", takesName: true, options: ["version"], run: path),
    Action(name: "verify") { cache, _, _, console in try verify(cache, console) },
    Action(name: "prune", options: ["max-size", "max-age", "keep-versions"]) {
      cache, _, arguments, console in try prune(cache, arguments, console)
    },
    Action(name: "remove", takesName: true, options: ["version"], run: remove),
  ]

  // MARK: list

  private static func list(_ cache: BundleCache, _ console: Console) throws -> Int32 {
    let entries = try cache.entries()
    if console.isJSON {
      let rows = entries.flatMap { entry in
        entry.versions.map { json(entry, version: $0, cache) }
      }
      try console.print(
        .object([
          ("schema", .integer(1)), ("directory", .string(cache.directory)),
          ("total_bytes", .integer(entries.reduce(0) { $0 &+ $1.byteCount })),
          ("entries", .array(rows)),
        ]))
      return 0
    }
    var table = Table(
      ["name", "version", "target", "size", "unused for", "hits", "key"],
      alignments: [.left, .left, .left, .right, .right, .right, .left])
    for entry in entries {
      let use = cache.use(of: entry)
      for version in entry.versions {
        table.add([
          entry.key.name, version.isEmpty ? "–" : version, entry.key.targetName,
          Human.bytes(entry.byteCount), age(FileStatus.now &- use.last), "\(use.hits)",
          String(entry.key.digest.prefix(12)),
        ])
      }
    }
    let total = entries.reduce(0) { $0 &+ $1.byteCount }
    if !entries.isEmpty { try console.print(table.lines(indent: 0).joined(separator: "\n")) }
    try console.print(
      "\(Human.counted(entries.count, "bundle")), \(Human.bytes(total)) in \(cache.directory)")
    return 0
  }

  private static func json(
    _ entry: CacheEntry, version: String, _ cache: BundleCache
  ) -> JSONValue {
    let use = cache.use(of: entry)
    return .object([
      ("key", .string(entry.key.digest)), ("name", .string(entry.key.name)),
      ("version", version.isEmpty ? .null : .string(version)),
      ("source", .string(entry.source)), ("target", .string(entry.key.targetName)),
      ("bytes", .integer(entry.byteCount)), ("created", .string(date(entry.created))),
      ("last_used", .string(date(use.last))), ("hits", .integer(use.hits)),
      ("path", .string(cache.path(of: entry))),
    ])
  }

  /// A time in ISO 8601, UTC.
  private static func date(_ nanoseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(nanoseconds / 1_000_000_000)).formatted(.iso8601)
  }

  /// A duration in its largest unit.
  private static func age(_ nanoseconds: Int64) -> String {
    let seconds = max(nanoseconds, 0) / 1_000_000_000
    for (unit, length) in [("d", Int64(86400)), ("h", 3600), ("min", 60)]
    where seconds >= length {
      return "\(seconds / length) \(unit)"
    }
    return "\(seconds) s"
  }

  // MARK: path

  private static func path(
    _ cache: BundleCache, _ name: String, _ arguments: Arguments, _ console: Console
  ) throws -> Int32 {
    let version = arguments.string("version").flatMap { $0 == "latest" ? nil : $0 }
    let bundle = try cache.latest(named: name, version: version) { entry, reason in
      console.note("\(title(entry)) does not verify: \(reason)")
    }
    if console.isJSON {
      try console.print(
        .object([
          ("schema", .integer(1)), ("name", .string(name)),
          ("version", bundle.version.isEmpty ? .null : .string(bundle.version)),
          ("key", .string(bundle.entry.key.digest)), ("path", .string(bundle.path)),
        ]))
    } else {
      try console.print(bundle.path)
    }
    return 0
  }

  private static func title(_ entry: CacheEntry) -> String {
    let version = entry.newestVersion
    return version.isEmpty ? entry.key.name : "\(entry.key.name) \(version)"
  }

  // MARK: verify

  private static func verify(_ cache: BundleCache, _ console: Console) throws -> Int32 {
    let keys = try cache.keys()
    let entries = Dictionary(
      try cache.entries().map { ($0.key.digest, $0) }
    ) { first, _ in first }
    var faults: [(key: String, entry: CacheEntry?, reason: String)] = []
    var verified = 0
    for (index, key) in keys.enumerated() {
      console.progress(Double(index) / Double(keys.count), "verifying")
      switch cache.verification(of: key) {
      case .sound: verified += 1
      case .gone: break
      case .fault(let reason): faults.append((key, entries[key], reason))
      }
    }
    console.progress(nil, "")
    if console.isJSON {
      try console.print(
        .object([
          ("schema", .integer(1)), ("directory", .string(cache.directory)),
          ("verified", .integer(verified)), ("faults", rows(faults)),
        ]))
    } else {
      for fault in faults {
        try console.print("\(fault.entry.map(title) ?? fault.key): \(fault.reason)".onOneLine)
      }
      try console.print(
        "\(verified) of \(Human.counted(verified + faults.count, "bundle")) verify")
    }
    return faults.isEmpty ? 0 : 1
  }

  private static func rows(_ rows: [(key: String, entry: CacheEntry?, reason: String)]) -> JSONValue
  {
    .array(
      rows.map { key, entry, reason in
        .object([
          ("key", .string(key)), ("name", .optional(entry?.key.name)),
          (
            "version",
            .optional(entry.flatMap { $0.newestVersion.isEmpty ? nil : $0.newestVersion })
          ),
          ("bytes", .optional(entry?.byteCount)), ("reason", .string(reason)),
        ])
      })
  }

  // MARK: prune, remove

  private static func prune(
    _ cache: BundleCache, _ arguments: Arguments, _ console: Console
  ) throws -> Int32 {
    var limits = BundleCache.Limits()
    limits.byteCount = try arguments.string("max-size").map {
      try Quantity.bytes($0, option: "max-size")
    }
    limits.age = try arguments.string("max-age").map {
      try Quantity.nanoseconds($0, option: "max-age")
    }
    limits.versions = try arguments.integer("keep-versions", in: 0...Int.max)
    try show(try cache.prune(limits), cache, console)
    return 0
  }

  private static func remove(
    _ cache: BundleCache, _ name: String, _ arguments: Arguments, _ console: Console
  ) throws -> Int32 {
    let version = arguments.string("version")
    let removal = try cache.remove(named: name, version: version)
    guard !removal.removed.isEmpty || !removal.busy.isEmpty else {
      throw CacheError.absent(name: name, version: version)
    }
    try show(removal, cache, console)
    return removal.busy.isEmpty ? 0 : 1
  }

  private static func show(
    _ removal: BundleCache.Removal, _ cache: BundleCache, _ console: Console
  ) throws {
    for key in removal.busy { console.note("\(key) stays: another process works on it") }
    if console.isJSON {
      try console.print(
        .object([
          ("schema", .integer(1)), ("directory", .string(cache.directory)),
          ("removed", rows(removal.removed)), ("busy", .strings(removal.busy)),
        ]))
      return
    }
    for row in removal.removed {
      try console.print("removed \(row.entry.map(title) ?? row.key): \(row.reason)".onOneLine)
    }
    let bytes = removal.removed.reduce(0) { $0 &+ ($1.entry?.byteCount ?? 0) }
    try console.print(
      "\(Human.counted(removal.removed.count, "bundle")) removed, \(Human.bytes(bytes)) freed")
  }
}
