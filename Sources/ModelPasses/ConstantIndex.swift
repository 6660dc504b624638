import ModelGraph
import ModelOperations
import ModelTensors

/// An operation of a model that yields a constant.
public struct ConstantSite: Sendable, Hashable {
  /// The program: indices of children from the root pipeline down.
  public var place: [Int]
  /// The name of the function.
  public var function: String
  /// The opset of the block.
  public var specialization: String
  /// The name of the constant's value.
  public var name: String
  /// The place of the operation in its block.
  public var path: OperationPath

  /// The site of `operation` at `path`.
  init(
    place: [Int], function: String, specialization: String, _ operation: GraphOperation,
    _ path: OperationPath
  ) {
    self.place = place
    self.function = function
    self.specialization = specialization
    name = operation.outputs.last?.name ?? ""
    self.path = path
  }
}

/// A constant of a model, plain or encoded: one weight, however many operations and functions use
/// it.
struct Constant: Sendable {
  /// An operation's input that the constant is bound to.
  struct Consumer: Sendable {
    var name: String
    var type: String
    var input: String
    /// The channel axes that the consumer sees; nil for a scalar.
    var axes: ChannelAxes?
    /// Whether the other operand of a matrix product has another element type; only a plain
    /// constant may differ.
    var mixesTypes: Bool
  }

  var name: String
  /// The values as Core ML decodes them.
  var source: any TensorSource
  var encoding: WeightEncoding
  /// What the constant is stored in: one weight of a plain constant, those of all parameters of an
  /// encoded one; none for immediate values.
  var weights: [Weight]
  /// Stored bytes of data, tables, scales, offsets and masks.
  var byteCount: Int
  /// The operations that yield the value.
  var sites: [ConstantSite]
  /// Operations that only serve to decode it.
  var upstream: [ConstantSite]
  var functions: [String]
  var consumers: [Consumer]
  /// Whether a block yields the constant as an output.
  var isBlockOutput: Bool
  /// Whether a constexpr operation reads it too.
  var isParameter: Bool
}

/// All numeric constants of a model's programs, in file order.
///
/// The operations that decode an encoded constant belong to it; constants that only they use are
/// not constants of their own.
struct ConstantIndex: Sendable {
  private(set) var constants: [Constant] = []
  /// The constant of a site.
  private(set) var bySite: [ConstantSite: Int] = [:]
  /// The constant that an upstream operation serves.
  private(set) var byUpstream: [ConstantSite: Int] = [:]
  private var byIdentity: [String: Int] = [:]

