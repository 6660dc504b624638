import ModelFiles
import ModelGraph
import ModelSpec
import TestSupport
import Testing

@testable import ModelBundle

@Suite struct BundleDataTests {
  typealias Version = BundleData.Version

  private func decode(_ bytes: [UInt8]) throws -> BundleData {
    try bytes.withUnsafeBytes { bytes in try BundleData(bytes, path: "file") }
  }

  private static let contents: [(UInt32, Version, BundleData.Content)] = [
    (
      502, Version(5, variant: "generic"),
      .compiled(description: [1, 2], trailer: .program(records: 2))
    ),
    (
      500, Version(3, variant: "generic"),
      .compiled(description: [], trailer: .neuralNetwork(outputs: ["a", "b"]))
    ),
    (
      403, Version(1, 2, 1, variant: "generic"),
      .compiled(
        description: [3],
        trailer: .classifier(labels: ["cat", "dog"], probabilities: "p", outputs: ["o"]))
    ),
    (
      200, Version(1, 0, 1, variant: "generic.model0v1.0.0spec"),
      .compiled(description: [3], trailer: .pipeline(models: 1))
    ),
    (303, Version(3, variant: "generic"), .compiled(description: [], trailer: .unknown([7, 7]))),
    (
      502, Version(5, variant: "generic"),
      .compiled(description: [], trailer: .unknown([UInt8](repeating: 1, count: 16)))
    ),
    (604, Version(1, variant: "spec"), .specification([1, 2, 3])),
  ]

  @Test func readsWhatItWrites() throws {
    for (number, engine, content) in Self.contents {
      let data = BundleData(
        typeNumber: number, engine: engine, specification: 7, content: content)
      let again = try decode(data.bytes)
      #expect(again == data)
      #expect(again.bytes == data.bytes)
      #expect(again.engine == engine && again.specification.major == 7)
    }
  }

  @Test func anySpecificationIsTheOtherVersionWhenSwapped() throws {
    var data = BundleData(
      typeNumber: 604, engine: Version(1, variant: "spec"), specification: 1,
      content: .specification([8, 1]))
    data.versions.reverse()
    let again = try decode(data.bytes)
    #expect(again.engine.variant == "spec")
    #expect(again.content == .specification([8, 1]))
    #expect(again.bytes == data.bytes)
  }

  @Test func everyCutIsRefusedOrRead() throws {
    for (number, engine, content) in Self.contents {
      let bytes = BundleData(
        typeNumber: number, engine: engine, specification: 7, content: content
      ).bytes
      for length in 0..<bytes.count {
        // Behind the interface any trailer is kept as it is.
        if let data = try? decode(Array(bytes.prefix(length))) {
          #expect(data.bytes == Array(bytes.prefix(length)))
        }
      }
    }
  }

  @Test func absurdLengthsAreRefused() {
    var writer = LittleEndianWriter()
    writer.add(UInt32(502))
    for _ in 0..<3 { writer.add(UInt64(1)) }
    writer.add(UInt64.max)
    #expect(throws: SpecError.self) { try decode(writer.bytes) }
  }

  @Test func analyticsReadWhatTheyWrite() throws {
    typealias Section = AnalyticsData.Section
    let data = AnalyticsData(sections: [
      Section("One", []),
      Section("Two", [AnalyticsData.Entry("k", "v"), AnalyticsData.Entry("", "ü")]),
    ])
    let bytes = data.bytes
    let again = try bytes.withUnsafeBytes { bytes in
      try AnalyticsData(bytes, path: "file")
    }
    #expect(again == data)
    for length in [1, 8, bytes.count - 1] {
      #expect(throws: SpecError.self) {
        try Array(bytes.prefix(length)).withUnsafeBytes { bytes in
          _ = try AnalyticsData(bytes, path: "file")
        }
      }
    }
  }
}
