import ModelGraph
import ModelSpec
import Testing

@testable import ModelInspection

@Suite struct DetailTests {
  private func strings(_ texts: [String]) -> Wire {
    Wire.message { wire in texts.forEach { wire.add(1, $0) } }
  }

  @Test func linearClassifier() throws {
    let facts = try report(
      "glmClassifier",
      Wire.message {
        $0.add(1, Wire.message { $0.add(1, packed: [0.5, 0, -1]) })
        $0.add(2, packed: [0.25])
        $0.add(3, 1)
        $0.add(4, 1)
        $0.add(100, strings(["no", "yes"]))
      })
    #expect(facts.details["coefficients"]?.integer == 3)
    #expect(facts.details["zero_coefficients"]?.integer == 1)
    #expect(facts.details["transform"]?.text == "probit")
    #expect(facts.details["class_encoding"]?.text == "one vs rest")
    #expect(facts.details["labels"]?["count"]?.integer == 2)
    #expect(facts.details["labels"]?["first"]?.list == [.text("no"), .text("yes")])
  }

  @Test func supportVectorRegressor() throws {
    let facts = try report(
      "supportVectorRegressor",
      Wire.message {
        $0.add(1, Wire.message { $0.add(2, Wire.message { $0.add(1, 0.125) }) })
        $0.add(
          3,
          Wire.message {
            $0.add(1, Wire.message { $0.add(1, packed: [1.0, 2.0]) })
            $0.add(1, Wire.message { $0.add(1, packed: [3.0, 4.0]) })
          })
        $0.add(4, Wire.message { $0.add(1, packed: [1.0, -1.0]) })
        $0.add(5, 0.5)
      })
    #expect(facts.details["kernel"]?["type"]?.text == "rbf")
    #expect(facts.details["kernel"]?["gamma"] == .number(0.125))
    #expect(facts.details["support_vectors"]?.integer == 2)
    #expect(facts.details["dimensions"]?.integer == 2)
    #expect(facts.details["storage"]?.text == "dense")
  }

  @Test func nearestNeighbors() throws {
    let facts = try report(
      "kNearestNeighborsClassifier",
      Wire.message {
        $0.add(
          1,
          Wire.message {
            $0.add(1, 2)
            for _ in 0..<3 { $0.add(2, Wire.message { $0.add(1, packed: [Float(1), 2]) }) }
            $0.add(110, Wire.message { $0.add(1, 30) })
            $0.add(200, Wire())
          })
        $0.add(
          3,
          Wire.message {
            $0.add(1, 5)
            $0.add(
              10,
              Wire.message {
                $0.add(1, 1)
                $0.add(2, 9)
              })
          })
        $0.add(100, strings(["a", "b", "a"]))
        $0.add(210, Wire())
      }, version: 4)
    #expect(facts.details["points"]?.integer == 3)
    #expect(facts.details["index"]?["leaf_size"]?.integer == 30)
    #expect(facts.details["distance"]?.text == "squared euclidean")
    #expect(facts.details["neighbors"]?["default"]?.integer == 5)
    #expect(facts.details["neighbors"]?["range"]?.list == [.integer(1), .integer(9)])
    #expect(facts.details["weighting"]?.text == "inverse distance")
    #expect(facts.details["labels"]?["count"]?.integer == 2)
    #expect(facts.neededVersion == 4)
  }

  @Test func everyOpaqueKindBearsAnEmptyMessage() throws {
    for type in [
      "glmRegressor", "glmClassifier", "supportVectorRegressor", "supportVectorClassifier",
      "treeEnsembleRegressor", "treeEnsembleClassifier", "kNearestNeighborsClassifier",
      "bayesianProbitRegressor", "itemSimilarityRecommender", "customModel", "linkedModel",
      "classConfidenceThresholding", "oneHotEncoder", "imputer", "featureVectorizer",
      "dictVectorizer", "scaler", "categoricalMapping", "normalizer", "arrayFeatureExtractor",
      "nonMaximumSuppression", "identity", "textClassifier", "wordTagger", "visionFeaturePrint",
      "soundAnalysisPreprocessing", "gazetteer", "wordEmbedding", "audioFeaturePrint",
      "serializedModel",
    ] {
      let facts = try report(type, Wire())
      #expect(facts.modelType == type)
      #expect(facts.functions.map(\.name) == ["main"])
    }
  }

  @Test func customCodeIsAFinding() throws {
    let facts = try report(
      "customModel", Wire.message { $0.add(10, "MyModel") }, version: 3)
    #expect(facts.details["class_name"]?.text == "MyModel")
    #expect(facts.findings == ["needs code in the application: MyModel"])
  }

  @Test func pipelinesTellWhatFlows() throws {
    func child(_ input: String, _ output: String) -> Model {
      var description = ModelDescription()
      description.inputs = [FeatureDescription(name: input, type: FeatureType(.double))]
      description.outputs = [FeatureDescription(name: output, type: FeatureType(.double))]
      return Model(
        specificationVersion: 1, description: description,
        kind: .other(OpaqueModel(typeName: "normalizer", payload: [])))
    }
    var description = ModelDescription()
    description.inputs = [FeatureDescription(name: "a", type: FeatureType(.double))]
    let pipeline = Pipeline(
      typeName: "pipeline", models: [child("a", "b"), child("b", "c"), child("d", "e")],
      names: ["first", "", "third"])
    let facts = try report(
      Model(specificationVersion: 1, description: description, kind: .pipeline(pipeline)))
    #expect(facts.children.map(\.name) == ["first", "model1", "third"])
    #expect(
      facts.children.map { $0.sources.map(\.origin) } == [
        [.pipeline], [.child("first")], [.nothing],
      ])
    #expect(facts.children.first?.details["norm"]?.text == "max")
  }
}
