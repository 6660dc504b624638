import ModelGraph
import ModelSpec
import TestSupport
import Testing

@testable import ModelInspection

@Suite struct ClassLabelTests {
  private func strings(_ texts: [String]) -> Wire {
    Wire.message { wire in texts.forEach { wire.add(1, $0) } }
  }

  private func model(_ typeName: String, _ payload: Wire) -> Model {
    Model(
      specificationVersion: 5, description: ModelDescription(),
      kind: .other(OpaqueModel(typeName: typeName, payload: payload.bytes)))
  }

  private let many = (0..<25).map { "class \($0)" }

  @Test(arguments: [
    ("glmClassifier", 100), ("treeEnsembleClassifier", 100), ("supportVectorClassifier", 100),
    ("kNearestNeighborsClassifier", 100), ("nonMaximumSuppression", 100),
    ("textClassifier", 200), ("gazetteer", 200),
  ])
  func classifiersHoldAllLabels(_ typeName: String, _ field: Int) throws {
    let classifier = model(typeName, Wire.message { $0.add(field, strings(many)) })
    #expect(try classifier.classLabels() == .strings(many))
    #expect(try model(typeName, Wire()).classLabels() == nil)
    let pipeline = Model(
      specificationVersion: 5, description: ModelDescription(),
      kind: .pipeline(
        Pipeline(
          typeName: "pipelineClassifier", models: [classifier, model("scaler", Wire())],
          names: [])))
    #expect(try pipeline.classLabels() == .strings(many))
  }

  @Test func reportsNameTheFirst() throws {
    let labels = try model("glmClassifier", Wire.message { $0.add(100, strings(many)) })
      .classLabels()
    #expect(labels?.count == 25)
    #expect(labels?.detail["count"]?.integer == 25)
    #expect(labels?.detail["first"]?.list == many.prefix(10).map { .text($0) })
  }

  @Test func neighboursNameEachClassOnce() throws {
    let neighbours = model(
      "kNearestNeighborsClassifier", Wire.message { $0.add(100, strings(["b", "a", "b"])) })
    #expect(try neighbours.classLabels() == .strings(["b", "a"]))
  }

  @Test func programsHoldLabelsPerFunction() throws {
    func function(_ classes: Value) -> Function {
      let classify = GraphOperation(
        type: "classify", inputs: ["probabilities": .name("p"), "classes": .value(classes)],
        outputs: [])
      return Make.function(6, [], [classify], outputs: [])
    }
    let program = Program(functions: [
      "plain": Make.function(6, [], [], outputs: []),
      "texts": function(Value(.string, [2], .strings(["no", "yes"]))),
      "numbers": function(Value(.int64, [2], .longInts([-1, 7]))),
    ])
    let model = Model(
      specificationVersion: 6, description: ModelDescription(), kind: .program(program))
    #expect(try model.classLabels() == .strings(["no", "yes"]))
    #expect(try model.classLabels(ofFunction: "numbers") == .integers([-1, 7]))
    #expect(try model.classLabels(ofFunction: "plain") == nil)
  }
}
