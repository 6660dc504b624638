import Foundation
import ModelToolchain
import TestSupport
import Testing

@testable import ModelCache

@Suite struct CacheRemovalTests {
  private let fixture: CacheFixture
  private var cache: BundleCache { fixture.cache }

  init() throws {
    fixture = try CacheFixture()
    for (seed, version) in ["1.9", "1.10", "2.0-beta"].enumerated() {
      try fixture.write("m.mlpackage", seed: UInt64(seed), version: version)
      _ = try cache.bundle(fixture.request())
    }
  }

  private var versions: [String] {
    get throws { try cache.entries().map(\.newestVersion) }
  }

  @Test func entriesAreInTheOrderOfTheirVersions() throws {
    #expect(try versions == ["1.9", "1.10", "2.0-beta"])
    #expect(try cache.latest(named: "m").version == "2.0-beta")
    #expect(try cache.latest(named: "m", version: "1.9").version == "1.9")
    #expect(throws: CacheError.absent(name: "m", version: "3")) {
      try cache.latest(named: "m", version: "3")
    }
    #expect(throws: CacheError.absent(name: "n", version: nil)) { try cache.latest(named: "n") }
  }

  @Test func olderVersionsStandInForDamagedOnes() throws {
    let newest = try cache.latest(named: "m")
    try Data([1]).write(to: URL(fileURLWithPath: newest.path + "/model.mil"))
    var skipped: [String] = []
    let next = try cache.latest(named: "m") { skipped.append("\($0.newestVersion) \($1)") }
    #expect(next.version == "1.10")
    #expect(skipped.count == 1 && skipped[0].hasPrefix("2.0-beta model.mil has 1 bytes"))
  }

  @Test func versionsAreLabels() throws {
    let again = try cache.bundle(fixture.request { $0.modelVersion = "2.0" })
    #expect(again.miss == nil && again.version == "2.0")
    #expect(try cache.entries().count == 3)
    #expect(try cache.latest(named: "m").version == "2.0")
    #expect(try cache.latest(named: "m", version: "2.0-beta").path == again.path)
    let removal = try cache.remove(named: "m", version: "2.0")
    #expect(removal.removed.map(\.entry?.versions) == [["2.0"]])
    #expect(try cache.latest(named: "m").version == "2.0-beta")
    #expect(try versions.count == 3)
  }

  @Test func theLastVersionTakesTheBundle() throws {
    _ = try cache.remove(named: "m")
    for _ in 0..<20 {
      for version in ["a", "b"] {
        _ = try cache.bundle(fixture.request { $0.modelVersion = version })
      }
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        do {
          _ = try cache.remove(named: "m", version: ["a", "b"][index])
        } catch { Issue.record(error) }
      }
      // An entry that stays since the other thread had its lock keeps its version.
      #expect(try cache.entries().allSatisfy { !$0.versions.isEmpty })
    }
  }

  @Test func bundlesMadeAgainKeepTheirVersions() throws {
    let path = try cache.bundle(fixture.request { $0.modelVersion = "2.0" }).path
    try Data([1]).write(to: URL(fileURLWithPath: path + "/model.mil"))
    #expect(try cache.bundle(fixture.request()).miss?.cause == .damaged)
    #expect(try cache.latest(named: "m", version: "2.0").path == path)
    #expect(try cache.latest(named: "m", version: "2.0-beta").path == path)
  }

  @Test func removal() throws {
    #expect(try cache.remove(named: "m", version: "1.9").removed.count == 1)
    #expect(try versions == ["1.10", "2.0-beta"])
    let key = try cache.latest(named: "m").entry.key.digest
    #expect(try cache.remove(named: key).removed.map(\.key) == [key])
    #expect(try cache.remove(named: "m").removed.count == 1)
    #expect(try cache.remove(named: "m").removed.isEmpty)
    #expect(try fixture.folder.files("cache/v1/locks").isEmpty)
  }

  @Test func versionLimits() throws {
    var limits = BundleCache.Limits()
    limits.versions = 2
    #expect(try cache.prune(limits).removed.count == 1)
    #expect(try versions == ["1.10", "2.0-beta"])
    limits.versions = 0
    #expect(try cache.prune(limits).removed.count == 2)
  }

  @Test func sizeLimitsTakeThoseUnusedForLongest() throws {
    let entries = try cache.entries()
    usleep(20_000)
    // 1.9 was made first, but is used last.
    try FileSystem.append([0], to: cache.folder.hits(entries[0].key.digest))
    var limits = BundleCache.Limits()
    limits.byteCount = entries[0].byteCount + entries[2].byteCount
    #expect(try cache.prune(limits).removed.map(\.key) == [entries[1].key.digest])
    #expect(try versions == ["1.9", "2.0-beta"])
    limits.byteCount = entries[0].byteCount
    _ = try cache.prune(limits)
    #expect(try versions == ["1.9"])
  }

  @Test func ageLimits() throws {
    var limits = BundleCache.Limits()
    limits.age = 3_600_000_000_000
    #expect(try cache.prune(limits).removed.isEmpty)
    limits.age = 0
    #expect(try cache.prune(limits).removed.count == 3)
  }

  @Test func whatCannotBeUsedGoes() throws {
    let entry = try cache.latest(named: "m").entry
    try Data().write(to: URL(fileURLWithPath: cache.folder.record(entry.key.digest)))
    let stray = "\(entry.key.digest)-1-x.tmp"
    try fixture.folder.write("cache/v1/work/\(stray)/entry/a", [1])
    try fixture.folder.write("cache/v1/sources/.x.1-y.tmp/file", [1])
    #expect(try cache.prune(BundleCache.Limits()).removed.map(\.key) == [entry.key.digest])
    #expect(try fixture.folder.files("cache/v1/sources").allSatisfy { $0.hasSuffix(".json") })
    #expect(try fixture.isSound())
  }

  @Test func entriesInWorkStay() throws {
    let key = try cache.latest(named: "m").entry.key.digest
    let lock = try cache.folder.lock(key)
    var limits = BundleCache.Limits()
    limits.versions = 0
    let removal = try cache.prune(limits)
    #expect(removal.busy == [key] && removal.removed.count == 2)
    withExtendedLifetime(lock) {}
  }

  @Test(arguments: [
    ("1.9", "1.10", true), ("1.0-beta", "1.0", true), ("1.0", "1.0.1", true), ("", "0.1", true),
    ("v2", "10", true), ("1.0-alpha", "1.0-beta", true), ("1.0", "1.0", false), ("01", "1", false),
    ("2024-05-01", "2024-11-30", true), ("2.0", "1.99", false),
    ("99999999999999999999998", "99999999999999999999999", true), ("1.0rc1", "1.0rc2", true),
  ]) func versionOrder(_ left: String, _ right: String, _ isOlder: Bool) {
    #expect(VersionOrder.precedes(left, right) == isOlder)
    if isOlder { #expect(!VersionOrder.precedes(right, left)) }
  }
}
