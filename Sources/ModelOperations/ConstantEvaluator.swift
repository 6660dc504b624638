import ModelCompression
import ModelGraph
import ModelTensors

/// Constants of a block by name: plain ones and those that `constexpr` operations decode, chains
/// included.
///
/// Decoding is lazy: a tensor that this yields decodes the pieces that are read from it.
public struct ConstantEvaluator: Sendable {
  private var producers: [String: (operation: GraphOperation, output: Int)] = [:]

  /// Knows the constants of `block` and of the blocks in it.
  public init(_ block: Block) {
    block.forEachOperation { operation, _ in
      guard operation.isConst || operation.isConstexpr else { return }
      for (index, output) in operation.outputs.enumerated() {
        producers[output.name] = (operation, index)
      }
    }
  }

  /// The constant that the value `name` is, or nil when it is computed at run time, is no numeric
  /// tensor, or comes from an operation that is not known.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` when the inputs of a `constexpr` operation disagree.
  public func tensor(named name: String) throws(TensorError) -> (any TensorSource)? {
    try tensor(named: name, depth: 0)
  }

  /// The first output that an operation decodes to; of the sparse pairs the values.
  ///
  /// - Throws: as ``tensor(named:)``.
  public func tensor(of operation: GraphOperation) throws(TensorError) -> (any TensorSource)? {
    guard let output = operation.outputs.last else { return nil }
    return try tensor(named: output.name)
  }

  /// Chains of `constexpr` operations are three long at most; longer ones may be circular.
  private static let maximumDepth = 16

  private func tensor(
    named name: String, depth: Int
  ) throws(TensorError) -> (any TensorSource)? {
    guard let (operation, output) = producers[name] else { return nil }
    if operation.isConst { return operation.attributes["val"]?.tensorSource }
    guard depth < ConstantEvaluator.maximumDepth else {
      throw .malformed("\(operation.name): the chain of constexpr operations is circular")
    }
    do throws(TensorError) {
      return try decode(operation, output: output, depth: depth)
    } catch {
      guard case .malformed(let text) = error, depth == 0 else { throw error }
      throw .malformed("\(operation.type) \"\(operation.name)\": \(text)")
    }
  }

  private func decode(
    _ operation: GraphOperation, output: Int, depth: Int
  ) throws(TensorError) -> (any TensorSource)? {
    let inputs = Inputs(evaluator: self, operation: operation, depth: depth)
    switch operation.type {
    case "constexpr_affine_dequantize":
      return try AffineTensor(
        data: inputs.required("quantized_data"), zeroPoint: inputs.required("zero_point"),
        scale: inputs.required("scale"), axis: inputs.integer("axis"))
    case "constexpr_blockwise_shift_scale":
      return try BlockwiseTensor(
        data: inputs.required("data"), scale: inputs.required("scale"),
        offset: inputs.optional("offset"))
    case "constexpr_lut_to_dense":
      if let shape = try inputs.shape() {
        return try LookupTensor(
          packedIndices: inputs.required("indices"), lut: inputs.required("lut"), shape: shape)
      }
      return try LookupTensor(
        indices: inputs.required("indices"), lut: inputs.required("lut"),
        vectorAxis: inputs.optionalInteger("vector_axis"))
    case "constexpr_sparse_to_dense":
      if let shape = try inputs.shape() {
        return try SparseTensor(
          values: inputs.required("nonzero_data"), packedMask: inputs.required("mask"),
          shape: shape)
      }
      return try SparseTensor(
        values: inputs.required("nonzero_data"), mask: inputs.required("mask"))
    case "constexpr_lut_to_sparse":
      let pair = try SparsePair.lookup(
        mask: inputs.required("indices_mask"), indices: inputs.required("indices_nonzero_data"),
        lut: inputs.required("lut"), vectorAxis: inputs.optionalInteger("vector_axis"))
      return output == 0 ? pair.mask : pair.values
    case "constexpr_sparse_blockwise_shift_scale":
      let pair = try SparsePair.blockwise(
        mask: inputs.required("data_mask"), data: inputs.required("nonzero_data"),
        scale: inputs.required("scale"), offset: inputs.optional("offset"))
      return output == 0 ? pair.mask : pair.values
    case "constexpr_cast":
      let name = operation.parameter("output_dtype")?.stringValue ?? "fp32"
      guard let type = ElementType(rawValue: name) else {
        throw .malformed("output_dtype \"\(name)\" is no element type")
      }
      return try CastTensor(inputs.required("source_val"), to: type)
    default: return nil
    }
  }

  /// The inputs of one operation, as attributes, values or names.
  private struct Inputs {
    var evaluator: ConstantEvaluator
    var operation: GraphOperation
    var depth: Int

    func optional(_ name: String) throws(TensorError) -> (any TensorSource)? {
      if let value = operation.parameter(name) {
        guard let source = value.tensorSource else {
          throw .malformed("\(name) is no tensor whose elements fit its type")
        }
        return source
      }
      guard let bound = operation.inputs[name]?.name else { return nil }
      return try evaluator.tensor(named: bound, depth: depth + 1)
    }

    func required(_ name: String) throws(TensorError) -> any TensorSource {
      guard let source = try optional(name) else {
        throw .malformed("\(name) is missing or no constant")
      }
      return source
    }

    func optionalInteger(_ name: String) throws(TensorError) -> Int? {
      guard let source = try optional(name) else { return nil }
      guard source.elementCount == 1,
        let values = try? CodeReader.integers(source, 0..<1), let first = values.first
      else { throw .malformed("\(name) is no integer") }
      return Int(first)
    }

    func integer(_ name: String) throws(TensorError) -> Int {
      guard let value = try optionalInteger(name) else {
        throw .malformed("\(name) is missing or no constant")
      }
      return value
    }

    /// The `shape` of the flat iOS16 forms; nil for the iOS18 ones, which have none.
    func shape() throws(TensorError) -> [Int]? {
      guard let source = try optional("shape") else { return nil }
      guard source.shape.count == 1, source.elementCount <= 64,
        let values = try? CodeReader.integers(source, 0..<source.elementCount)
      else { throw .malformed("shape is no vector of sizes") }
      let shape = values.map(Int.init)
      guard Shape.elementCount(shape) != nil else {
        throw .malformed("the shape \(shape) has a negative size or too many elements")
      }
      return shape
    }
  }
}
