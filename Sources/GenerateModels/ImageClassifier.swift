import ModelToolchain

/// A small convolutional classifier of colour images, with seeded random weights.
struct ImageClassifier {
  var size = 96
  /// Output channels of the convolutions, each of which halves the image.
  var channels = [16, 32, 64, 96]
  var labels = [
    "ash", "beech", "birch", "elm", "hazel", "larch", "lime", "maple", "oak", "pine", "rowan",
    "willow",
  ]
  var specificationVersion = 6

  /// Writes the model as a package.
  func write(to output: String, force: Bool) throws {
    let writer = try PackageWriter(output: output, force: force)
    let weights = SeededWeights(
      blob: try writer.weightWriter(fileName: SeededWeights.fileName), elementType: .float16,
      parallel: Parallel())
    var builder = ClassifierBuilder(model: self, weights: weights)
    let specification = try ModelEncoder.encode(try builder.build())
    try writer.commit(specification: specification)
  }
}

/// Emits operations and streams weights.
private struct ClassifierBuilder {
  let model: ImageClassifier
  var weights: SeededWeights
  var operations: [GraphOperation] = []

  init(model: ImageClassifier, weights: SeededWeights) {
    self.model = model
    self.weights = weights
  }

  mutating func build() throws -> Model {
    let imageShape = [1, 3, model.size, model.size]
    let features = try features(imageShape)
    let probabilities = try head(features)
    let classes = Value(
      type: ValueType(
        .list(
          element: .tensor(.string), length: Dimension(.constant(UInt64(model.labels.count))))),
      content: .immediate(ImmediateValue(.list(model.labels.map(Value.string)))))
    let dictionary = ValueType(.dictionary(key: .tensor(.string), value: .tensor(.float64)))
    operations.append(
      GraphOperation(
        type: "classify",
        inputs: ["probabilities": .name(probabilities), "classes": .value(classes)],
        outputs: [
          NamedValueType("classLabel", .tensor(.string)),
          NamedValueType("classLabel_probs", dictionary),
        ], attributes: ["name": .string("classify")]))

    let opset = Opset.name(specificationVersion: model.specificationVersion)
    let block = Block(outputs: ["classLabel", "classLabel_probs"], operations: operations)
    let function = Function(
      inputs: [NamedValueType("image", .tensor(.float32, imageShape))], opset: opset,
      specializations: [opset: block])
    return Model(
      specificationVersion: model.specificationVersion, description: description(),
      kind: .program(Program(functions: ["main": function])))
  }

  private func description() -> ModelDescription {
    var description = ModelDescription()
    let size = Int64(model.size)
    var image = FeatureDescription(
      name: "image",
      type: FeatureType(
        .image(
          ImageType(
            width: size, height: size, colorSpace: ImageType.ColorSpace(rawValue: 20)))))
    image.shortDescription = "A leaf on a plain ground"
    description.inputs = [image]
    description.outputs = [
      FeatureDescription(name: "classLabel", type: FeatureType(.string)),
      FeatureDescription(name: "classLabel_probs", type: FeatureType(.dictionary(.string))),
    ]
    description.predictedFeatureName = "classLabel"
    description.predictedProbabilitiesName = "classLabel_probs"
    description.metadata = Samples.metadata("Names the tree of a leaf. Random weights.")
    return description
  }

  /// The image as values from −1 to 1, then convolutions, each with half the width.
  private mutating func features(_ imageShape: [Int]) throws -> String {
    var shape = imageShape
    var value = emit("cast", "image_fp16", ["x": .name("image"), "dtype": text("fp16")], shape)
    value = emit("mul", "image_scaled", ["x": .name(value), "y": half(1 / 127.5)], shape)
    value = emit("add", "image_centred", ["x": .name(value), "y": half(-1)], shape)
    for (index, channels) in model.channels.enumerated() {
      let name = "stage\(index + 1)_conv"
      let input = shape[1]
      let matrix = try weight(name + "_weight", [channels, input, 3, 3], fan: input * 9)
      let bias = try weight(name + "_bias", [channels], fan: input * 9)
      shape = [1, channels, shape[2] / 2, shape[3] / 2]
      value = emit(
        "conv", name,
        [
          "x": .name(value), "weight": .name(matrix), "bias": .name(bias),
          "strides": .value(.int32s([2, 2])), "pad_type": text("custom"),
          "pad": .value(.int32s([1, 1, 1, 1])), "dilations": .value(.int32s([1, 1])),
          "groups": .value(.int32(1)),
        ], shape)
      value = emit("relu", "stage\(index + 1)_relu", ["x": .name(value)], shape)
    }
    return emit(
      "reduce_mean", "pooled",
      ["x": .name(value), "axes": .value(.int32s([2, 3])), "keep_dims": .value(.bool(false))],
      [1, shape[1]])
  }

  /// Two linear layers and the probabilities, in float32 as `classify` wants them.
  private mutating func head(_ features: String) throws -> String {
    let width = model.channels.last ?? 1
    let count = model.labels.count
    let hidden = try linear("hidden", features, width, 2 * width)
    let active = emit("relu", "hidden_relu", ["x": .name(hidden)], [1, 2 * width])
    let scores = try linear("scores", active, 2 * width, count)
    let shares = emit(
      "softmax", "softmax", ["x": .name(scores), "axis": .value(.int32(-1))], [1, count])
    return emit(
      "cast", "probabilities", ["x": .name(shares), "dtype": text("fp32")], [1, count],
      elementType: .float32)
  }

  private mutating func linear(
    _ name: String, _ input: String, _ from: Int, _ to: Int
  ) throws -> String {
    let matrix = try weight(name + "_weight", [to, from], fan: from)
    let bias = try weight(name + "_bias", [to], fan: from)
    return emit(
      "linear", name,
      ["x": .name(input), "weight": .name(matrix), "bias": .name(bias)], [1, to])
  }

  private func text(_ text: String) -> Argument { .value(.string(text)) }

  private func half(_ number: Float) -> Argument {
    let bits = HalfFloat.bits(number)
    return .value(
      Value(.float16, [], .bytes([UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)])))
  }

  private mutating func emit(
    _ type: String, _ name: String, _ inputs: NamedList<Argument>, _ shape: [Int],
    elementType: ElementType = .float16
  ) -> String {
    operations.append(
      GraphOperation(
        type: type, inputs: inputs,
        outputs: [NamedValueType(name, .tensor(elementType, shape))],
        attributes: ["name": .string(name)]))
    return name
  }

  private mutating func weight(_ name: String, _ shape: [Int], fan: Int) throws -> String {
    operations.append(try weights.constant(name, shape, fan: fan))
    return name
  }
}
