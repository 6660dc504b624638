import ModelToolchain

/// A transformer of the size that a benchmark wants, with seeded random weights.
struct Transformer {
  /// Width of the residual stream; the hidden layer is four times as wide.
  var width = 2048
  var blocks: Int
  /// Rows of the embedding table; 0 for none.
  var vocabulary = 4096
  var tokens = 64
  var elementType = ElementType.float16
  var specificationVersion = 7
  var inputName = "x"
  /// The name of the output that is the mean over the tokens; nil for the stream itself.
  var meanName: String?
  var metadata: Metadata?
  var parallel = Parallel()

  /// Bytes of one block's matrices.
  static func blockBytes(width: Int, elementType: ElementType) -> Int {
    12 * width * width * elementType.bitWidth / 8
  }

  /// Writes the model as a package.
  func write(to output: String, force: Bool) throws {
    let writer = try PackageWriter(output: output, force: force)
    let weights = SeededWeights(
      blob: try writer.weightWriter(fileName: SeededWeights.fileName), elementType: elementType,
      parallel: parallel)
    var builder = TransformerBuilder(model: self, weights: weights)
    let specification = try ModelEncoder.encode(try builder.build())
    try writer.commit(specification: specification)
  }
}

/// Emits operations and streams weights.
private struct TransformerBuilder {
  let model: Transformer
  var weights: SeededWeights
  var operations: [GraphOperation] = []

  init(model: Transformer, weights: SeededWeights) {
    self.model = model
    self.weights = weights
  }

  mutating func build() throws -> Model {
    let width = model.width
    var value = model.inputName
    let hasTable = model.vocabulary > 0
    let inputType: ValueType =
      hasTable ? .tensor(.int32, [1, model.tokens]) : .tensor(model.elementType, stream(width))
    if hasTable {
      let table = try weight("embedding", [model.vocabulary, width], fan: width)
      value = emit(
        "gather", "embed", ["x": .name(table), "indices": .name(value), "axis": scalar(0)],
        stream(width))
    }
    for index in 0..<model.blocks { value = try block(index, value) }
    var outputShape = stream(width)
    if let name = model.meanName {
      outputShape = [1, width]
      value = emit(
        "reduce_mean", name,
        ["x": .name(value), "axes": .value(.int32s([1])), "keep_dims": .value(.bool(false))],
        outputShape)
    }
    let block = Block(outputs: [value], operations: operations)
    let opset = Opset.name(specificationVersion: model.specificationVersion)
    let function = Function(
      inputs: [NamedValueType(model.inputName, inputType)], opset: opset,
      specializations: [opset: block])
    var description = ModelDescription()
    description.inputs = [
      FeatureDescription(
        name: model.inputName,
        type: FeatureType(
          .multiArray(
            ArrayType(
              shape: (hasTable ? [1, model.tokens] : stream(width)).map(Int64.init),
              dataType: hasTable ? .int32 : arrayType))))
    ]
    description.outputs = [
      FeatureDescription(
        name: value,
        type: FeatureType(
          .multiArray(ArrayType(shape: outputShape.map(Int64.init), dataType: arrayType))))
    ]
    description.metadata = model.metadata
    return Model(
      specificationVersion: model.specificationVersion, description: description,
      kind: .program(Program(functions: ["main": function])))
  }

  private var arrayType: ArrayType.DataType {
    model.elementType == .float16 ? .float16 : .float32
  }

  private func stream(_ width: Int) -> [Int] { [1, model.tokens, width] }
  private func scalar(_ value: Int32) -> Argument { .value(.int32(value)) }

  /// Appends an operation; parameters given as values become constants of their own.
  private mutating func emit(
    _ type: String, _ name: String, _ arguments: NamedList<Argument>, _ shape: [Int]
  ) -> String {
    var inputs = arguments
    for (input, argument) in arguments {
      guard let value = argument.value else { continue }
      operations.append(.const("\(name)_\(input)_0", value))
      inputs[input] = .name("\(name)_\(input)_0")
    }
    operations.append(
      GraphOperation(
        type: type, inputs: inputs,
        outputs: [NamedValueType(name, .tensor(model.elementType, shape))],
        attributes: ["name": .string(name)]))
    return name
  }

  /// Pre-norm attention without heads and a feed-forward part, each with its residual.
  private mutating func block(_ index: Int, _ input: String) throws -> String {
    let width = model.width
    let p = "block\(index)_"
    let query = try linear(p + "q", input, width, width)
    let key = try linear(p + "k", input, width, width)
    let content = try linear(p + "v", input, width, width)
    let scores = emit(
      "matmul", p + "scores",
      [
        "x": .name(query), "y": .name(key), "transpose_x": .value(.bool(false)),
        "transpose_y": .value(.bool(true)),
      ], [1, model.tokens, model.tokens])
    let shares = emit(
      "softmax", p + "softmax", ["x": .name(scores), "axis": scalar(-1)],
      [1, model.tokens, model.tokens])
    let mixed = emit(
      "matmul", p + "mix",
      [
        "x": .name(shares), "y": .name(content), "transpose_x": .value(.bool(false)),
        "transpose_y": .value(.bool(false)),
      ], stream(width))
    let projected = try linear(p + "o", mixed, width, width)
    let first = emit(
      "add", p + "residual1", ["x": .name(input), "y": .name(projected)], stream(width))
    let hidden = try linear(p + "up", first, width, 4 * width)
    let active = emit(
      "gelu", p + "gelu",
      ["x": .name(hidden), "mode": .value(.string("TANH_APPROXIMATION"))], stream(4 * width))
    // The second matrix feeds a matmul: its output channels are the last axis.
    let down = try weight(p + "down_weight", [4 * width, width], fan: 4 * width)
    let lowered = emit(
      "matmul", p + "down",
      [
        "x": .name(active), "y": .name(down), "transpose_x": .value(.bool(false)),
        "transpose_y": .value(.bool(false)),
      ], stream(width))
    return emit("add", p + "residual2", ["x": .name(first), "y": .name(lowered)], stream(width))
  }

  private mutating func linear(
    _ name: String, _ input: String, _ from: Int, _ to: Int
  ) throws -> String {
    let matrix = try weight(name + "_weight", [to, from], fan: from)
    let bias = try weight(name + "_bias", [to], fan: from)
    return emit(
      "linear", name,
      ["x": .name(input), "weight": .name(matrix), "bias": .name(bias)], stream(to))
  }

  private mutating func weight(_ name: String, _ shape: [Int], fan: Int) throws -> String {
    operations.append(try weights.constant(name, shape, fan: fan))
    return name
  }
}
