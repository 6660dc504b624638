import ModelGraph
import ModelOperations
import ModelTensors

/// Decides which operations of a block compute in float16, and in which form every value is needed.
///
/// An operation computes in float16 when the table lets all its float32 inputs of the type of its
/// result be float16 at the block's version, and its constants survive. Inputs of a type of their
/// own (`epsilon` from version 8 on) may stay float32 beside float16 data.
struct Float16Analysis {
  /// How an operation takes part.
  struct Role {
    /// Inputs that are bound to float16.
    var halfInputs: Set<String> = []
    /// Inputs whose large constants saturate at ±65504.
    var saturatingInputs: Set<String> = []
  }

  /// In which forms a float32 value is needed.
  struct Demand {
    var half = false
    var full = false
  }

  let functionName: String
  let function: Function
  let block: Block
  let version: Int
  let defUse: DefUse
  let interface: Float16Interface
  /// Operations that compute in float16.
  private(set) var roles: [OperationPath: Role] = [:]
  /// By position in ``DefUse/definitions``.
  private(set) var demands: [Demand]
  private(set) var notes: [String] = []

  /// Outputs that stay float32 because what yields them does.
  private(set) var keptOutputs: Set<String> = []

  private let constants: [String: Value]
  /// Float32 values that `constexpr` operations decode; a cast behind one would undo the
  /// compression and is no constant.
  private let decoded: Set<String>

  /// - Parameter kept: Constants that another block needs in float32.
  init(
    function: Function, name: String, block: Block, version: Int, settings: CompressionSettings,
    interface: Float16Interface, kept: Set<BlobReference>
  ) {
    self.function = function
    functionName = name
    self.block = block
    self.version = version
    self.interface = interface
    defUse = DefUse(inputs: function.inputs, block: block)
    demands = [Demand](repeating: Demand(), count: defUse.definitions.count)
    var constants: [String: Value] = [:]
    var decoded: Set<String> = []
    block.forEachOperation { operation, _ in
      if operation.isConstexpr { decoded.formUnion(operation.outputs.map(\.name)) }
      if operation.isConst, let output = operation.outputs.first {
        constants[output.name] = operation.attributes["val"]
      }
    }
    self.constants = constants
    self.decoded = decoded
    let types = Dictionary(
      defUse.definitions.map { ($0.name, $0.type) }, uniquingKeysWith: { first, _ in first })
    if settings.function == nil || settings.function == name {
      block.forEachOperation { operation, path in
        guard picks(operation, settings) else { return }
        if let role = role(of: operation, types) { roles[path] = role }
      }
    }
    countDemands(kept: kept)
    narrowCasts()
  }

  /// Whether the value is computed in float16.
  func isNativelyHalf(_ definition: DefUse.Definition) -> Bool {
    switch definition.origin {
    case .operation(let path, _): roles[path] != nil
    case .functionInput: interface.isFloat16(definition.name)
    case .blockInput: false
    }
  }

  /// Casts to float32 whose results are needed in float16 only become casts to float16.
  private mutating func narrowCasts() {
    for (index, definition) in defUse.definitions.enumerated() {
      guard case .operation(let path, _) = definition.origin, demands[index].half,
        !demands[index].full, block[path]?.type == "cast", roles[path] == nil
      else { continue }
      roles[path] = Role()
    }
  }

  /// Weights that an operation of this block needs in float32.
  var constantsNeededInFloat32: Set<BlobReference> {
    var references: Set<BlobReference> = []
    for (index, definition) in defUse.definitions.enumerated() where demands[index].full {
      if let reference = constant(definition)?.weight?.reference { references.insert(reference) }
    }
    return references
  }

  /// The value of a definition that is a `const` operation.
  func constant(_ definition: DefUse.Definition) -> Value? {
    guard case .operation(let path, _) = definition.origin, let operation = block[path],
      operation.isConst
    else { return nil }
    return operation.attributes["val"]
  }

  private func picks(_ operation: GraphOperation, _ settings: CompressionSettings) -> Bool {
    let names =
      [operation.name]
      + operation.inputs.values.flatMap { $0.bindings.compactMap(\.name) }
      .filter { constants[$0] != nil }
    let consumer = [(name: operation.name, type: operation.type)]
    let matches = { (pattern: WeightPattern) in
      names.contains { pattern.matches(name: $0, consumers: consumer) }
    }
    if settings.skip.contains(where: matches) { return false }
    return settings.only.isEmpty || settings.only.contains(where: matches)
  }

