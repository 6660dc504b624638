import Foundation
import ModelToolchain
import TestSupport
import Testing

/// Generated interfaces are Swift: the compiler parses that of every model at hand, and checks the
/// types of a choice of them against declarations like Core ML's.
@Suite(
  .enabled(if: SwiftCompiler.path != nil, Comment(rawValue: SwiftCompiler.absence)), .serialized)
struct InterfaceSourceTests {
  @Test(.enabled(if: !MILTextTests.models.isEmpty, Comment(rawValue: TestData.absence)))
  func everyInterfaceParses() throws {
    let folder = try TestFolder()
    var files: [String] = []
    for path in MILTextTests.models {
      let name = "m\(files.count).swift"
      try folder.write(name, Array(SwiftInterface(path: path).source.utf8))
      files.append(name)
    }
    let complaint = try SwiftCompiler.complaint(
      ["-frontend", "-parse"], files: files, in: folder)
    #expect(complaint == nil)
  }

  /// Models of every kind that lie in the package; their classes have names of their own.
  private static let choice: [String] = {
    let folders = ["samples", "Tests/Conformance/models"].map { "\(TestData.package)/\($0)" }
    return (try? TestData.models(in: folders)) ?? []
  }()

  @Test func typesAreThoseOfCoreML() throws {
    let folder = try TestFolder()
    var files: [String] = []
    var classes = Set<String>()
    func add(_ interface: SwiftInterface) throws {
      #expect(classes.insert(interface.className).inserted)
      files.append("m\(files.count).swift")
      try folder.write(files[files.count - 1], Array(interface.source.utf8))
    }
    for path in Self.choice { try add(SwiftInterface(path: path)) }
    for (name, model) in InterfaceModels.hard { try add(SwiftInterface(model, name: name)) }
    try folder.copy("\(TestData.package)/Tests/ConformanceTests/Stub/CoreML.swift", as: "Stub.txt")
    try folder.write("CoreML.swift", folder.bytes("Stub.txt"))
    let module = ["-parse-as-library", "-emit-module", "-module-name", "CoreML"]
    #expect(
      try SwiftCompiler.complaint(
        module + ["CoreML.swift", "-o", "CoreML.swiftmodule"], in: folder) == nil)
    for version in ["5", "6"] {
      let check = [
        "-typecheck", "-swift-version", version, "-warnings-as-errors", "-parse-as-library",
        "-module-name", "Interfaces", "-I", ".",
      ]
      let complaint = try SwiftCompiler.complaint(check, files: files, in: folder)
      #expect(complaint == nil)
    }
  }

  @Test func mistakesAreFound() throws {
    let folder = try TestFolder()
    try folder.write("a.swift", Array("class A { var class: Int }".utf8))
    #expect(
      try SwiftCompiler.complaint(["-frontend", "-parse"], files: ["a.swift"], in: folder) != nil)
  }
}
