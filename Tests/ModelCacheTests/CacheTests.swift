import Foundation
import ModelToolchain
import Synchronization
import TestSupport
import Testing

@testable import ModelCache

/// A model and a cache for one test.
struct CacheFixture {
  let folder: TestFolder
  let cache: BundleCache

  init() throws {
    folder = try TestFolder()
    cache = BundleCache(directory: folder("cache"))
    try write("m.mlpackage")
  }

  var model: String { folder("m.mlpackage") }

  /// Writes a model of one weight; another seed gives other contents.
  func write(_ name: String, seed: UInt64 = 1, version: String = "1.0") throws {
    var weights = WeightMaker()
    var model = Make.model(
      8, [Make.tensor("x", [1, 4])],
      [
        Make.const("w", try weights.random(.float16, [3, 4], seed: seed)),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("y", [1, 3])),
      ], outputs: [Make.tensor("y", [1, 3])])
    var metadata = Metadata()
    metadata.version = version
    model.description?.metadata = metadata
    try TestPackage.write(model, to: folder(name))
  }

  func request(_ change: (inout BundleCache.Request) -> Void = { _ in }) -> BundleCache.Request {
    var request = BundleCache.Request(model: model)
    change(&request)
    return request
  }

  /// Whether nothing lies in the cache that no entry owns.
  func isSound() throws -> Bool {
    let keys = try cache.keys()
    let work = try folder.files("cache/v1/work")
    return work.isEmpty && keys.allSatisfy { cache.verification(of: $0) == .sound }
  }
}

@Suite struct BundleCacheTests {
  private let fixture: CacheFixture
  private var cache: BundleCache { fixture.cache }

  init() throws { fixture = try CacheFixture() }

