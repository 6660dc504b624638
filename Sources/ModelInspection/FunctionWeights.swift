import ModelGraph
import ModelOperations
import ModelTensors

/// Finds the weights of one function: constants and what `constexpr` operations decode.
struct FunctionWeights {
  let function: String
  let prefix: String
  let block: Block
  private let defUse: DefUse
  private let evaluator: ConstantEvaluator
  /// The definition bound to an input of a `constexpr` operation.
  private var producers: [Use.Consumer: Int] = [:]
  private var encodings: [OperationPath: Encoding] = [:]

  /// How a `constexpr` operation stores its output.
  private struct Encoding {
    /// Outermost first.
    var chain: [String] = []
    var parts: [WeightCatalog.Part] = []
    /// Equal for the same operations on the same parts.
    var signature = ""

    /// Chains of real models have up to three links of five parts; what is longer is cut.
    static let partLimit = 64
  }

  init(function: String, prefix: String, inputs: [NamedValueType], block: Block) {
    self.function = function
    self.prefix = prefix
    self.block = block
    defUse = DefUse(inputs: inputs, block: block)
    evaluator = ConstantEvaluator(block)
    for (index, definition) in defUse.definitions.enumerated() {
      guard case .operation(let path, _) = definition.origin, let operation = block[path],
        operation.isConst || operation.isConstexpr
      else { continue }
      for use in definition.uses { producers[use.consumer] = index }
    }
  }

  /// Adds the function's weights to `catalog`.
  mutating func collect(into catalog: inout WeightCatalog) {
    for definition in defUse.definitions {
      guard case .operation(let path, let output) = definition.origin,
        let operation = block[path]
      else { continue }
      if operation.isConst {
        let (consumers, feedsDecoder) = consumers(of: definition)
        if let value = operation.attributes["val"], !(feedsDecoder && consumers.isEmpty) {
          add(value, named: definition.name, consumers, to: &catalog)
        }
      } else if operation.isConstexpr {
        if encodings[path] == nil { encodings[path] = encoding(of: operation, at: path) }
        let (consumers, feedsDecoder) = consumers(of: definition)
        let isUnused = consumers.isEmpty && !feedsDecoder && operation.outputs.count == 1
        if isUnused || !consumers.isEmpty {
          add(operation, path, output: output, definition, consumers, to: &catalog)
        }
      } else if output == 0 {
        addLiterals(of: operation, to: &catalog)
      }
    }
    block.forEachOperation { operation, _ in
      if operation.outputs.isEmpty { addLiterals(of: operation, to: &catalog) }
    }
  }

  // MARK: Entries

  private func add(
    _ value: Value, named name: String, _ consumers: [WeightFact.Consumer],
    to catalog: inout WeightCatalog
  ) {
    guard let type = value.type?.tensor, type.elementType != .string else { return }
    let shape = type.shape ?? value.weight?.source.shape ?? []
    let count = Shape.elementCount(shape) ?? 0
    guard value.weight != nil || (value.literal != nil && count >= 10) else { return }
    let part = part(value, place: name)
    let fact = WeightFact(
      name: prefix + name, functions: [function], consumers: consumers, shape: shape,
      elementType: type.elementType, encoding: "dense", parameters: count,
      storedBytes: part.byteCount)
    catalog.add(
      WeightCatalog.Entry(
        fact: fact,
        location: value.tensorSource.map(WeightCatalog.Location.stored) ?? .absent),
      parts: [part], signature: part.isBlob ? "dense \(shape) \(part.key)" : nil)
  }

  private func add(
    _ operation: GraphOperation, _ path: OperationPath, output: Int,
    _ definition: DefUse.Definition, _ consumers: [WeightFact.Consumer],
    to catalog: inout WeightCatalog
  ) {
    let encoding = encodings[path] ?? Encoding()
    let type = definition.type?.tensor
    let shape = type?.shape ?? []
    let fact = WeightFact(
      name: prefix + definition.name, functions: [function], consumers: consumers, shape: shape,
      elementType: type?.elementType, encoding: encoding.chain.joined(separator: "+"),
      parameters: type?.shape.flatMap(Shape.elementCount) ?? 0,
      storedBytes: encoding.parts.reduce(0) { $0 &+ $1.byteCount })
    let isShared = encoding.parts.contains(where: \.isBlob)
    catalog.add(
      WeightCatalog.Entry(fact: fact, location: .encoded(evaluator, name: definition.name)),
      parts: encoding.parts,
      signature: isShared
        ? "\(type?.elementType?.rawValue ?? "") \(shape) \(output) \(encoding.signature)" : nil)
  }

