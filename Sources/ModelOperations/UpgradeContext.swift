import ModelGraph
import ModelTensors

/// What an upgrade rule knows of the function around an operation.
struct UpgradeContext {
  let function: String
  /// The values before the operation.
  var scope: ValueScope
  /// All names that something in the function referred to.
  let used: Set<String>
  private(set) var notes: [String] = []
  private var defined: Set<String>

  init(function: String, inputs: [NamedValueType], block: Block) {
    self.function = function
    scope = ValueScope(inputs: inputs)
    used = block.usedNames
    defined = used.union(inputs.map(\.name))
    var names: Set<String> = []
    block.forEachOperation { operation, _ in
      names.insert(operation.name)
      for output in operation.outputs { names.insert(output.name) }
      for block in operation.blocks { names.formUnion(block.inputs.map(\.name)) }
    }
    defined.formUnion(names)
  }

  /// Records what was done to an operation.
  mutating func note(_ operation: GraphOperation, _ text: String) {
    notes.append("\(operation.name): \(text)")
  }

  /// A refusal of the operation.
  func refusal(_ operation: GraphOperation, _ reason: String) -> UpgradeRefusal {
    UpgradeRefusal(operation: operation.name, function: function, reason: reason)
  }

  /// A name that nothing in the function has yet: `base`, else with a number.
  mutating func unusedName(_ base: String) -> String {
    var name = base
    var number = 1
    while !defined.insert(name).inserted {
      name = "\(base)_\(number)"
      number += 1
    }
    return name
  }

  /// A new `const` operation.
  mutating func constant(_ base: String, _ value: Value) -> GraphOperation {
    GraphOperation.const(unusedName(base), value)
  }

  /// A new operation with one output.
  mutating func operation(
    _ type: String, _ base: String, _ inputs: NamedList<Argument>, _ output: ValueType?
  ) -> GraphOperation {
    let name = unusedName(base)
    return GraphOperation(
      type: type, inputs: inputs, outputs: [NamedValueType(name, output)],
      attributes: ["name": .string(name)])
  }

  /// The rank of the tensor that an input is bound to, or nil when it is not fixed.
  func rank(_ operation: GraphOperation, _ input: String) -> Int? {
    guard let tensor = scope.tensor(operation, input), tensor.hasFixedRank else { return nil }
    return tensor.dimensions.count
  }
}

extension TensorType {
  /// Whether the number of axes is known.
  var hasFixedRank: Bool {
    dimensions.allSatisfy {
      if case .unknown(variadic: true) = $0.kind { return false }
      return true
    }
  }

  /// A tensor type with these axes.
  func with(dimensions: [Dimension]) -> TensorType {
    var copy = self
    copy.dimensions = dimensions
    copy.rank = Int64(dimensions.count)
    return copy
  }
}

extension Argument {
  /// An argument bound to the first output of an operation.
  static func output(_ operation: GraphOperation) -> Argument {
    .name(operation.outputs.first?.name ?? "")
  }
}

extension Value {
  /// All elements of a float16 or float32 tensor, or nil.
  var floatValues: [Float]? {
    guard let source = tensorSource, let bytes = try? source.bytes() else { return nil }
    return bytes.withUnsafeBytes { raw in
      switch source.elementType {
      case .float32:
        (0..<source.elementCount).map {
          raw.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self)
        }
      case .float16:
        (0..<source.elementCount).map {
          HalfFloat.float(raw.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self))
        }
      default: nil
      }
    }
  }

  /// The number of a float16 or float32 scalar, or of a tensor of one element.
  var floatValue: Float? {
    guard let source = tensorSource, source.elementCount == 1 else { return nil }
    return floatValues?.first
  }

  /// A tensor of the same bytes with another shape and, where the elements are single bytes,
  /// another type; nil when the sizes disagree.
  func reinterpreted(as elementType: ElementType, shape: [Int]) -> Value? {
    guard let tensor = type?.tensor, let old = tensor.elementType,
      let count = Shape.elementCount(shape)
    else { return nil }
    var result = self
    result.type = .tensor(elementType, shape)
    if var weight {
      if old == elementType {
        guard let source = try? ReshapedTensor(weight.source, shape: shape) else { return nil }
        weight.source = source
      } else {
        guard
          let source = try? ReinterpretedTensor(weight.source, as: elementType, shape: shape)
        else { return nil }
        weight.source = source
      }
      result.content = .weight(weight)
      return result
    }
    guard case .immediate(var immediate) = content, let literal,
      let bytes = literal.packedBytes(as: old), bytes.count == elementType.byteCount(of: count)
    else { return nil }
    if old != elementType {
      guard old.bitWidth == 8 else { return nil }
      var packed = bytes
      let used = count * elementType.bitWidth % 8
      if used > 0, let last = packed.last {
        packed[packed.count - 1] = last & UInt8((1 << used) - 1)
      }
      immediate.kind = .tensor(.bytes(packed))
      result.content = .immediate(immediate)
    }
    return result
  }
}
