import CModelSchemas
import ModelGraph
import ModelTensors

/// The shape of a weight and the axis of its output channels.
struct LayerWeightForm {
  var shape: [Int]
  /// nil where the values have no output channels.
  var channelAxis: Int?

  init(_ shape: [Int], channelAxis: Int? = nil) {
    self.shape = shape
    self.channelAxis = channelAxis
  }
}

/// The sizes among a layer's parameters, which tell the shapes of its weights.
struct LayerSizes {
  /// By the name of the field.
  private var values: [String: [Int]] = [:]

  /// Lists that are kept; others may be long and tell no shape.
  private static let lists: Set<String> = ["kernelSize", "shape", "shapeScale", "shapeBias"]
  private static let longestList = 16

  /// Reads the numbers directly in the parameters' message in `range`.
  init(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>,
    _ descriptor: UnsafePointer<ProtobufCMessageDescriptor>
  ) throws(SpecError) {
    var reader = WireReader(bytes, range, base: 0)
    while let field = try reader.next() {
      guard field.wireType == WireReader.varint || field.value.count <= 10 * Self.longestList,
        let known = protobuf_c_message_descriptor_get_field(descriptor, field.number),
        known.pointee.type != PROTOBUF_C_TYPE_MESSAGE
      else { continue }
      let name = String(cString: known.pointee.name)
      let isList = Self.lists.contains(name)
      if field.wireType == WireReader.varint {
        add([field.scalar], to: name, isList: isList)
      } else if field.wireType == WireReader.delimited, isList {
        add(try WireReader.varints(bytes, field.value), to: name, isList: true)
      }
    }
  }

  private mutating func add(_ numbers: [UInt64], to name: String, isList: Bool) {
    // Negative numbers of signed fields are no sizes.
    let sizes = numbers.map { Int(exactly: $0) ?? 0 }
    if isList {
      values[name, default: []] += sizes
    } else {
      values[name] = sizes
    }
  }

  private func size(_ name: String) -> Int { values[name]?.last ?? 0 }

  private func list(_ name: String) -> [Int] {
    let list = values[name] ?? []
    return list.count <= Self.longestList ? list : []
  }

  /// The form of a weight of a layer of `type`; nil where the layer does not tell one or tells
  /// another number of values.
  func form(of weight: NeuralNetworkWeight, in type: String) -> LayerWeightForm? {
    let name = weight.path.split(separator: ".").last.map(String.init) ?? weight.path
    guard let form = form(named: name, in: type), let count = Shape.elementCount(form.shape),
      count > 0
    else { return nil }
    if count == weight.count { return form }
    // Codes are padded to whole bytes.
    switch weight.storage {
    case .linear(let bits), .lookup(let bits):
      let padding = weight.count - count
      return padding > 0 && padding * bits < 8 ? form : nil
    case .float32, .float16, .int8, .empty: return nil
    }
  }

  private func form(named name: String, in type: String) -> LayerWeightForm? {
    switch (type, name) {
    case ("convolution", "weights"):
      let given = list("kernelSize")
      let kernel = given.count == 2 ? given : [3, 3]
      return convolution(kernel: kernel, inputs: size("kernelChannels"))
    case ("convolution3d", "weights"):
      let kernel = ["kernelDepth", "kernelHeight", "kernelWidth"].map(size)
      let inputs = size("inputChannels")
      let isTransposed = size("isDeconvolution") != 0
      return convolution(
        kernel: kernel, inputs: isTransposed ? inputs : inputs / max(1, size("nGroups")))
    case ("convolution", "bias"), ("convolution3d", "bias"), ("innerProduct", "bias"),
      ("embedding", "bias"):
      return LayerWeightForm([size("outputChannels")])
    case ("innerProduct", "weights"):
      return LayerWeightForm([size("outputChannels"), size("inputChannels")], channelAxis: 0)
    case ("embedding", "weights"):
      return LayerWeightForm([size("outputChannels"), size("inputDim")], channelAxis: 0)
    case ("embeddingND", "weights"):
      return LayerWeightForm([size("embeddingSize"), size("vocabSize")], channelAxis: 0)
    case ("embeddingND", "bias"): return LayerWeightForm([size("embeddingSize")])
    case ("batchedMatmul", "weights"):
      // Stored transposed: the columns of the matrix are the rows here.
      return LayerWeightForm(
        [size("weightMatrixSecondDimension"), size("weightMatrixFirstDimension")], channelAxis: 0)
    case ("batchedMatmul", "bias"): return LayerWeightForm([size("weightMatrixSecondDimension")])
    case ("scale", "scale"): return LayerWeightForm(list("shapeScale"))
    case ("scale", "bias"): return LayerWeightForm(list("shapeBias"))
    case ("bias", "bias"), ("loadConstant", "data"), ("loadConstantND", "data"):
      return LayerWeightForm(list("shape"))
    case ("simpleRecurrent", _), ("gru", _), ("uniDirectionalLSTM", _), ("biDirectionalLSTM", _):
      return recurrent(name)
    default: return nil
    }
  }

  private func convolution(kernel: [Int], inputs: Int) -> LayerWeightForm {
    let channels = size("outputChannels")
    if size("isDeconvolution") != 0 {
      return LayerWeightForm([inputs, channels / max(1, size("nGroups"))] + kernel, channelAxis: 1)
    }
    return LayerWeightForm([channels, inputs] + kernel, channelAxis: 0)
  }

  private func recurrent(_ name: String) -> LayerWeightForm {
    let outputs = size("outputVectorSize")
    if name.lowercased().hasSuffix("weightmatrix") {
      return LayerWeightForm([outputs, size("inputVectorSize")], channelAxis: 0)
    }
    if name.lowercased().hasSuffix("recursionmatrix") {
      return LayerWeightForm([outputs, outputs], channelAxis: 0)
    }
    return LayerWeightForm([outputs])
  }
}
