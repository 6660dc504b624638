import Foundation
import ModelToolchain
import Synchronization
import TestSupport
import Testing

@testable import ModelCache

#if canImport(Glibc)
  import Glibc
#endif

/// Models that change at the wrong moment, and caches in which others have been at work.
@Suite struct CacheHazardTests {
  private let fixture: CacheFixture
  private var cache: BundleCache { fixture.cache }

  init() throws { fixture = try CacheFixture() }

  private static let specification = "Data/com.apple.CoreML/model.mlmodel"

  @Test func filesOfOneNameKeepTheirDigests() throws {
    for name in ["metadata.json", "analytics/coremldata.bin", "x/weights/weight.bin"] {
      try fixture.folder.write("m.mlpackage/Data/com.apple.CoreML/\(name)", [1])
    }
    let bundle = try cache.bundle(fixture.request())
    #expect(cache.verification(of: bundle.entry.key.digest) == .sound)
  }

  @Test func aSpecificationReplacedAfterItWasDecoded() throws {
    try fixture.folder.write("m.mlpackage/A.txt", [1])
    try fixture.write("n.mlpackage", version: "2.0")
    let new = fixture.folder("n.mlpackage/\(Self.specification)")
    let old = fixture.folder("m.mlpackage/\(Self.specification)")
    let request = fixture.request {
      // The first file is hashed, the specification is decoded but not hashed.
      $0.progress = { if case .hashing = $0 { rename(new, old) } }
    }
    #expect(throws: CacheError.changed(path: fixture.model)) { try cache.bundle(request) }
    #expect(try cache.bundle(fixture.request()).version == "2.0")
    #expect(try cache.entries().map(\.versions) == [["2.0"]])
  }

  @Test func aBundleThatGoesWhileItIsCopied() throws {
    let bundle = try cache.bundle(fixture.request())
    let output = try AtomicFolder(output: fixture.folder("b.mlmodelc"), force: false)
    try bundle.copy(into: output.writer)
    try output.commit()
    #expect(try fixture.folder.files("b.mlmodelc") == bundle.entry.files.map(\.path))
    _ = try cache.remove(named: "m")
    #expect(cache.verification(of: bundle.entry.key.digest) == .gone)
    let other = try AtomicFolder(output: fixture.folder("c.mlmodelc"), force: false)
    #expect(
      throws: CacheError.unusable(.missing("\(bundle.path)/\(bundle.entry.files[0].path)"))
    ) { try bundle.copy(into: other.writer) }
  }

  @Test(arguments: ["bundles", "sources", "locks", "work"])
  func foldersOfTheCacheComeBack(_ name: String) throws {
    _ = try cache.bundle(fixture.request())
    try FileManager.default.removeItem(atPath: fixture.folder("cache/v1/\(name)"))
    let removal = try cache.remove(named: "m")
    #expect(removal.removed.count == (name == "bundles" ? 0 : 1))
    #expect(try cache.bundle(fixture.request()).miss?.cause == .new)
    try FileManager.default.removeItem(atPath: fixture.folder("cache/v1/\(name)"))
    _ = try cache.prune(BundleCache.Limits())
    _ = try cache.bundle(fixture.request())
    #expect(try fixture.isSound())
  }

  @Test func aCacheThatGoesMeanwhile() throws {
    let request = fixture.request {
      $0.progress = { [folder = fixture.folder] in
        if $0 == .compiling { try? FileManager.default.removeItem(atPath: folder("cache")) }
      }
    }
    let error = #expect(throws: CacheError.self) { try cache.bundle(request) }
    guard case .unusable = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func aPipeInThePlaceOfTheHits() throws {
    let key = try cache.bundle(fixture.request()).entry.key.digest
    try #require(mkfifo(cache.folder.hits(key), 0o644) == 0)
    #expect(try cache.bundle(fixture.request()).miss == nil)
  }

  @Test func filesOfOthersStay() throws {
    let key = try cache.bundle(fixture.request()).entry.key.digest
    let lock = try cache.folder.lock(key)
    for name in ["-x", String(key.prefix(3)), "\(key)-1-x.tmp/entry/a"] {
      try fixture.folder.write("cache/v1/work/\(name)", [1])
    }
    _ = try cache.prune(BundleCache.Limits())
    withExtendedLifetime(lock) {}
    #expect(try fixture.folder.files("cache/v1/work").count == 3)
  }

  @Test func whatAKilledProcessLeftInAnEntryGoes() throws {
    let key = try cache.bundle(fixture.request()).entry.key.digest
    let stray = "cache/v1/bundles/\(key)/.entry.json.1-x.tmp/file"
    try fixture.folder.write(stray, [1])
    _ = try cache.prune(BundleCache.Limits())
    #expect(!TestFiles.exists(fixture.folder(stray)))
    try fixture.folder.write(stray, [1])
    _ = try cache.bundle(fixture.request { $0.modelVersion = "2" })
    #expect(!TestFiles.exists(fixture.folder(stray)))
  }

  @Test func recordsOfOtherEntriesAreNone() throws {
    var entry = try cache.bundle(fixture.request()).entry
    let record = cache.folder.record(entry.key.digest)
    entry.key.name = "n"
    try Data(CacheRecord.bytes(of: entry)).write(to: URL(fileURLWithPath: record))
    #expect(try cache.entries().isEmpty)
    #expect(try cache.remove(named: "n").removed.isEmpty)
  }
}
