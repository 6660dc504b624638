import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct VerifierInterfaceTests {
  private static func array(
    _ name: String, _ type: ArrayType.DataType = .float32, _ shape: [Int64] = [2, 3]
  ) -> FeatureDescription {
    FeatureDescription(
      name: name, type: FeatureType(.multiArray(ArrayType(shape: shape, dataType: type))))
  }

  private static let program = Build.program(6, [Build.x()], [Build.operation("abs")])

  private func places(_ program: Program, _ description: ModelDescription) -> [String] {
    Verifier.findings(program: program, specificationVersion: 6, description: description).map {
      "\($0.severity.rawValue) \($0.code.rawValue) \($0.place)"
    }
  }

  private func description(
    inputs: [FeatureDescription] = [array("x")], outputs: [FeatureDescription] = [array("y")]
  ) -> ModelDescription {
    var description = ModelDescription()
    description.inputs = inputs
    description.outputs = outputs
    return description
  }

  @Test func matchingInterface() {
    #expect(places(Self.program, description()).isEmpty)
    let image = FeatureDescription(
      name: "x",
      type: FeatureType(.image(ImageType(width: 3, height: 2, colorSpace: .init(rawValue: 20)))))
    #expect(places(Self.program, description(inputs: [image])).isEmpty)
    #expect(places(Self.program, description(outputs: [Self.array("y", .float32, [])])).isEmpty)
  }

  @Test func missingAndUnknownFeatures() {
    #expect(
      places(Self.program, description(inputs: []))
        == ["error interface main.x"])
    #expect(
      places(Self.program, description(inputs: [Self.array("x"), Self.array("z")]))
        == ["error interface main.z"])
    #expect(
      places(Self.program, description(outputs: [Self.array("y"), Self.array("z")]))
        == ["error interface main.z"])
    #expect(places(Self.program, description(outputs: [])) == ["warning interface main.y"])
    #expect(
      places(Self.program, description(inputs: [Self.array("x"), Self.array("x")]))
        == ["error interface main.x"])
  }

  @Test func typesAndRanks() {
    #expect(
      places(Self.program, description(inputs: [Self.array("x", .float16)]))
        == ["error interface main.x"])
    #expect(
      places(Self.program, description(inputs: [Self.array("x", .float32, [6])]))
        == ["warning interface main.x"])
    #expect(
      places(Self.program, description(inputs: [FeatureDescription(name: "x", type: nil)]))
        == ["error interface main.x"])
  }

  @Test func classifierOutputs() {
    var wrong = description()
    wrong.predictedFeatureName = "label"
    #expect(places(Self.program, wrong) == ["error interface main"])
    wrong.predictedFeatureName = "y"
    #expect(places(Self.program, wrong).isEmpty)
  }

  @Test func functions() throws {
    var program = Self.program
    program.functions["other"] = program.functions["main"]
    var entry = FunctionDescription()
    entry.name = "main"
    entry.inputs = [Self.array("x")]
    entry.outputs = [Self.array("y")]
    var description = ModelDescription()
    description.functions = [entry]
    description.defaultFunctionName = "main"
    #expect(places(program, description) == ["warning interface other"])
    entry.name = "third"
    description.functions.append(entry)
    description.defaultFunctionName = "fourth"
    #expect(
      places(program, description) == [
        "error missing-function interface", "warning interface other",
        "error missing-function interface",
      ])
  }

  @Test func states() {
    let state = NamedValueType("s", ValueType(.state(.tensor(.float16, [4]))))
    let read = Build.operation("read_state", ["input": .name("s")], "y", .tensor(.float16, [4]))
    let program = Build.program(9, [state], [read])
    var interface = description(inputs: [], outputs: [Self.array("y", .float16, [4])])
    func check() -> [String] {
      Verifier.findings(program: program, specificationVersion: 9, description: interface).map(
        \.place)
    }
    #expect(check() == ["main.s"])
    interface.states = [
      FeatureDescription(
        name: "s", type: FeatureType(.state(ArrayType(shape: [4], dataType: .float16))))
    ]
    #expect(check().isEmpty)
    interface.states[0].name = "t"
    #expect(check() == ["main.t", "main.s"])
    interface.states = []
    interface.inputs = [Self.array("s", .float16, [4])]
    #expect(check() == ["main.s"])
  }
}
