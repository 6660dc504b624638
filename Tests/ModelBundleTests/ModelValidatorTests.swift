import ModelFiles
import ModelGraph
import ModelOperations
import TestSupport
import Testing

@testable import ModelBundle

@Suite struct ModelValidatorTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    var weights = WeightMaker()
    let model = Make.model(
      9, [Make.tensor("x", [1, 4])],
      [
        Make.const("w", try weights.random(.float16, [3, 4])),
        Make.operation("linear", ["x": "x", "weight": "w"], Make.tensor("y", [1, 3])),
      ], outputs: [Make.tensor("y", [1, 3])])
    try TestPackage.write(model, to: folder("m.mlpackage"))
    let output = try AtomicFolder(output: folder("b.mlmodelc"), force: false)
    _ = try BundleCompiler(name: "m").compile(
      .init(path: folder("m.mlpackage")), into: output.writer)
    try output.commit()
  }

  private func codes(_ name: String, oldest: Int? = nil) throws -> [Finding.Code] {
    try ModelValidator(oldestVersion: oldest).findings(path: folder(name)).map(\.code)
  }

  @Test func goodModelsHaveNoFindings() throws {
    #expect(try codes("m.mlpackage") == [])
    #expect(try codes("b.mlmodelc") == [])
  }

  @Test func declaredShapesThatAreWrong() throws {
    let x = Make.tensor("x", [1, 4])
    func findings(_ input: String) throws -> [Finding] {
      let model = Make.model(
        9, [x], [Make.operation("relu", ["x": input], Make.tensor("y", [1, 5]))],
        outputs: [Make.tensor("y", [1, 5])])
      try TestPackage.write(model, to: folder("\(input).mlpackage"))
      return try ModelValidator().findings(path: folder("\(input).mlpackage"))
    }
    let wrong = try findings("x")
    #expect(wrong.map(\.code) == [.shape])
    #expect(wrong.map(\.place) == ["main/y"])
    // What follows from another fault is not told.
    #expect(try findings("nothing").map(\.code) == [.undefinedName])
  }

  @Test func systemsThatAreTooOld() throws {
    #expect(try codes("m.mlpackage", oldest: 9) == [])
    #expect(try codes("m.mlpackage", oldest: 8) == [.minimumOS])
    #expect(try codes("b.mlmodelc", oldest: 8) == [.minimumOS])
  }

  @Test(arguments: ["m.mlpackage/Data/com.apple.CoreML", "b.mlmodelc"])
  func weightFilesThatAreCutOrGone(_ place: String) throws {
    let model = place.split(separator: "/").first.map(String.init) ?? ""
    let file = "\(place)/weights/weight.bin"
    let bytes = try folder.bytes(file)
    try folder.write(file, Array(bytes.prefix(bytes.count - 64)))
    #expect(try codes(model) == [.blob])
    try folder.write(file, [])
    #expect(try codes(model) == [.blob])
    // The element type of the first record: 1 is fp16, 2 is fp32.
    var other = bytes
    other[68] = 2
    try folder.write(file, other)
    #expect(try codes(model) == [.blob])
  }

  private func change(_ change: (inout BundleData) -> Void) throws {
    let name = "b.mlmodelc/coremldata.bin"
    var data = try folder.bytes(name).withUnsafeBytes { try BundleData($0, path: name) }
    change(&data)
    try folder.write(name, data.bytes)
  }

  @Test func trailersThatDoNotFit() throws {
    try change { data in
      if case .compiled(let description, _) = data.content {
        data.content = .compiled(description: description, trailer: .program(records: 0))
      }
    }
    #expect(try codes("b.mlmodelc") == [.bundle])
  }

  @Test func versionsThatDoNotAgree() throws {
    try change { $0.versions[1].major = 8 }
    // The text, metadata.json and the functions' opset are of another version.
    let findings = try ModelValidator().findings(path: folder("b.mlmodelc"))
    #expect(Set(findings.map(\.code)) == [.bundle, .opset])
    #expect(findings.count { $0.code == .bundle } == 2)
  }

  @Test func summariesThatAreDamaged() throws {
    try folder.write("b.mlmodelc/metadata.json", Array("{".utf8))
    try folder.write("b.mlmodelc/analytics/coremldata.bin", [1, 2, 3])
    let findings = try ModelValidator().findings(path: folder("b.mlmodelc"))
    #expect(findings.map(\.severity) == [.warning, .warning])
    #expect(findings.map(\.place) == ["metadata.json", "analytics/coremldata.bin"])
  }
}
