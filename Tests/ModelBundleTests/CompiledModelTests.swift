import ModelFiles
import ModelGraph
import ModelSpec
import Testing

@testable import ModelInspection

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite struct CompiledModelTests {
  /// A data file: type, engine and specification version, then `body`.
  private func dataFile(
    _ type: UInt32, variant: String, version: UInt64, _ body: [UInt8]
  ) -> [UInt8] {
    func bytes(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(number >> (8 * $0) & 0xFF) } }
    func text(_ text: String) -> [UInt8] { bytes(UInt64(text.utf8.count)) + Array(text.utf8) }
    let engine = bytes(1) + bytes(0) + bytes(0) + text(variant)
    let specification = bytes(version) + bytes(0) + bytes(0) + text("")
    return Array(bytes(UInt64(type))[..<4]) + engine + specification + body
  }

  private func counted(_ bytes: [UInt8]) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) } + bytes
  }

  /// The report of a bundle of these files.
  private func report(_ files: [String: [UInt8]]) throws -> ModelReport {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "mlt-\(UInt64.random(in: 0 ... .max)).mlmodelc")
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, bytes) in files {
      let file = folder.appending(path: name)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(bytes).write(to: file)
    }
    return try ModelReport(
      compiled: ModelContainer.open(path: folder.path, readingWeights: false))
  }

  private let description: [UInt8] = {
    let type = Wire.message { $0.add(2, Wire()) }
    return Wire.message {
      $0.add(
        1,
        Wire.message {
          $0.add(1, "x")
          $0.add(3, type)
        })
    }.bytes
  }()

  private var scaler: [UInt8] {
    let model = Wire.message {
      $0.add(1, 1)
      $0.add(604, Wire.message { $0.add(2, packed: [2.0, 3.0]) })
    }
    return dataFile(604, variant: "spec", version: 1, model.bytes)
  }

  @Test func programsShowTheirInterface() throws {
    let file = dataFile(502, variant: "generic", version: 8, counted(description))
    let facts = try report(["coremldata.bin": file])
    #expect(facts.container == .compiled)
    #expect(facts.modelType == "mlProgram")
    #expect(facts.specificationVersion == 8)
    #expect(facts.minimumOS.ios == "17.0")
    #expect(facts.functions.first?.inputs.map(\.name) == ["x"])
    #expect(facts.versionReasons.isEmpty)
  }

  @Test func kindsThatStayWholeAreWhole() throws {
    let facts = try report(["coremldata.bin": scaler])
    #expect(facts.modelType == "scaler")
    #expect(facts.details["scales"]?.integer == 2)
    #expect(facts.findings.isEmpty)
  }

  @Test func pipelinesHaveTheirChildren() throws {
    let body = counted(description) + [1, 0, 0, 0, 0, 0, 0, 0] + [202, 0, 0, 0, 0, 0, 0, 0]
    let files = [
      "coremldata.bin": dataFile(202, variant: "generic", version: 1, body),
      "model0/coremldata.bin": scaler,
    ]
    #expect(try report(files).children.map(\.modelType) == ["scaler"])
    #expect(throws: (any Error).self) {
      try report(["coremldata.bin": files["coremldata.bin"] ?? []])
    }
  }

  @Test func damagedFilesAreRefused() throws {
    let file = dataFile(502, variant: "generic", version: 8, counted(description))
    for length in 1..<file.count {
      #expect(throws: (any Error).self) {
        try report(["coremldata.bin": Array(file.prefix(length))])
      }
    }
    #expect(throws: SpecError.self) {
      try report(["coremldata.bin": dataFile(77, variant: "generic", version: 8, [])])
    }
  }

  @Test(.enabled(if: Shared.isPresent, Shared.message)) func sharedBundles() throws {
    for (name, type, version) in [
      ("TokenDurationPrediction", "mlProgram", 7), ("add_model", "mlProgram", 7),
      ("photo_noise3_model", "neuralNetwork", 1), ("s4tf_model_retrained", "neuralNetwork", 4),
    ] {
      let path = (Shared.folder ?? "") + "/models/09-source-and-compiled/\(name).mlmodelc"
      let facts = try ModelReport(
        compiled: ModelContainer.open(path: path, readingWeights: false))
      #expect(facts.modelType == type)
      #expect(facts.specificationVersion == version)
      #expect(facts.functions.first?.inputs.isEmpty == false)
    }
  }
}
