import ModelGraph
import ModelTensors
import Testing

@testable import ModelInspection

@Suite struct VersionTests {
  @Test(arguments: [
    (1, "11.0", "10.13"), (2, "11.2", "10.13.2"), (4, "13.0", "10.15"), (6, "15.0", "12.0"),
    (9, "18.0", "15.0"), (10, "26.0", "26.0"),
  ])
  func releases(version: Int, ios: String, macos: String) throws {
    let os = try #require(MinimumOS(specificationVersion: version))
    #expect(os.ios == ios)
    #expect(os.tvos == ios)
    #expect(os.macos == macos)
  }

  @Test func unknownVersionsHaveNoReleases() throws {
    #expect(MinimumOS(specificationVersion: 0) == nil)
    #expect(MinimumOS(specificationVersion: 99) == nil)
    var model = program([])
    model.specificationVersion = 99
    let facts = try report(model)
    #expect(facts.minimumOS.ios == nil)
    #expect(facts.findings.first?.contains("99 is not known") == true)
  }

  @Test func operationsAskForTheirVersion() throws {
    let tensor = ValueType.tensor(.float16, [1, 4])
    let x = NamedValueType("x", tensor)
    func needed(_ operation: GraphOperation, input: NamedValueType? = nil) throws -> Int {
      try report(program([operation], inputs: [input ?? x], version: 9)).neededVersion
    }
    #expect(try needed(operation("relu", "y", tensor, inputs: ["x": .name("x")])) == 6)
    #expect(try needed(operation("read_state", "y", tensor, inputs: ["input": .name("s")])) == 9)
    #expect(
      try needed(
        operation("cast", "y", .tensor(.int8, [1, 4]), inputs: ["x": .name("x")])) == 8)
    #expect(
      try needed(
        operation("cast", "y", .tensor(.float32, [1, 4]), inputs: ["x": .name("x")])) == 6)
    // A weight of another type than the activation came with iOS 17.
    #expect(
      try needed(
        operation(
          "conv", "y", tensor,
          inputs: [
            "x": .name("x"), "weight": .value(Value(.float32, [1], .floats([1]))),
          ])) == 8)
    #expect(try needed(operation("no_such_operation", "y", tensor)) == 6)
  }

  @Test func decodersWithAttributesAreOlderThanThoseWithInputs() throws {
    let old = operation(
      "constexpr_cast", "y", .tensor(.float32, [1]),
      attributes: [
        "source_val": Value(.float16, [1], .bytes([0, 0])), "output_dtype": .string("fp32"),
      ])
    #expect(try report(program([old], version: 7)).neededVersion == 7)
    let new = operation(
      "constexpr_sparse_to_dense", "y", .tensor(.float32, [1]),
      inputs: [
        "nonzero_data": .value(Value(.float32, [1], .floats([1]))),
        "mask": .value(Value(.uint1, [1], .bytes([1]))),
      ])
    #expect(try report(program([new], version: 9)).neededVersion == 9)
  }

  @Test func interfacesAskForTheirVersion() throws {
    func needed(_ type: FeatureType.Kind, output: Bool = false) throws -> Int {
      var description = ModelDescription()
      let feature = FeatureDescription(name: "f", type: FeatureType(type))
      if output { description.outputs = [feature] } else { description.inputs = [feature] }
      return try report(
        Model(specificationVersion: 10, description: description, kind: .absent)
      ).neededVersion
    }
    #expect(try needed(.double) == 1)
    #expect(try needed(.multiArray(ArrayType(shape: [1], dataType: .float16))) == 7)
    #expect(try needed(.multiArray(ArrayType(shape: [1], dataType: .int8)), output: true) == 10)
    #expect(try needed(.sequence(.string, size: nil), output: true) == 3)
    var flexible = ArrayType(shape: [1], dataType: .float32)
    flexible.flexibility = .enumerated([.init(sizes: [1]), .init(sizes: [2])])
    #expect(try needed(.multiArray(flexible)) == 3)
    #expect(try needed(.multiArray(flexible), output: true) == 1)
    let half = ImageType(width: 1, height: 1, colorSpace: .init(rawValue: 40))
    #expect(try needed(.image(half)) == 7)
  }

  @Test func aVersionHigherThanNeededIsAFinding() throws {
    let tensor = ValueType.tensor(.float32, [1])
    let facts = try report(
      program(
        [operation("relu", "y", tensor, inputs: ["x": .name("x")])],
        inputs: [NamedValueType("x", tensor)], version: 8))
    #expect(facts.findings.count == 1)
    #expect(facts.findings.first?.contains("needs only 6 (iOS 15)") == true)
  }

  @Test(arguments: [
    ("textClassifier", 1, 3), ("textClassifier", 2, 4), ("textClassifier", 5, 9),
    ("wordTagger", 3, 5), ("gazetteer", 1, 4), ("wordEmbedding", 1, 4),
  ])
  func languageModels(type: String, revision: Int, version: Int) throws {
    let facts = try report(type, Wire.message { $0.add(1, revision) })
    #expect(facts.neededVersion == version)
    #expect(facts.details["revision"]?.integer == revision)
  }
}
