import ModelFiles
import ModelGraph
import ModelOperations
import ModelSpec
import ModelTensors
import TestSupport
import Testing

@testable import ModelPlan

/// Short forms for the plans that tests make.
enum Plans {
  /// A device of the standard catalog; its first chip where there is none of the name.
  static func device(_ name: String) throws -> DeviceCatalog.Choice {
    guard let choice = DeviceCatalog.standard.choice(name) else {
      throw PlanError(.usage, "no device \(name)")
    }
    return choice
  }

  static func planner(_ device: String = "a16", units: Planner.Units = .all) throws -> Planner {
    var planner = Planner(device: try Plans.device(device))
    planner.units = units
    return planner
  }

  /// A model of the conformance data.
  static func model(_ name: String) throws -> Model {
    try LoadedModel(path: "\(TestData.package)/Tests/Conformance/\(name)", readingWeights: false)
      .model
  }

  /// The graph of operations whose last one makes `y`.
  static func graph(
    _ inputs: [NamedValueType], _ operations: [GraphOperation], outputs: [String] = ["y"],
    version: Int = 9
  ) -> PlanGraph {
    PlanGraph(Make.function(version, inputs, operations, outputs: outputs), name: "main")
  }

  /// The rule that keeps an operation from `x` to `y` off a unit.
  static func rule(
    _ type: String, _ shape: [Int] = [1, 8, 4, 4], _ elementType: ElementType = .float16,
    on unit: ComputeUnit = .ne, _ context: PlacementRules.Context = context(16)
  ) -> PlacementRule? {
    let graph = graph(
      [Make.tensor("x", shape, elementType)],
      [Make.operation(type, ["x": "x"], Make.tensor("y", shape, elementType))])
    return graph.nodes.first.flatMap { PlacementRules.obstacle($0, on: unit, context) }
  }

  static func context(_ generation: Int, isPhone: Bool = true) -> PlacementRules.Context {
    PlacementRules.Context(generation: generation, isPhone: isPhone)
  }

  /// A weight of zeros in a blob.
  static func zeros(_ type: ElementType, _ shape: [Int], at offset: UInt64) throws -> Value {
    let bits = shape.reduce(type.bitWidth, *)
    return .weight(
      Weight(
        reference: BlobReference(fileName: Make.weightFile, offset: offset),
        source: try MemoryTensor(
          elementType: type, shape: shape, bytes: [UInt8](repeating: 0, count: (bits + 7) / 8))))
  }

  /// Convolutions in turn, `count` of them, from `x` to `y`, each on the value before.
  static func convolutions(
    _ count: Int, channels: Int = 64, size: Int = 28, kernel: Int = 3
  ) throws -> Model {
    let type = Make.tensor("x", [1, channels, size, size])
    var operations: [GraphOperation] = []
    var last = "x"
    for index in 0..<count {
      let output = index == count - 1 ? "y" : "c\(index)"
      operations += [
        Make.const(
          "w\(index)",
          try zeros(
            .float16, [channels, channels, kernel, kernel], at: UInt64(index + 1) * 1 << 32)),
        convolution(last, "w\(index)", Make.tensor(output, [1, channels, size, size])),
      ]
      last = output
    }
    return Make.model(
      9, [type], operations, outputs: [Make.tensor("y", [1, channels, size, size])])
  }

  /// A convolution that keeps the size of the image.
  static func convolution(
    _ input: String, _ weight: String, _ output: NamedValueType
  ) -> GraphOperation {
    var operation = Make.operation("conv", ["x": input, "weight": weight], output)
    operation.inputs["pad_type"] = .value(.string("same"))
    operation.inputs["strides"] = .value(.int32s([1, 1]))
    operation.inputs["dilations"] = .value(.int32s([1, 1]))
    operation.inputs["pad"] = .value(.int32s([0, 0, 0, 0]))
    operation.inputs["groups"] = .value(.int32(1))
    return operation
  }
}