  /// Constants that stand in an operation instead of a `const` of their own.
  private func addLiterals(of operation: GraphOperation, to catalog: inout WeightCatalog) {
    if operation.isConst || operation.isConstexpr { return }
    func add(_ value: Value, _ input: String, _ name: String) {
      let consumer = WeightFact.Consumer(
        function: function, operation: operation.name, type: operation.type, input: input)
      self.add(value, named: name, [consumer], to: &catalog)
    }
    for (input, argument) in operation.inputs {
      for (position, binding) in argument.bindings.enumerated() {
        guard let value = binding.value else { continue }
        let number = argument.bindings.count > 1 ? "[\(position)]" : ""
        add(value, input, "\(operation.name).\(input)\(number)")
      }
    }
    for (name, value) in operation.attributes where name != "name" {
      add(value, name, "\(operation.name).\(name)")
    }
  }

  private func consumers(
    of definition: DefUse.Definition
  ) -> (consumers: [WeightFact.Consumer], feedsDecoder: Bool) {
    var consumers: [WeightFact.Consumer] = []
    var feedsDecoder = false
    for use in definition.uses {
      switch use.consumer {
      case .operation(let path, let input, _):
        guard let operation = block[path] else { continue }
        if operation.isConstexpr {
          feedsDecoder = true
          continue
        }
        consumers.append(
          WeightFact.Consumer(
            function: function, operation: operation.name, type: operation.type, input: input))
      case .blockOutput(let owner, _, _):
        consumers.append(
          WeightFact.Consumer(
            function: function, operation: owner.flatMap { block[$0]?.name } ?? function,
            type: "output", input: definition.name))
      }
    }
    return (consumers, feedsDecoder)
  }

  // MARK: Encodings

  /// The stored tensors among a decoder's parameters, in the order in which they matter.
  private static let parameters = [
    "nonzero_data", "indices_nonzero_data", "data", "quantized_data", "source_val", "indices",
    "lut", "scale", "zero_point", "offset", "mask", "indices_mask", "data_mask",
  ]

  private func encoding(of operation: GraphOperation, at path: OperationPath) -> Encoding {
    var encoding = Encoding(chain: [FunctionWeights.name(of: operation)])
    encoding.signature = operation.type
    func append(_ part: WeightCatalog.Part) {
      if encoding.parts.count < Encoding.partLimit,
        !encoding.parts.contains(where: { $0.key == part.key })
      {
        encoding.parts.append(part)
      }
    }
    func append(_ value: Value, _ name: String) {
      let part = part(value, place: operation.name + "." + name)
      append(part)
      encoding.signature += " \(name):" + (part.isBlob ? part.key : content(of: value))
    }
    for name in FunctionWeights.parameters {
      if let value = operation.parameter(name) {
        append(value, name)
        continue
      }
      let consumer = Use.Consumer.operation(path, input: name, binding: 0)
      guard let index = producers[consumer],
        case .operation(let source, let output) = defUse.definitions[index].origin,
        let producer = block[source]
      else { continue }
      if producer.isConst, let value = producer.attributes["val"] {
        append(value, name)
      } else if let inner = encodings[source] {
        // The mask beside the data comes from the same operation.
        if !name.hasSuffix("mask") {
          encoding.chain += inner.chain.prefix(max(0, 8 - encoding.chain.count))
        }
        inner.parts.forEach { append($0) }
        encoding.signature += " \(name):\(output)(\(inner.signature.prefix(4096)))"
      }
    }
    return encoding
  }

  private static func name(of operation: GraphOperation) -> String {
    switch operation.type {
    case "constexpr_cast": "cast"
    case "constexpr_affine_dequantize": "affine"
    case "constexpr_blockwise_shift_scale", "constexpr_sparse_blockwise_shift_scale": "blockwise"
    case "constexpr_lut_to_dense", "constexpr_lut_to_sparse": "lut"
    case "constexpr_sparse_to_dense": "sparse"
    default: String(operation.type.dropFirst("constexpr_".count))
    }
  }

  private func part(_ value: Value, place: String) -> WeightCatalog.Part {
    if let weight = value.weight {
      let reference = weight.reference
      return WeightCatalog.Part(
        key: "\(reference.fileName)@\(reference.offset)", byteCount: weight.source.byteCount,
        isBlob: true)
    }
    let type = value.type?.tensor
    let count = type?.shape.flatMap(Shape.elementCount) ?? 0
    let size = type?.elementType?.byteCount(of: count) ?? 0
    return WeightCatalog.Part(
      key: "\(prefix)\(function)/\(place)", byteCount: size, isBlob: false)
  }

  /// The content of an immediate value, short; of a long one its place only.
  private func content(of value: Value) -> String {
    guard let type = value.type?.tensor?.elementType, let literal = value.literal,
      literal.count <= 1024, let bytes = literal.packedBytes(as: type)
    else { return "\(prefix)\(function)" }
    return bytes.map { String($0, radix: 16) }.joined(separator: ",")
  }
}