  @Test func theSecondTimeIsAHit() throws {
    let first = try cache.bundle(fixture.request())
    #expect(first.miss?.cause == .new)
    #expect(first.path.hasSuffix("/m.mlmodelc") && first.version == "1.0")
    let second = try cache.bundle(fixture.request())
    #expect(second.miss == nil && second.path == first.path)
    #expect(second.entry == first.entry)
    #expect(cache.use(of: second.entry).hits == 1)
    #expect(try cache.entries().count == 1)
    #expect(try fixture.isSound())
    #expect(
      try ModelValidator().findings(path: first.path).filter { $0.severity != .note } == [])
  }

  @Test func changedContentIsAMiss() throws {
    let first = try cache.bundle(fixture.request())
    try fixture.write("m.mlpackage", seed: 2)
    let second = try cache.bundle(fixture.request())
    #expect(second.miss?.cause == .content)
    #expect(second.miss?.detail.contains("weight.bin") == true)
    #expect(second.entry.key.content != first.entry.key.content)
    try fixture.write("m.mlpackage", seed: 1)
    #expect(try cache.bundle(fixture.request()).path == first.path)
  }

  @Test func namesBelongToTheContent() throws {
    _ = try cache.bundle(fixture.request())
    try fixture.folder.copy(fixture.model, as: "other.mlpackage")
    let other = try cache.bundle(fixture.request { $0.model = fixture.folder("other.mlpackage") })
    #expect(other.miss?.cause == .new)
    let weights = "m.mlpackage/Data/com.apple.CoreML/weights"
    try fixture.folder.write("\(weights)/note.txt", [1])
    #expect(try cache.bundle(fixture.request()).miss?.detail.contains("new Data") == true)
  }

  @Test func targetsHaveTheirOwnEntries() throws {
    let first = try cache.bundle(fixture.request())
    let same = try cache.bundle(fixture.request { $0.targetVersion = 8 })
    #expect(same.miss == nil && same.path == first.path)
    let newer = try cache.bundle(fixture.request { $0.targetVersion = 9 })
    #expect(newer.miss?.cause == .target)
    #expect(newer.miss?.detail.contains("iOS18") == true)
    #expect(throws: BundleError.self) {
      try cache.bundle(fixture.request { $0.targetVersion = 7 })
    }
  }

  @Test func formatsHaveTheirOwnEntries() throws {
    let entry = try cache.bundle(fixture.request()).entry
    var key = entry.key
    key.format += 1
    #expect(key.digest != entry.key.digest)
    let source = try CacheSource(fixture.request(), folder: cache.folder)
    let miss = try CacheMiss(key, state: .absent, source: source.content, in: cache)
    #expect(miss.cause == .format)
  }

  @Test(arguments: ["model.mil", "weights/weight.bin", "coremldata.bin"])
  func damagedEntriesAreMadeAgain(_ name: String) throws {
    let first = try cache.bundle(fixture.request())
    let file = URL(fileURLWithPath: "\(first.path)/\(name)")
    let before = try Data(contentsOf: file)
    for damage in ["size", "bytes", "absent", "more"] {
      switch damage {
      case "size": try before.dropLast().write(to: file)
      case "bytes": try Data(before.map { $0 ^ 1 }).write(to: file)
      case "absent": try FileManager.default.removeItem(at: file)
      default: try Data([1]).write(to: URL(fileURLWithPath: "\(first.path)/extra"))
      }
      let again = try cache.bundle(fixture.request())
      #expect(again.miss?.cause == .damaged, "\(damage)")
      #expect(try Data(contentsOf: file) == before, "\(damage)")
      #expect(try fixture.isSound())
    }
  }

  @Test func onlyAHashFindsChangesBehindTheTimes() throws {
    let first = try cache.bundle(fixture.request())
    let path = "\(first.path)/model.mil"
    let bytes = try TestFiles.bytes(path)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seek(toOffset: 20)
    try handle.write(contentsOf: [bytes[20] ^ 1])
    try handle.close()
    var entry = first.entry
    let index = try #require(entry.files.firstIndex { $0.path == "model.mil" })
    entry.files[index].modified = try FileStatus(path: path).modified
    try cache.update(entry.key.digest) { $0 = entry }
    #expect(try cache.bundle(fixture.request()).miss == nil)
    #expect(
      cache.verification(of: entry.key.digest)
        == .fault("the contents of model.mil have changed"))
    let again = try cache.bundle(fixture.request { $0.verifies = true })
    #expect(again.miss?.cause == .damaged)
    #expect(try TestFiles.bytes(path) == bytes)
  }

  @Test func recordsThatCannotBeReadAreNotTrusted() throws {
    let first = try cache.bundle(fixture.request())
    let record = cache.folder.record(first.entry.key.digest)
    for bytes in [[], Array("{}".utf8), Array("{\"schema\": 9".utf8)] {
      try Data(bytes).write(to: URL(fileURLWithPath: record))
      #expect(try cache.entries().isEmpty)
      #expect(try cache.keys().count == 1)
      #expect(try cache.bundle(fixture.request()).miss?.cause == .damaged)
    }
  }

  @Test func copiedCachesAreGood() throws {
    let first = try cache.bundle(fixture.request())
    // A copy by bytes has other times.
    for file in try fixture.folder.files("cache") {
      try fixture.folder.write("copy/\(file)", fixture.folder.bytes("cache/\(file)"))
    }
    let copy = BundleCache(directory: fixture.folder("copy"))
    let found = try copy.bundle(fixture.request())
    #expect(found.miss == nil)
    #expect(found.path == first.path.replacing("/cache/", with: "/copy/"))
  }

  @Test func youngFilesAreReadAgain() throws {
    let status = FileStatus.now
    let source = try CacheSource(fixture.request(), folder: cache.folder)
    #expect(source.content.isSettled(at: status + 5_000_000_000))
    let changed = source.content.files.map(\.status.changed).max() ?? 0
    #expect(!source.content.isSettled(at: changed + 1_000_000))
    _ = try cache.bundle(fixture.request())
    // What was made just now is not remembered; after a while it is.
    usleep(60_000)
    _ = try cache.bundle(fixture.request())
    #expect(try fixture.folder.files("cache/v1/sources").count == 1)
  }

  @Test func sourcesAreRememberedByTheirStatus() throws {
    usleep(60_000)
    _ = try cache.bundle(fixture.request())
    let hashes = Tally()
    _ = try cache.bundle(
      fixture.request {
        $0.progress = { if case .hashing = $0 { hashes.count() } }
      })
    #expect(hashes.value == 0)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)],
      ofItemAtPath: fixture.model + "/Manifest.json")
    let again = try cache.bundle(
      fixture.request { $0.progress = { if case .hashing = $0 { hashes.count() } } })
    #expect(hashes.value > 0 && again.miss == nil)
  }

  @Test func archivesAndLinksAreModelsToo() throws {
    try Archive.pack(fixture.model, to: fixture.folder("m.zip"))
    let archive = try cache.bundle(fixture.request { $0.model = fixture.folder("m.zip") })
    #expect(archive.miss != nil && archive.entry.key.name == "m")
    let link = fixture.folder("link.zip")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: fixture.folder("m.zip"))
    let linked = try cache.bundle(fixture.request { $0.model = link })
    #expect(linked.entry.key.name == "link")
    #expect(linked.entry.key.content == archive.entry.key.content)
    #expect(throws: FileError.self) {
      try cache.bundle(fixture.request { $0.model = fixture.folder("none") })
    }
  }

  @Test func defaultDirectories() {
    func folder(_ environment: [String: String]) -> String? {
      BundleCache.defaultDirectory(environment: environment)
    }
    let home = ["HOME": "/home/a/"]
    #expect(folder(home) == "/home/a/.cache/mlt")
    #expect(folder(home.merging(["XDG_CACHE_HOME": "/c"]) { $1 }) == "/c/mlt")
    #expect(folder(home.merging(["XDG_CACHE_HOME": "c"]) { $1 }) == "/home/a/.cache/mlt")
    #expect(folder(home.merging(["MLT_CACHE_DIR": "x"]) { $1 }) == "x")
    #expect(folder([:]) == nil)
  }
}

/// Counts calls from any thread.
final class Tally: Sendable {
  private let number = Mutex(0)
  var value: Int { number.withLock { $0 } }
  func count() { number.withLock { $0 += 1 } }
}