/// Stores the weights of a model's convolutions and matrices in another encoding, of zeros: plans read
/// their sizes only.
enum Encoded {
  enum Scheme {
    case int8
    case table4
    /// Weights and activations in 8 bits, as converters write them.
    case integers
  }

  static func model(_ model: Model, _ scheme: Scheme) throws -> Model {
    var model = model
    guard var program = model.program else { return model }
    for (name, function) in program.functions {
      var function = function
      for (opset, block) in function.specializations {
        var block = block
        block.operations = try block.operations.flatMap { operation in
          try quantized(operation, scheme) + [encoded(operation, scheme)]
        }
        if scheme == .integers { bindQuantized(&block) }
        function.specializations[opset] = block
      }
      program.functions[name] = function
    }
    model.program = program
    return model
  }

  /// The inputs of an operation that converters quantize: of convolutions and of additions.
  private static func activations(_ operation: GraphOperation) -> [(input: String, value: String)] {
    let inputs = ["conv": ["x"], "add": ["x", "y"]][operation.type] ?? []
    return inputs.compactMap { input in operation.inputs[input]?.name.map { (input, $0) } }
  }

  /// `quantize` and `dequantize` before an operation.
  private static func quantized(
    _ operation: GraphOperation, _ scheme: Scheme
  ) throws -> [GraphOperation] {
    guard scheme == .integers, let output = operation.outputs.first?.name else { return [] }
    let one = try #require(Value(.float16, [], packed: [0, 60]))
    func make(_ type: String, _ input: String, _ name: String) -> GraphOperation {
      var inputs: NamedList<Argument> = ["input": .name(input), "scale": .value(one)]
      if type == "quantize" { inputs["output_dtype"] = .value(.string("int8")) }
      return GraphOperation(
        type: type, inputs: inputs, outputs: [NamedValueType(name, nil)],
        attributes: ["name": .string(name)])
    }
    return activations(operation).flatMap { input, value in
      [
        make("quantize", value, "\(output)_\(input)_q"),
        make("dequantize", "\(output)_\(input)_q", "\(output)_\(input)_d"),
      ]
    }
  }

  /// Binds operations to what was put before them.
  private static func bindQuantized(_ block: inout Block) {
    for index in block.operations.indices {
      guard let output = block.operations[index].outputs.first?.name else { continue }
      for (input, _) in activations(block.operations[index]) {
        block.operations[index].inputs[input] = .name("\(output)_\(input)_d")
      }
    }
  }

  private static func encoded(
    _ operation: GraphOperation, _ scheme: Scheme
  ) throws -> GraphOperation {
    guard operation.isConst, let weight = operation.attributes["val"]?.weight,
      weight.source.elementType == .float16, weight.source.elementCount > 2048
    else { return operation }
    let shape = weight.source.shape
    var result = operation
    result.attributes["val"] = nil
    let offset = weight.reference.offset
    switch scheme {
    case .int8, .integers:
      let channels = shape[0]
      result.type = "constexpr_affine_dequantize"
      result.attributes["quantized_data"] = try Plans.zeros(.int8, shape, at: offset)
      result.attributes["scale"] = try Plans.zeros(.float16, [channels], at: offset + 1)
      result.attributes["zero_point"] = try Plans.zeros(.int8, [channels], at: offset + 2)
      result.attributes["axis"] = .int32(0)
    case .table4:
      let count = weight.source.elementCount
      result.type = "constexpr_lut_to_dense"
      result.attributes["indices"] = try Plans.zeros(.uint8, [(count + 1) / 2], at: offset)
      result.attributes["lut"] = try Plans.zeros(.float16, [16], at: offset + 1)
      result.attributes["shape"] = Value(
        .uint32, [shape.count],
        .bytes(
          shape.flatMap { size in (0..<4).map { UInt8(truncatingIfNeeded: size >> (8 * $0)) } }))
    }
    return result
  }
}
