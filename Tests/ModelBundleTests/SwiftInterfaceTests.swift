import ModelFiles
import ModelGraph
import ModelSpec
import TestSupport
import Testing

@testable import ModelBundle

@Suite struct SwiftInterfaceTests {
  private func source(
    _ inputs: [FeatureDescription], _ outputs: [FeatureDescription] = [], version: Int = 7,
    name: String = "M"
  ) throws -> String {
    try SwiftInterface(
      InterfaceModels.model(inputs, outputs, version: version), name: name
    ).source
  }

  /// The lines of the class of that name, without indentation.
  private func lines(_ source: String, of name: String) -> [String] {
    let all = source.split(separator: "\n").map(String.init)
    let own = all.drop { !$0.hasPrefix("class \(name) {") && !$0.hasPrefix("class \(name):") }
      .prefix { $0 != "}" }
    return own.map { String($0.drop { $0 == " " }) }
  }

  @Test func featuresHaveTheTypesOfXcode() throws {
    let kinds: [(FeatureType.Kind?, String)] = [
      (.int64, "Int64"), (.double, "Double"), (.string, "String"),
      (InterfaceModels.image(20), "CVPixelBuffer"),
      (InterfaceModels.array(.float32), "MLMultiArray"),
      (.dictionary(.string), "[String: Double]"), (.dictionary(.int64), "[Int64: Double]"),
      (.sequence(.string, size: nil), "MLSequence"), (.absent, "MLFeatureValue"),
    ]
    for (kind, type) in kinds {
      let text = try source(
        [
          InterfaceModels.feature("x", kind),
          InterfaceModels.feature("o", kind, optional: true),
        ], [InterfaceModels.feature("y", kind)])
      let input = lines(text, of: "MInput")
      #expect(input.contains("var x: \(type)") && input.contains("var o: \(type)?"))
      #expect(input.contains("init(x: \(type), o: \(type)? = nil) {"))
      #expect(lines(text, of: "MOutput").contains("var y: \(type) {"))
      let model = lines(text, of: "M")
      #expect(
        model.contains("func prediction(x: \(type), o: \(type)? = nil) throws -> MOutput {"))
    }
  }

  @Test func arraysComeAsShapedArrays() throws {
    let types: [(ArrayType.DataType, String?)] = [
      (.float32, "Float"), (.float64, "Double"), (.int32, "Int32"), (.int8, "Int8"),
      (.float16, "Float16"), (.init(rawValue: 7), nil),
    ]
    for (type, name) in types {
      let feature = InterfaceModels.feature("x", InterfaceModels.array(type))
      let text = try source([feature], [feature])
      guard let name else {
        #expect(!text.contains("MLShapedArray"))
        continue
      }
      #expect(
        lines(text, of: "MInput")
          .contains("convenience init(x: MLShapedArray<\(name)>) {"))
      #expect(
        lines(text, of: "M")
          .contains("func prediction(x: MLShapedArray<\(name)>) throws -> MOutput {"))
      #expect(
        lines(text, of: "MOutput").contains("var xShapedArray: MLShapedArray<\(name)> {"))
      #expect(text.contains("#if") == (type == .float16))
    }
  }

  @Test(
    arguments: [
      (10, "kCVPixelFormatType_OneComponent8"), (20, "kCVPixelFormatType_32BGRA"),
      (30, "kCVPixelFormatType_32BGRA"), (40, "kCVPixelFormatType_OneComponent16Half"),
    ] as [(Int32, String)])
  func imagesComeFromImagesAndFiles(_ space: Int32, _ format: String) throws {
    let text = try source([
      InterfaceModels.feature("image", InterfaceModels.image(space)),
      InterfaceModels.feature("t", .double, optional: true),
    ])
    let input = lines(text, of: "MInput")
    let size = "pixelsWide: 8, pixelsHigh: 6, pixelFormatType: \(format), options: nil"
    #expect(input.contains("convenience init(imageWith image: CGImage, t: Double? = nil) throws {"))
    #expect(input.contains("convenience init(imageAt image: URL, t: Double? = nil) throws {"))
    #expect(input.contains("func setImage(with image: CGImage) throws {"))
    #expect(
      input.contains(
        "self.image = try MLFeatureValue(imageAt: image, \(size)).imageBufferValue!"))
    let unknown = try source([
      InterfaceModels.feature("image", InterfaceModels.image(99)),
      InterfaceModels.feature("flat", InterfaceModels.image(20, width: 0)),
    ])
    #expect(!unknown.contains("CGImage"))
  }

  @Test func namesThatCollideAreChangedAndTheirFeaturesAreNot() throws {
    let names = ["a-b", "a_b", "featureNames", "class", "init", "MLModel", "M", "x\"\n\\(y)"]
    let text = try source(names.map { InterfaceModels.feature($0, .double) })
    let input = lines(text, of: "MInput")
    for identifier in [
      "a_b", "a_b_", "featureNames_", "`class`", "init_", "MLModel_", "M_", "x____y_",
    ] {
      #expect(input.contains("var \(identifier): Double"), "\(identifier)")
    }
    #expect(
      input.contains(#"case "x\"\n\\(y)": return MLFeatureValue(double: self.x____y_)"#))
    #expect(input.contains(#"case "a-b": return MLFeatureValue(double: self.a_b)"#))
    #expect(text.contains(#"/// A number, the feature "a-b"."#))
  }

  @Test(arguments: [
    ("my model", "my_model"), ("String", "String_"), ("class", "class_"), ("2", "_2"),
  ])
  func theClassIsCalledLikeTheModel(_ name: String, _ expected: String) throws {
    let model = InterfaceModels.model([InterfaceModels.feature("x", .double)], [])
    let interface = try SwiftInterface(model, name: name)
    #expect(interface.className == expected)
    #expect(interface.source.contains("forResource: \"\(name)\""))
    #expect(interface.source.contains("\nclass \(expected)Input: MLFeatureProvider {"))
  }

  @Test func statesAndFunctions() throws {
    for (name, model) in InterfaceModels.hard {
      let text = try SwiftInterface(model, name: name).source
      #expect(text == (try SwiftInterface(model, name: name).source))
      #expect(text.contains("using state") == ["🙂", "functions"].contains(name), "\(name)")
      #expect(text.contains("func predictions(inputs:") == (name != "🙂"), "\(name)")
      #expect(text.contains("TrainingInput") == (name == "training"), "\(name)")
      guard name == "functions" else { continue }
      let classes = text.split(separator: "\n").filter { $0.hasPrefix("class ") }
        .map { $0.dropFirst(6).prefix { $0 != ":" && $0 != " " } }
      #expect(
        classes.filter { !$0.hasSuffix("Output") } == [
          "functionsInput", "functions", "functions_decodeInput", "functions_decode",
          "functions_a_bInput", "functions_a_b", "functions_a_b_Input", "functions_a_b_",
          "functions_InputInput", "functions_Input", "functions_deco_deInput",
          "functions_deco_de",
        ])
      #expect(
        lines(text, of: "functions_decode").contains("static let functionName = \"decode\""))
      #expect(
        lines(text, of: "functions_decode")
          .contains("func makeState() -> functions_decodeState {"))
      #expect(text.contains("final class functions_decodeState {"))
      #expect(text.contains("case kv = \"kv\""))
      #expect(
        lines(text, of: "functions_deco_de")
          .contains(#"static let functionName = "deco\"de""#))
    }
  }

  @Test func modelsWithoutDescriptionHaveNone() {
    let empty = Model(specificationVersion: 4, description: nil, kind: .absent)
    #expect(throws: BundleError.self) { try SwiftInterface(empty, name: "m") }
    #expect(throws: BundleError.self) {
      try SwiftInterface(InterfaceModels.model([], []), name: "m")
    }
  }

  @Test(arguments: ["samples/LeafClassifier.mlpackage", "Tests/Conformance/models/sk_rf.mlmodel"])
  func bundlesHaveTheInterfaceOfTheirModels(_ name: String) throws {
    let path = "\(TestData.package)/\(name)"
    let folder = try TestFolder()
    let bundle = folder("\(ModelName.stem(of: path)).mlmodelc")
    let output = try AtomicFolder(output: bundle, force: false)
    _ = try BundleCompiler(name: "m").compile(LoadedModel(path: path), into: output.writer)
    try output.commit()
    let expected = try SwiftInterface(path: path).source
    #expect(expected.contains("static let classLabels"))
    #expect(try SwiftInterface(path: bundle).source == expected)
  }
}
