import ModelGraph
import ModelTensors

/// Infers shapes and element types of all values of a function.
///
/// Sizes that nothing fixes stay symbols, so that flexible inputs need no sizes; sizes that programs
/// compute (by `shape`, `gather`, `concat` …) are followed. Where an operation is not known or its
/// result depends on data, the declared type stands in.
public struct ShapeInference {
  /// An operation in the order in which it was met, with what is known of its outputs.
  public struct Step: Sendable {
    /// The operation.
    public var operation: GraphOperation
    /// What is known of its outputs.
    public var outputs: [InferredType]
    /// Names of the operations around it: branches and loops.
    public var enclosing: [String]
    /// Why a rule did not apply; nil when one did.
    public var fault: String?
  }

  /// The operations, nested ones before the one that holds them.
  public private(set) var steps: [Step] = []
  /// Declared types that are not those inferred, and operations whose inputs do not fit.
  public private(set) var findings: [Finding] = []

  private let name: String
  private let version: Int
  private var values: [String: InferredType] = [:]
  private var constants: [String: Value] = [:]
  private var enclosing: [String] = []

  /// Infers the types of a function.
  ///
  /// - Parameters:
  ///   - name: The function's name, for findings.
  ///   - shapes: Sizes of inputs in place of those declared.
  public init(_ function: Function, name: String = "main", shapes: [String: [Int]] = [:]) {
    self.name = name
    version = Opset.specificationVersion(function.opset) ?? 10
    let scope = InferenceScope()
    for input in function.inputs {
      var type = InferredType(input.type, &scope.symbols)
      if let shape = shapes[input.name], case .tensor(var tensor) = type {
        tensor.shape = shape.map(SymbolicSize.known)
        type = .tensor(tensor)
      }
      scope.values[input.name] = type
    }
    if let block = function.activeBlock { infer(block, scope) }
    values = scope.values
    constants = scope.constants
  }

  /// What is known of a value, or nil for a name that is not defined.
  public func type(_ name: String) -> InferredType? { values[name] }

  /// The constant that an operation's input is bound to, by name or in the operation; nil for one that
  /// is computed or absent.
  public func constant(_ operation: GraphOperation, _ input: String) -> Value? {
    guard let argument = operation.inputs[input] else { return operation.attributes[input] }
    return argument.value ?? argument.name.flatMap { constants[$0] }
  }

  /// What is known of the bindings of an operation's input.
  public func types(_ argument: Argument) -> [InferredType] {
    Self.types(argument, values)
  }

  private static func types(
    _ argument: Argument, _ values: [String: InferredType]
  ) -> [InferredType] {
    var symbols = SymbolSource()
    return argument.bindings.map { binding in
      switch binding.kind {
      case .name(let name): values[name] ?? .other
      case .value(let value): InferredType(of: value, &symbols)
      case .absent: .other
      }
    }
  }

  private mutating func infer(_ block: Block, _ scope: InferenceScope) {
    for operation in block.operations {
      if operation.isConst, let name = operation.outputs.first?.name {
        scope.constants[name] = operation.attributes["val"]
      }
      if !operation.blocks.isEmpty { inferBlocks(of: operation, scope) }
      infer(operation, scope)
    }
  }

  /// Infers branches and loops; a loop may change the sizes of what it carries, so its inputs are
  /// what the block declares.
  private mutating func inferBlocks(of operation: GraphOperation, _ scope: InferenceScope) {
    enclosing.append(operation.name)
    for block in operation.blocks {
      for input in block.inputs {
        scope.values[input.name] = InferredType(input.type, &scope.symbols)
      }
      infer(block, scope)
    }
    enclosing.removeLast()
  }

  private mutating func infer(_ operation: GraphOperation, _ scope: InferenceScope) {
    let call = OperationCall(operation: operation, version: version, scope: scope)
    var inferred: [InferredType]?
    var fault: String?
    do throws(InferenceFault) {
      inferred = try InferenceRules.infer(call)
      if inferred == nil { fault = "no rule" }
    } catch {
      fault = error.message
    }
    if let inferred, inferred.count != operation.outputs.count {
      report(
        operation, "The operation has \(operation.outputs.count) outputs, not \(inferred.count).")
    }
    var outputs: [InferredType] = []
    for (index, output) in operation.outputs.enumerated() {
      var type = InferredType(output.type, &scope.symbols)
      if let inferred, index < inferred.count {
        check(inferred[index], type, output.name, operation)
        type = Self.merged(inferred[index], type)
      }
      outputs.append(type)
      scope.values[output.name] = type
    }
    steps.append(
      Step(operation: operation, outputs: outputs, enclosing: enclosing, fault: fault))
  }

  /// What both say together; the inferred sizes count where they are numbers.
  private static func merged(_ inferred: InferredType, _ declared: InferredType) -> InferredType {
    switch (inferred, declared) {
    case (.tensor(var own), .tensor(let other)):
      own.elementType = own.elementType ?? other.elementType
      guard let shape = own.shape else {
        own.shape = other.shape
        return .tensor(own)
      }
      if let sizes = other.shape, sizes.count == shape.count {
        own.shape = zip(shape, sizes).map { $0.value == nil && $1.value != nil ? $1 : $0 }
      }
      return .tensor(own)
    case (.other, _): return declared
    default: return inferred
    }
  }

  private mutating func check(
    _ inferred: InferredType, _ declared: InferredType, _ output: String,
    _ operation: GraphOperation
  ) {
    guard case .tensor(let own) = inferred, case .tensor(let other) = declared else { return }
    if let type = own.elementType, let stated = other.elementType, type != stated {
      report(
        operation,
        "\(output) is declared as \(stated.rawValue), the operation yields \(type.rawValue).")
    }
    guard let shape = own.shape, let stated = other.shape else { return }
    let agrees =
      shape.count == stated.count
      && zip(shape, stated).allSatisfy { $0.value == nil || $1.value == nil || $0 == $1 }
    if !agrees {
      report(
        operation,
        "\(output) is declared with shape \(Self.text(stated)), the operation yields "
          + "\(Self.text(shape)).")
    }
  }

  private static func text(_ shape: [SymbolicSize]) -> String {
    "[" + shape.map { $0.value.map(String.init) ?? "?" }.joined(separator: ", ") + "]"
  }

  private mutating func report(_ operation: GraphOperation, _ message: String) {
    findings.append(Finding(.shape, .error, at: "\(name)/\(operation.name)", message))
  }
}
