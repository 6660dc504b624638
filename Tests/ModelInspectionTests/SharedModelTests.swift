import Testing

@testable import ModelInspection

@Suite(.enabled(if: Shared.isPresent, Shared.message))
struct SharedModelTests {
  @Test func program() throws {
    let facts = try Shared.report("models/01-basic-pitch/nmp.mlpackage")
    #expect(facts.modelType == "mlProgram")
    #expect(facts.container == .package)
    #expect(facts.specificationVersion == 6)
    #expect(facts.neededVersion == 6)
    #expect(facts.parameters.count == 36010)
    #expect(facts.parameters.storedBytes == 36010 * 4)
    #expect(facts.sizes.totalBytes == 269_600)
    let counts = Dictionary(
      uniqueKeysWithValues: facts.functions.first?.operations.map { ($0.type, $0.count) } ?? [])
    #expect(counts["conv"] == 32)
    #expect(counts["const"] == nil)
  }

  @Test(arguments: [
    ("models/03-seq2seq-lstm-fp32-fp16/Es2EnCharDecoder.mlmodel", "fp32", 1_498_460, 1),
    ("models/03-seq2seq-lstm-fp32-fp16/Es2EnCharDecoder16Bit.mlmodel", "fp16", 749_230, 2),
    ("models/04-pose-hourglass/model_hourglass.mlmodel", "fp32", 1_675_312, 1),
    ("models/05-customvision-fruit/model.mlmodel", "fp32", 2_904_348, 1),
    ("models/09-source-and-compiled/photo_noise3_model.mlmodel", "fp32", 1_161_868, 1),
  ])
  func networks(path: String, storage: String, bytes: Int, version: Int) throws {
    let facts = try Shared.report(path)
    #expect(facts.parameters.storedBytes == bytes)
    #expect(facts.details["weight_storage"]?[storage]?["bytes"]?.integer == bytes)
    #expect(facts.neededVersion == version)
    #expect(facts.specificationVersion == version)
    #expect(facts.findings.isEmpty)
  }

  @Test func classicKinds() throws {
    let songs = try Shared.report("models/07-xgboost-trees/songs.mlmodel")
    #expect(songs.details["trees"]?.integer == 300)
    #expect(songs.details["max_depth"]?.integer == 6)
    let sentiment = try Shared.report("models/06-classic-pipelines/SentimentPolarity.mlmodel")
    #expect(sentiment.children.map(\.modelType) == ["pipeline", "glmClassifier"])
    #expect(
      sentiment.children.first?.children.map(\.modelType)
        == ["dictVectorizer", "featureVectorizer"])
    #expect(sentiment.children.last?.sources.first?.origin == .child("model0"))
    let review = try Shared.report("models/08-createml-apple-only/MovieReview.mlmodel")
    #expect(review.details["revision"]?.integer == 1)
    #expect(review.neededVersion == 3)
  }

  @Test func updatable() throws {
    let facts = try Shared.report(
      "models/08-createml-apple-only/keras_model_personalization.mlmodel")
    #expect(facts.isUpdatable)
    #expect(facts.details["trainable_layers"]?.list == [.text("dense_1")])
    #expect(facts.details["training"]?["optimizer"]?["type"]?.text == "sgd")
    #expect(facts.details["training"]?["epochs"]?["default"]?.integer == 2)
  }

  @Test(arguments: [
    ("prune75_pal4_lutq8_ios18", "sparse+lut+blockwise"), ("prune75_q8_ios18", "sparse+blockwise"),
    ("prune75_pal4_ios18", "sparse+lut"), ("pal4_lutq8_ios18", "lut+blockwise"),
    ("pal4_kmeans_ios16", "lut"), ("prune75_ios16", "sparse"),
    ("q8_linear_int8_per_channel_ios16", "affine"), ("q8_block8_ios18", "blockwise"),
  ])
  func encodings(name: String, encoding: String) throws {
    let facts = try Shared.report("conformance/zoo/\(name).mlpackage", readingWeights: true)
    let compressed = facts.weights.filter { $0.encoding != "dense" }
    #expect(!compressed.isEmpty)
    #expect(Set(compressed.map(\.encoding)) == [encoding])
    #expect(compressed.allSatisfy { ($0.bitsPerParameter ?? 16) < 16 })
    #expect(facts.weights.allSatisfy { $0.statistics?.finite == true })
    #expect(facts.findings.isEmpty)
  }

  @Test func functionsShareWeights() throws {
    let facts = try Shared.report("conformance/models/multi_ios18.mlpackage")
    #expect(facts.functions.map(\.name) == ["head_a", "head_b"])
    let shared = facts.weights.filter { $0.functions.count == 2 }
    #expect(shared.map(\.name) == ["base_weight_0", "base_bias_0"])
  }
}
