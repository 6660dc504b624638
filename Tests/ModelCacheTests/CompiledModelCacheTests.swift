import Foundation
import ModelToolchain
import TestSupport
import Testing

@testable import ModelCache

@Suite struct CompiledModelCacheTests {
  @Test func callersShareOneCompilation() async throws {
    let fixture = try CacheFixture()
    let cache = try CompiledModelCache(directory: URL(fileURLWithPath: fixture.cache.directory))
    let model = URL(fileURLWithPath: fixture.model)
    let compilations = Tally()
    let bundles = try await withThrowingTaskGroup(of: CachedBundle.self) { group in
      for _ in 0..<16 {
        group.addTask {
          try await cache.bundle(for: model) { if $0 == .compiling { compilations.count() } }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(bundles.count == 16 && Set(bundles.map(\.path)).count == 1)
    // Those who share a request are told of it as well.
    #expect(compilations.value >= 1)
    #expect(try await cache.entries().count == 1)
    let latest = try await cache.latest(named: "m")
    #expect(latest.path == bundles[0].path)
    #expect(try await cache.bundle(for: model, verifying: true).miss == nil)
  }

  @Test func errorsReachEveryCallerAndAreNotKept() async throws {
    let fixture = try CacheFixture()
    let cache = try CompiledModelCache(directory: URL(fileURLWithPath: fixture.cache.directory))
    let model = URL(fileURLWithPath: fixture.folder("late.mlpackage"))
    await #expect(throws: FileError.self) { try await cache.bundle(for: model) }
    try fixture.write("late.mlpackage")
    #expect(try await cache.bundle(for: model).miss?.cause == .new)
    var limits = BundleCache.Limits()
    limits.versions = 0
    #expect(try await cache.prune(limits).removed.count == 1)
    await #expect(throws: CacheError.self) { try await cache.latest(named: "late") }
  }
}