  /// The role of an operation, or nil when it stays as it is.
  private mutating func role(
    of operation: GraphOperation, _ types: [String: ValueType?]
  ) -> Role? {
    let isFixed =
      operation.isConst || operation.isConstexpr || !operation.blocks.isEmpty
      || Float16Rules.unchanged.contains(operation.type)
    if isFixed { return nil }
    if operation.type == "cast" {
      // From float32 to another type: the float16 form of the input will do.
      let isWidening = operation.outputs.first?.type?.tensor?.elementType == .float32
      return isWidening || !isFloat32(operation.inputs["x"], types) ? nil : Role(halfInputs: ["x"])
    }
    guard
      let definition = OperationTable.definition(of: operation.type, version: version),
      operation.outputs.contains(where: { $0.type?.tensor?.elementType == .float32 })
        || operation.inputs.contains(where: { isFloat32($0.value, types) })
    else { return nil }
    var role = Role()
    var stubborn: Set<String> = []
    for (name, argument) in operation.inputs where isFloat32(argument, types) {
      guard let input = definition.input(name) else { return nil }
      guard
        OperationTable.acceptsFloat16(
          operation: operation.type, version: version, input: name)
      else {
        // A fixed float32 parameter stays; one that shares its type with others decides for all.
        if let variable = input.typeVariable { stubborn.insert(variable) }
        if input.typeVariable == nil && !input.isConst { return nil }
        continue
      }
      if let weight = argument.bindings.compactMap(\.name).first(where: decoded.contains) {
        notes.append(
          "\(functionName)/\(operation.name): \(weight) is a compressed fp32 weight: "
            + "the operation stays fp32")
        return nil
      }
      switch Float16Rules.constants(
        argument, of: operation, input: name, constants: constants)
      {
      case .fine: role.halfInputs.insert(name)
      case .saturated(let note):
        role.halfInputs.insert(name)
        role.saturatingInputs.insert(name)
        if let note { notes.append("\(functionName)/\(operation.name): \(note)") }
      case .keep(let note):
        notes.append("\(functionName)/\(operation.name): \(note)")
        guard let variable = input.typeVariable else { return nil }
        stubborn.insert(variable)
      }
    }
    // The type of the result is that of the first tensor input.
    let leading = definition.inputs.first {
      operation.inputs[$0.name] != nil && ($0.kind == .tensor || $0.kind == .tuple)
    }
    if let variable = leading?.typeVariable, stubborn.contains(variable) { return nil }
    if let name = leading?.name, isFloat32(operation.inputs[name], types),
      !role.halfInputs.contains(name)
    {
      return nil
    }
    for name in role.halfInputs {
      if let variable = definition.input(name)?.typeVariable, stubborn.contains(variable) {
        role.halfInputs.remove(name)
        role.saturatingInputs.remove(name)
      }
    }
    return role.halfInputs.isEmpty ? nil : role
  }

  private func isFloat32(_ argument: Argument?, _ types: [String: ValueType?]) -> Bool {
    argument?.bindings.contains { binding in
      let type = binding.value?.type ?? binding.name.flatMap { types[$0] ?? nil }
      return type?.tensor?.elementType == .float32
    } ?? false
  }

  private mutating func countDemands(kept: Set<BlobReference>) {
    for (index, definition) in defUse.definitions.enumerated() {
      guard definition.type?.tensor?.elementType == .float32 else { continue }
      for use in definition.uses {
        switch use.consumer {
        case .operation(let path, let input, _):
          if let role = roles[path], role.halfInputs.contains(input) {
            demands[index].half = true
          } else {
            demands[index].full = true
          }
        case .blockOutput(let owner, _, _):
          if owner == nil, interface.isFloat16(definition.name) {
            if isNativelyHalf(definition) {
              demands[index].half = true
            } else {
              keptOutputs.insert(definition.name)
              demands[index].full = true
            }
          } else {
            demands[index].full = true
          }
        }
      }
      if let reference = constant(definition)?.weight?.reference, kept.contains(reference) {
        demands[index].full = true
      }
    }
  }
}
