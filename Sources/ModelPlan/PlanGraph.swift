import ModelGraph
import ModelOperations
import ModelTensors

/// A function as the plan sees it: the operations that run, with their work and the constants that
/// they read.
public struct PlanGraph: Sendable {
  /// One operation that runs.
  public struct Node: Sendable {
    /// The operation.
    public var operation: GraphOperation
    /// What is known of its outputs.
    public var outputs: [InferredType]
    /// What it computes and moves; nil where shapes are not known in numbers.
    public var work: OperationWork?
    /// The constants that it reads.
    public var weights: [PlanWeight]
    /// Values computed at run time that it reads, each once.
    public var reads: [String]
    /// Names of the operations around it: branches and loops.
    public var enclosing: [String]
    /// The element type that it computes in: that of its outputs, of its inputs where those are of
    /// no number; nil where neither is known.
    public var elementType: ElementType?
    /// The largest rank among its inputs and outputs.
    public var rank: Int
    /// The largest size of an axis among its inputs and outputs.
    public var largestSize: Int
    /// Whether it multiplies integers of 8 bits, though its types are those of floats.
    public var isQuantized = false
    /// The spatial sizes of a convolution's weight; nil for other operations.
    public var kernel: [Int]?
    /// Why its types could not be inferred; nil where they could.
    public var fault: String?

    /// The operation's name.
    public var name: String { operation.name }
    /// Bytes of its constants as they are stored.
    public var storedBytes: Double { weights.reduce(0) { $0 + $1.storedBytes } }
    /// Bytes of its constants as they are decoded.
    public var denseBytes: Double { weights.reduce(0) { $0 + $1.denseBytes } }
  }

  /// The operations in the order in which they run.
  public var nodes: [Node]
  /// Values that come from outside: inputs and states, with their types.
  public var inputs: [String: InferredType]
  /// Names of the values that the function yields.
  public var outputs: [String]

  /// The graph of a function.
  ///
  /// - Parameter shapes: Sizes of inputs; those that are not given are as declared.
  public init(_ function: Function, name: String, shapes: [String: [Int]] = [:]) {
    let inference = ShapeInference(function, name: name, shapes: shapes)
    var constants: [String: PlanWeight] = [:]
    nodes = []
    inputs = [:]
    for input in function.inputs { inputs[input.name] = inference.type(input.name) ?? .other }
    outputs = function.activeBlock?.outputs ?? []
    for step in inference.steps {
      let operation = step.operation
      if operation.isConst || operation.isConstexpr {
        let inner = operation.inputs.flatMap { $0.value.bindings }.compactMap { binding in
          binding.name.flatMap { constants[$0] }
        }
        for (index, output) in operation.outputs.enumerated() {
          constants[output.name] = PlanWeight(
            operation, output: step.outputs[index], chain: inner)
        }
        continue
      }
      nodes.append(Node(step, inference, constants))
    }
    QuantizedActivations.apply(to: &nodes)
  }
}

extension PlanGraph.Node {
  init(
    _ step: ShapeInference.Step, _ inference: ShapeInference, _ constants: [String: PlanWeight]
  ) {
    operation = step.operation
    outputs = step.outputs
    enclosing = step.enclosing
    fault = step.fault
    let weight = step.operation.inputs["weight"].flatMap { inference.types($0).first }
    let isConvolution = step.operation.type.hasPrefix("conv")
    kernel = weight?.tensor?.fixedShape.flatMap { shape in
      isConvolution && shape.count > 2 ? Array(shape.dropFirst(2)) : nil
    }
    work = OperationWork(step, in: inference) { constants[$0] != nil }
    weights = []
    reads = []
    var types = step.outputs
    var seen: Set<String> = []
    for (_, argument) in operation.inputs {
      for (binding, type) in zip(argument.bindings, inference.types(argument)) {
        if let value = binding.value {
          if let weight = PlanWeight(value), !weight.isParameter { weights.append(weight) }
          continue
        }
        guard let name = binding.name, seen.insert(name).inserted else { continue }
        if let weight = constants[name] {
          if !weight.isParameter { weights.append(weight) }
        } else {
          reads.append(name)
          types.append(type)
        }
      }
    }
    let shapes = types.compactMap { $0.tensor?.shape }
    rank = shapes.map(\.count).max() ?? 0
    largestSize = shapes.flatMap { $0.compactMap(\.value) }.max() ?? 0
    let elementTypes = types.compactMap { $0.tensor?.elementType }
    elementType =
      elementTypes.first { $0.isFloat } ?? elementTypes.first { $0.isInteger }
      ?? elementTypes.first
  }
}

/// A constant that an operation reads.
public struct PlanWeight: Sendable, Equatable {
  /// How a constant is stored, by what has to decode it.
  public enum Encoding: Int, Sendable, Comparable {
    /// As it is used.
    case dense
    /// A table with indices.
    case table
    /// A mask with the values that are not zero.
    case sparse
    /// Integers with scales per tensor or channel.
    case affine
    /// Integers with scales per block.
    case blockwise

    /// The order of the cases.
    public static func < (left: Encoding, right: Encoding) -> Bool {
      left.rawValue < right.rawValue
    }
  }

  /// The name of the value; empty for one that stands in the operation.
  public var name: String
  /// Bytes of data, tables, scales and masks.
  public var storedBytes: Double
  /// Bytes of the decoded values.
  public var denseBytes: Double
  /// The encodings of the chain, the outermost first; empty for a plain constant.
  public var encodings: [Encoding]
  /// Whether it is a few numbers within the program, such as strides, and no weight.
  var isParameter = false

  init?(_ value: Value) {
    guard let type = value.type?.tensor, let shape = type.shape,
      let elementType = type.elementType
    else { return nil }
    name = ""
    storedBytes = shape.reduce(Double(elementType.bitWidth) / 8) { $0 * Double($1) }
    denseBytes = storedBytes
    encodings = []
    isParameter = value.weight == nil && (Shape.elementCount(shape) ?? 0) < 10
  }

  init(_ operation: GraphOperation, output: InferredType, chain: [PlanWeight]) {
    name = operation.outputs.first?.name ?? ""
    denseBytes = output.tensor?.byteCount ?? 0
    let values =
      operation.attributes.map { $0.value }
      + operation.inputs.flatMap { $0.value.bindings.compactMap(\.value) }
    let own = values.compactMap { PlanWeight($0)?.storedBytes }.reduce(0, +)
    storedBytes = own + chain.reduce(0) { $0 + $1.storedBytes }
    if operation.isConst {
      denseBytes = max(denseBytes, own)
      isParameter = operation.attributes["val"].flatMap { PlanWeight($0) }?.isParameter ?? true
    }
    encodings = PlanWeight.encoding(operation).map { [$0] } ?? []
    for inner in chain { encodings += inner.encodings.filter { !encodings.contains($0) } }
  }

  private static func encoding(_ operation: GraphOperation) -> Encoding? {
    switch operation.type {
    case "constexpr_affine_dequantize": .affine
    case "constexpr_lut_to_dense", "constexpr_lut_to_sparse": .table
    case "constexpr_sparse_to_dense": .sparse
    case "constexpr_blockwise_shift_scale", "constexpr_sparse_blockwise_shift_scale":
      hasBlocks(operation) ? .blockwise : .affine
    default: nil
    }
  }

  /// Whether several axes have more than one scale.
  private static func hasBlocks(_ operation: GraphOperation) -> Bool {
    let shape = operation.inputs["scale"]?.value?.type?.tensor?.shape ?? []
    return shape.count { $0 > 1 } > 1
  }
}
