import Foundation
import ModelToolchain
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Processes that share a cache, are killed, or find no room.
@Suite(.serialized) struct CacheProcessTests {
  private let folder: TestFolder
  private var cache: BundleCache { BundleCache(directory: folder("cache")) }

  /// A model of one weight of 1 MB.
  init() throws {
    folder = try TestFolder()
    let bytes = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) & 0x3F }
    var weights = WeightMaker()
    let model = Make.model(
      8, [Make.tensor("x", [1, 1024])],
      [
        Make.const("w", try weights.value(.float16, [512, 1024], bytes: bytes)),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("y", [1, 512])),
      ], outputs: [Make.tensor("y", [1, 512])])
    try TestPackage.write(model, to: folder("m.mlpackage"))
  }

  private func compile(_ words: String...) -> [String] {
    ["compile", "m.mlpackage", "--cache-dir", "cache", "--json", "--quiet"] + words
  }

  private func answer(_ result: RunResult) throws -> [String: Any] {
    let json = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
    return try #require(json as? [String: Any])
  }

  /// Every entry that is there verifies.
  private func checkEntries() throws {
    for key in try cache.keys() { #expect(cache.verification(of: key) == .sound) }
  }

  @Test func killedProcessesLeaveNothingThatIsTrusted() throws {
    var numbers = RandomNumbers(seed: 4)
    let clock = ContinuousClock()
    let begin = clock.now
    #expect(try Executable.run(compile(), in: folder.path).status == 0)
    var duration = clock.now - begin
    var killed = 0
    var finished = 0
    for _ in 0..<200 {
      _ = try cache.remove(named: "m")
      try? FileManager.default.removeItem(atPath: folder("cache/v1/sources"))
      try FileManager.default.createDirectory(
        atPath: folder("cache/v1/sources"), withIntermediateDirectories: true)
      let limit = duration.components.attoseconds / 1_000_000_000_000 * 11 / 10
      let delay = UInt32.random(in: 0...UInt32(clamping: max(limit, 1000)), using: &numbers)
      let start = clock.now
      let result = try Executable.run(compile(), in: folder.path) { process in
        usleep(delay)
        kill(process, SIGKILL)
      }
      if result.status == 0 {
        finished += 1
        duration = clock.now - start
      } else {
        killed += 1
      }
      try checkEntries()
    }
    #expect(killed > 50, "\(finished) of 200 processes came to their end")
    let last = try Executable.run(compile(), in: folder.path)
    #expect(last.status == 0)
    try checkEntries()
    #expect(try folder.files("cache/v1/work").isEmpty)
    let pruned = try cache.prune(BundleCache.Limits())
    #expect(pruned.busy.isEmpty && pruned.removed.isEmpty)
  }

  @Test func manyProcessesOneCompilation() throws {
    let hits = try concurrently(32) { _ in
      try answer(Executable.run(compile(), in: folder.path))["hit"] as? Bool
    }
    #expect(hits.count { $0 == false } == 1)
    #expect(hits.count { $0 == true } == 31)
    try checkEntries()
    #expect(try cache.entries().map { cache.use(of: $0).hits } == [31])
  }

  /// Results of calls on threads of their own, so that they overlap.
  private func concurrently<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Value
  ) throws -> [Value] {
    let results = Mutex<[Result<Value, any Error>]>([])
    let group = DispatchGroup()
    for index in 0..<count {
      group.enter()
      Thread.detachNewThread {
        let result = Result { try body(index) }
        results.withLock { $0.append(result) }
        group.leave()
      }
    }
    group.wait()
    return try results.withLock { $0 }.map { try $0.get() }
  }

  @Test func aFileThatCannotGrow() throws {
    let result = try Executable.run(compile(), in: folder.path, fileSizeLimit: 1000)
    #expect(result.status == 74)
    #expect(result.error.contains("hint: name another folder with --cache-dir"))
    #expect(try cache.keys().isEmpty)
    #expect(try folder.files("cache/v1/work").isEmpty)
    #expect(try Executable.run(compile(), in: folder.path).status == 0)
    try checkEntries()
  }

  /// A script in a name space of its own, where a file system of 600 kB is the cache.
  private static func small(_ script: String) -> String {
    "unshare -m sh -c 'mkdir -p cache && mount -t tmpfs -o size=600k tmpfs cache && \(script)' \"$0\""
  }

  private static let canMount: Bool = {
    let folder = try? TestFolder()
    let result = try? Executable.run([], in: folder?.path ?? "/", script: small("true"))
    return result?.status == 0
  }()

  @Test(.enabled(if: canMount, "file systems cannot be mounted here"))
  func aDiskThatFillsUp() throws {
    let line = "\"$0\" compile m.mlpackage --cache-dir cache --json --quiet"
    let script = Self.small(
      """
      \(line); echo status $?; find cache/v1/work cache/v1/bundles -mindepth 1 | wc -l; \
      \(line) -o b.mlmodelc >/dev/null; echo status $?; \
      mount -o remount,size=4m cache; \(line) >/dev/null; echo status $?; \
      "$0" cache verify --cache-dir cache
      """)
    let result = try Executable.run([], in: folder.path, script: script)
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(
      Array(lines.suffix(5)) == [
        "status 74", "0", "status 0", "status 0", "1 of 1 bundle verify",
      ], "\(result)")
    #expect(try ModelValidator().findings(path: folder("b.mlmodelc")).isEmpty)
  }

  @Test(.enabled(if: canMount, "file systems cannot be mounted here"))
  func aCacheThatCannotBeWritten() throws {
    #expect(try Executable.run(compile(), in: folder.path).status == 0)
    try folder.copy(folder("m.mlpackage"), as: "n.mlpackage")
    let script = """
      unshare -m sh -c 'mount --bind cache cache && mount -o remount,ro,bind cache && \
      "$0" compile m.mlpackage --cache-dir cache --json --quiet; echo status $?; \
      "$0" compile n.mlpackage --cache-dir cache --quiet; echo status $?; \
      "$0" compile n.mlpackage --cache-dir cache --quiet -o n.mlmodelc; echo status $?' "$0"
      """
    let result = try Executable.run([], in: folder.path, script: script)
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(lines.contains("  \"hit\": true,"), "\(result)")
    #expect(
      Array(lines.suffix(4)) == ["status 0", "status 74", "n.mlmodelc", "status 0"], "\(result)")
    #expect(result.error.contains("Read-only file system"))
    #expect(try ModelValidator().findings(path: folder("n.mlmodelc")).isEmpty)
  }

  @Test(.enabled(if: TestFiles.exists("/dev/shm"), "there is no second file system"))
  func aCacheOnAnotherFileSystem() throws {
    let other = "/dev/shm/mlt-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: other) }
    let words = ["compile", "m.mlpackage", "--cache-dir", other, "-o", "b.mlmodelc", "--json"]
    let first = try answer(Executable.run(words, in: folder.path))
    #expect(first["hit"] as? Bool == false && first["output"] as? String == "b.mlmodelc")
    let second = try answer(Executable.run(words + ["--force"], in: folder.path))
    #expect(second["hit"] as? Bool == true && second["bytes"] as? Int == first["bytes"] as? Int)
    #expect(try ModelValidator().findings(path: folder("b.mlmodelc")).isEmpty)
  }

  @Test func textsOfTheRecordsStayInTheirLines() throws {
    #expect(
      try Executable.run(compile("--model-version", "1\n\u{1B}[31m"), in: folder.path).status == 0)
    let entry = try #require(try cache.entries().first)
    let list = try Executable.run(["cache", "list", "--cache-dir", "cache"], in: folder.path)
    #expect(list.output.contains("m     1\\n\\u{1B}[31m  iOS17"), "\(list)")
    // Times and sizes that no clock and no disk has.
    let record = "cache/v1/bundles/\(entry.key.digest)/entry.json"
    var text = String(decoding: try folder.bytes(record), as: UTF8.self)
    text = text.replacing("\"created\":\(entry.created)", with: "\"created\":\(Int64.min)")
    for file in entry.files {
      text = text.replacing("\"bytes\":\(file.bytes)", with: "\"bytes\":\(Int.max)")
    }
    try folder.write(record, Array(text.utf8))
    for (words, status) in [
      (["list"], Int32(0)), (["list", "--json"], 0), (["verify"], 1), (["prune"], 0),
    ] {
      let result = try Executable.run(
        ["cache"] + words + ["--cache-dir", "cache"], in: folder.path)
      #expect(result.status == status, "\(words): \(result)")
    }
  }
}
