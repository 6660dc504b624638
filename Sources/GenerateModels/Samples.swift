import ModelToolchain

/// The models of the folder `samples`.
enum Samples {
  static func write(to folder: String) throws {
    try ImageClassifier().write(to: folder + "/LeafClassifier.mlpackage", force: true)
    var encoder = Transformer(width: 64, blocks: 2)
    encoder.vocabulary = 512
    encoder.tokens = 32
    encoder.inputName = "tokens"
    encoder.meanName = "sentence"
    encoder.metadata = metadata("Encodes a sentence of 32 tokens as a vector. Random weights.")
    try encoder.write(to: folder + "/SentenceEncoder.mlpackage", force: true)
  }

  /// What both say about themselves.
  static func metadata(_ description: String) -> Metadata {
    var metadata = Metadata()
    metadata.shortDescription = description
    metadata.author = "The mlt authors"
    metadata.license = "Apache-2.0"
    metadata.version = "1.0"
    return metadata
  }
}
