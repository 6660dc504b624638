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

/// The example of docs/cache.md.
private struct BundleService {
  let cache: CompiledModelCache

  init(folder: URL) throws { cache = try CompiledModelCache(directory: folder) }

  func publish(_ package: URL, version: String) async throws -> String {
    let bundle = try await cache.bundle(for: package, modelVersion: version) { progress in
      if case .hashing(let share) = progress { print("reading \(Int(share * 100)) %") }
    }
    if let miss = bundle.miss { print("compiled, \(miss.description)") }
    return bundle.path
  }

  func newest(_ name: String) async throws -> URL {
    URL(fileURLWithPath: try await cache.latest(named: name).path)
  }

  func clean() async throws {
    var limits = BundleCache.Limits()
    limits.byteCount = 20_000_000_000
    limits.versions = 3
    try await cache.prune(limits)
  }
}

@Suite struct CacheExampleTests {
  @Test func theExampleOfTheDocumentation() async throws {
    let fixture = try CacheFixture()
    let service = try BundleService(folder: URL(fileURLWithPath: fixture.cache.directory))
    let path = try await service.publish(URL(fileURLWithPath: fixture.model), version: "2.0")
    #expect(try await service.newest("m").path == path)
    try await service.clean()
    #expect(try await service.newest("m").path == path)
  }

  @Test func theDocumentationHasThisExample() throws {
    let page = String(
      decoding: try TestFiles.bytes("\(TestData.package)/docs/cache.md"), as: UTF8.self)
    let source = String(decoding: try TestFiles.bytes(#filePath), as: UTF8.self)
    for line in source.split(separator: "\n").drop(while: { !$0.hasPrefix("private struct") })
      .dropFirst().prefix(while: { !$0.hasPrefix("}") })
    { #expect(page.contains(line), "\(line)") }
  }
}