  /// Indexes the programs of `model`.
  ///
  /// - Throws: ``TensorError/malformed(_:)`` for encoded constants whose parameters disagree.
  init(_ model: Model) throws(TensorError) {
    var blocks: [BlockContext] = []
    model.forEachProgram { program, place in
      let prefix = model.childPrefix(at: place)
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          blocks.append(
            BlockContext(
              block: block, inputs: function.inputs, function: name, specialization: key,
              place: place, prefix: prefix))
        }
      }
    }
    for block in blocks { try add(block) }
  }

  /// A block with its place in the model.
  private struct BlockContext {
    var block: Block
    var inputs: [NamedValueType]
    var function: String
    var specialization: String
    var place: [Int]
    var prefix: String

    func site(_ operation: GraphOperation, _ path: OperationPath) -> ConstantSite {
      ConstantSite(
        place: place, function: function, specialization: specialization, operation, path)
    }
  }

  private mutating func add(_ context: BlockContext) throws(TensorError) {
    let block = context.block
    let defUse = DefUse(inputs: context.inputs, block: block)
    let reader = EncodingReader(block)
    var known = KnownValues(
      types: Dictionary(
        defUse.definitions.map { ($0.name, $0.type?.tensor?.elementType) },
        uniquingKeysWith: { _, last in last }))
    var candidates: [(GraphOperation, OperationPath)] = []
    block.forEachOperation { operation, path in
      if operation.isConst, let output = operation.outputs.first {
        known.values[output.name] = operation.attributes["val"]
      }
      if operation.isConst || operation.isConstexpr { candidates.append((operation, path)) }
    }
    for (operation, path) in candidates {
      let uses = operation.outputs.indices.flatMap { defUse.uses(of: path, output: $0) }
      let isParameter =
        !uses.isEmpty
        && uses.allSatisfy { use in
          guard case .operation(let consumer, _, _) = use.consumer else { return false }
          return block[consumer]?.isConstexpr ?? false
        }
      if isParameter { continue }
      guard let found = try content(of: operation, reader) else { continue }
      let index = indexOfConstant(found, operation, context)
      add(uses, to: index, block, known)
      let site = context.site(operation, path)
      constants[index].sites.append(site)
      bySite[site] = index
      for upstream in reader.upstream(of: operation) {
        guard let served = block[upstream], serves(upstream, served, only: path, defUse, block)
        else { continue }
        let site = context.site(served, upstream)
        constants[index].upstream.append(site)
        byUpstream[site] = index
      }
      if !constants[index].functions.contains(context.function) {
        constants[index].functions.append(context.function)
      }
    }
  }

  /// Constants and element types of a block by name.
  private struct KnownValues {
    var values: [String: Value] = [:]
    var types: [String: ElementType?]
  }

  private struct Content {
    var source: any TensorSource
    var encoding: WeightEncoding
    var parameters: [Value]
  }

  private func content(
    of operation: GraphOperation, _ reader: EncodingReader
  ) throws(TensorError) -> Content? {
    if operation.isConst {
      guard let value = operation.attributes["val"], let source = value.tensorSource else {
        return nil
      }
      return Content(
        source: source, encoding: WeightEncoding(core: .values(source)), parameters: [value])
    }
    guard let (encoding, decoded) = try reader.read(operation) else { return nil }
    return Content(
      source: decoded, encoding: encoding, parameters: reader.parameters(of: operation))
  }

  /// Whether the results of the operation at `path` reach nothing but the constexpr operation at
  /// `end`.
  private func serves(
    _ path: OperationPath, _ operation: GraphOperation, only end: OperationPath,
    _ defUse: DefUse, _ block: Block
  ) -> Bool {
    operation.outputs.indices.allSatisfy { output in
      defUse.uses(of: path, output: output).allSatisfy { use in
        guard case .operation(let consumer, _, _) = use.consumer else { return false }
        if consumer == end { return true }
        guard let next = block[consumer], next.isConstexpr else { return false }
        return serves(consumer, next, only: end, defUse, block)
      }
    }
  }

  private mutating func add(
    _ uses: [Use], to index: Int, _ block: Block, _ known: KnownValues
  ) {
    for use in uses {
      switch use.consumer {
      case .blockOutput: constants[index].isBlockOutput = true
      case .operation(let path, let input, let binding):
        guard let consumer = block[path] else { continue }
        if consumer.isConstexpr {
          constants[index].isParameter = true
          continue
        }
        constants[index].consumers.append(
          Constant.Consumer(
            name: consumer.name, type: consumer.type, input: input,
            axes: WeightAxes.axes(
              for: consumer, input: input, binding: binding,
              shape: constants[index].source.shape, constant: { known.values[$0] }),
            mixesTypes: ConstantIndex.mixesTypes(
              consumer, input, constants[index].source.elementType, known.types)))
      }
    }
  }

  /// The index of the constant with the same parameters, or that of a new one.
  private mutating func indexOfConstant(
    _ content: Content, _ operation: GraphOperation, _ context: BlockContext
  ) -> Int {
    let weights = content.parameters.compactMap(\.weight)
    // Immediate plain constants are never shared.
    if !(operation.isConst && weights.isEmpty) {
      let identity = content.parameters.map(ConstantIndex.identity).joined(separator: " ")
      let key = "\(operation.type) \(content.source.shape) \(identity)"
      if let index = byIdentity[key] { return index }
      byIdentity[key] = constants.count
    }
    var seen: Set<WeightKey> = []
    var byteCount = 0
    for value in content.parameters {
      if let weight = value.weight, !seen.insert(weight.key).inserted { continue }
      byteCount += value.tensorSource?.byteCount ?? 0
    }
    constants.append(
      Constant(
        name: context.prefix + (operation.outputs.last?.name ?? operation.name),
        source: content.source, encoding: content.encoding, weights: weights,
        byteCount: byteCount, sites: [], upstream: [], functions: [], consumers: [],
        isBlockOutput: false, isParameter: false))
    return constants.count - 1
  }

  private static func identity(of value: Value) -> String {
    if let weight = value.weight { return "\(weight.key)" }
    let bytes = value.tensorSource.flatMap { try? $0.bytes() } ?? []
    return "\(value.type?.tensor?.elementType?.rawValue ?? "")\(bytes)"
  }

  private static func mixesTypes(
    _ operation: GraphOperation, _ input: String, _ type: ElementType,
    _ types: [String: ElementType?]
  ) -> Bool {
    guard operation.type == "matmul", input == "x" || input == "y",
      let other = operation.inputs[input == "x" ? "y" : "x"]
    else { return false }
    let otherType =
      other.value?.type?.tensor?.elementType ?? other.name.flatMap { types[$0] ?? nil }
    return otherType != nil && otherType != type
  }
}
