import ModelGraph
import ModelOperations
import ModelTensors

/// The edits that make a block compute in float16 where the analysis says so.
///
/// The float32 form of a value always has the value's own name. A value that is needed in both forms
/// gets a cast right behind its definition, and the other form a name of its own.
struct Float16Rewrite {
  private(set) var edits: [Patch.Edit] = []
  /// Large constants that become float16, by name; true where they saturate.
  private(set) var constants: [String: Bool] = [:]
  private(set) var notes: [String]

  private let analysis: Float16Analysis
  private var names: Set<String>
  /// The name of the float16 form, by position in the definitions.
  private var halfNames: [Int: String] = [:]
  /// The definition that a use is bound to.
  private var definitionOfUse: [Use: Int] = [:]

  init(_ analysis: Float16Analysis) {
    self.analysis = analysis
    notes = analysis.notes
    names = Set(analysis.defUse.definitions.map(\.name))
    for (index, definition) in analysis.defUse.definitions.enumerated() {
      for use in definition.uses { definitionOfUse[use] = index }
    }
    for index in analysis.defUse.definitions.indices { place(index) }
    analysis.block.forEachOperation { operation, path in
      if let role = analysis.roles[path] {
        edits.append(.replace(path, with: rewritten(operation, path, role)))
      }
    }
  }

  /// Names the forms of a value and adds the cast between them.
  private mutating func place(_ index: Int) {
    let definition = analysis.defUse.definitions[index]
    guard let tensor = definition.type?.tensor, tensor.elementType == .float32 else { return }
    let demand = analysis.demands[index]
    if analysis.isNativelyHalf(definition) {
      // What nothing asks for in float32 keeps its name.
      guard demand.full else {
        halfNames[index] = definition.name
        return
      }
      // A function's input keeps its name; its float32 form is then the cast.
      let half = freshName(definition.name)
      halfNames[index] = half
      if case .functionInput = definition.origin {
        halfNames[index] = definition.name
        fullNames[index] = half
        insert(cast(definition.name, to: half, tensor, .float32), at: definition.origin)
        return
      }
      insert(cast(half, to: definition.name, tensor, .float32), at: definition.origin)
      return
    }
    guard demand.half else { return }
    if let value = analysis.constant(definition), place(value, index, definition) { return }
    let half = freshName(definition.name)
    halfNames[index] = half
    insert(cast(definition.name, to: half, tensor, .float16), at: definition.origin)
  }

  /// Places the float16 form of a constant; false where only a cast will do.
  private mutating func place(
    _ value: Value, _ index: Int, _ definition: DefUse.Definition
  ) -> Bool {
    guard case .operation(let path, _) = definition.origin, let operation = analysis.block[path],
      let count = value.tensorSource?.elementCount
    else { return false }
    let isShared = analysis.demands[index].full
    guard count < WeightAssembly.smallestBlob else {
      if isShared { return false }
      constants[definition.name] = saturates(definition)
      halfNames[index] = definition.name
      return true
    }
    guard let half = Float16Rules.converted(value) else { return false }
    let name = isShared ? freshName(definition.name) : definition.name
    halfNames[index] = name
    if isShared {
      edits.append(.insertAfter(path, [.const(name, half)]))
    } else {
      var constant = operation
      constant.attributes["val"] = half
      constant.outputs[0].type = half.type
      edits.append(.replace(path, with: [constant]))
    }
    return true
  }

  /// Names of the float32 form where it is not the value's own.
  private var fullNames: [Int: String] = [:]

  /// Whether all inputs that the constant is bound to saturate.
  private func saturates(_ definition: DefUse.Definition) -> Bool {
    definition.uses.allSatisfy { use in
      guard case .operation(let path, let input, _) = use.consumer else { return false }
      return analysis.roles[path]?.saturatingInputs.contains(input) ?? false
    }
  }

  private mutating func freshName(_ name: String) -> String {
    var candidate = "\(name)_cast_fp16"
    var number = 1
    while !names.insert(candidate).inserted {
      number += 1
      candidate = "\(name)_cast_fp16_\(number)"
    }
    return candidate
  }

  /// A cast with the constant that names its type.
  private mutating func cast(
    _ source: String, to result: String, _ tensor: TensorType, _ type: ElementType
  ) -> [GraphOperation] {
    var dtype = "\(result)_dtype_0"
    while !names.insert(dtype).inserted { dtype += "_0" }
    return [
      .const(dtype, .string(type.rawValue)),
      GraphOperation(
        type: "cast", inputs: ["x": .name(source), "dtype": .name(dtype)],
        outputs: [NamedValueType(result, ValueType(.tensor(tensor.with(elementType: type))))],
        attributes: ["name": .string(result)]),
    ]
  }

  /// Puts operations right behind a definition.
  private mutating func insert(_ operations: [GraphOperation], at origin: DefUse.Origin) {
    switch origin {
    case .operation(let path, _): edits.append(.insertAfter(path, operations))
    case .functionInput: edits.append(.insert(operations, before: OperationPath([0])))
    case .blockInput(let owner, let block, _):
      edits.append(.insert(operations, before: owner.nested(block: block, operation: 0)))
    }
  }

  private mutating func rewritten(
    _ operation: GraphOperation, _ path: OperationPath, _ role: Float16Analysis.Role
  ) -> [GraphOperation] {
    var result = operation
    var before: [GraphOperation] = []
    for (input, argument) in operation.inputs {
      let isHalf = role.halfInputs.contains(input)
      for (position, binding) in argument.bindings.enumerated() {
        let use = Use(consumer: .operation(path, input: input, binding: position))
        if let index = definitionOfUse[use] {
          guard let name = isHalf ? halfNames[index] : fullNames[index] else { continue }
          result.inputs[input]?.bindings[position].kind = .name(name)
        } else if isHalf, let half = binding.value.flatMap(Float16Rules.converted) {
          result.inputs[input]?.bindings[position].kind = .value(half)
        }
      }
    }
    for (output, value) in operation.outputs.enumerated() {
      guard let tensor = value.type?.tensor, tensor.elementType == .float32 else { continue }
      result.outputs[output].type?.kind = .tensor(tensor.with(elementType: .float16))
      if let index = analysis.defUse.index(of: .operation(path, output: output)),
        let name = halfNames[index]
      {
        result.outputs[output].name = name
      }
      if operation.type == "cast" {
        let dtype = freshName("\(value.name)_dtype")
        before = [.const(dtype, .string(ElementType.float16.rawValue))]
        result.inputs["dtype"] = .name(dtype)
      }
    }
    return before + [result]
  }
}
