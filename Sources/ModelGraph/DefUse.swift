/// The place of an operation in a block: its index, then alternately the index of a nested block
/// and of an operation in it.
public struct OperationPath: Sendable, Hashable {
  /// The indices.
  public var steps: [Int]

  /// A path of these steps; their number is odd.
  public init(_ steps: [Int]) { self.steps = steps }

  /// The path of an operation in nested block `block` of this one.
  public func nested(block: Int, operation: Int) -> OperationPath {
    OperationPath(steps + [block, operation])
  }
}

extension Block {
  /// The operation at `path`, or nil when there is none.
  public subscript(path: OperationPath) -> GraphOperation? {
    var block = self
    var steps = path.steps[...]
    while let index = steps.popFirst() {
      guard block.operations.indices.contains(index) else { return nil }
      let operation = block.operations[index]
      guard let nested = steps.popFirst() else { return operation }
      guard operation.blocks.indices.contains(nested) else { return nil }
      block = operation.blocks[nested]
    }
    return nil
  }

  /// Calls `body` for every operation, nested ones after the one that holds them, in file order.
  public func forEachOperation(
    _ body: (GraphOperation, OperationPath) throws -> Void
  ) rethrows {
    try walk(prefix: [], body)
  }

  private func walk(
    prefix: [Int], _ body: (GraphOperation, OperationPath) throws -> Void
  ) rethrows {
    for (index, operation) in operations.enumerated() {
      let path = prefix + [index]
      try body(operation, OperationPath(path))
      for (number, block) in operation.blocks.enumerated() {
        try block.walk(prefix: path + [number], body)
      }
    }
  }
}

/// Where a value is used.
public struct Use: Sendable, Hashable {
  /// The consumer.
  public enum Consumer: Sendable, Hashable {
    /// An operation's input; `binding` counts the bindings of that input.
    case operation(OperationPath, input: String, binding: Int)
    /// An output of the function's block (nil) or of nested block `block` of an operation.
    case blockOutput(OperationPath?, block: Int, index: Int)
  }

  /// The consumer.
  public var consumer: Consumer

  /// A use by this consumer.
  public init(consumer: Consumer) { self.consumer = consumer }
}

/// Definitions and uses of every value of a block, by lexical scope: an operation sees what stands
/// before it in its block and in the blocks around it.
public struct DefUse: Sendable {
  /// Where a value comes from.
  public enum Origin: Sendable, Hashable {
    case functionInput(Int)
    case blockInput(OperationPath, block: Int, index: Int)
    case operation(OperationPath, output: Int)
  }

  /// A value with its uses.
  public struct Definition: Sendable {
    /// The name.
    public var name: String
    /// The type; nil when the file has none.
    public var type: ValueType?
    /// Where the value comes from.
    public var origin: Origin
    /// Where it is used.
    public var uses: [Use]
  }

  /// A use of a name that nothing in scope defines.
  public struct Undefined: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The use.
    public var use: Use
  }

  /// A name that is defined where the same name is already in scope.
  public struct Redefinition: Sendable, Hashable {
    /// The name.
    public var name: String
    /// Where the value comes from.
    public var origin: Origin
  }

  /// All values: inputs first, then in the order of the operations.
  public private(set) var definitions: [Definition] = []
  /// Uses of names that nothing in scope defines.
  public private(set) var undefined: [Undefined] = []
  /// Names that are defined where they are already in scope.
  public private(set) var redefinitions: [Redefinition] = []
  private var byOrigin: [Origin: Int] = [:]

  /// Analyses the block of a function with `inputs`.
  public init(inputs: [NamedValueType], block: Block) {
    var scope: [String: Int] = [:]
    for (index, input) in inputs.enumerated() {
      define(input, .functionInput(index), &scope)
    }
    visit(block, at: nil, number: 0, scope)
  }

  /// The place in ``definitions`` of the value that `origin` defines.
  public func index(of origin: Origin) -> Int? { byOrigin[origin] }

  /// The value that `origin` defines.
  public func definition(_ origin: Origin) -> Definition? {
    byOrigin[origin].map { definitions[$0] }
  }

  /// The uses of an output of the operation at `path`.
  public func uses(of path: OperationPath, output: Int = 0) -> [Use] {
    definition(.operation(path, output: output))?.uses ?? []
  }

  private mutating func define(
    _ value: NamedValueType, _ origin: Origin, _ scope: inout [String: Int]
  ) {
    if scope[value.name] != nil {
      redefinitions.append(Redefinition(name: value.name, origin: origin))
    }
    scope[value.name] = definitions.count
    byOrigin[origin] = definitions.count
    definitions.append(
      Definition(name: value.name, type: value.type, origin: origin, uses: []))
  }

  private mutating func use(_ name: String, _ consumer: Use.Consumer, _ scope: [String: Int]) {
    let use = Use(consumer: consumer)
    if let index = scope[name] {
      definitions[index].uses.append(use)
    } else {
      undefined.append(Undefined(name: name, use: use))
    }
  }

  private mutating func visit(
    _ block: Block, at owner: OperationPath?, number: Int, _ outer: [String: Int]
  ) {
    var scope = outer
    for (index, input) in block.inputs.enumerated() where owner != nil {
      if let owner { define(input, .blockInput(owner, block: number, index: index), &scope) }
    }
    for (index, operation) in block.operations.enumerated() {
      let path =
        owner.map { $0.nested(block: number, operation: index) } ?? OperationPath([index])
      for (input, argument) in operation.inputs {
        for (position, binding) in argument.bindings.enumerated() {
          if let name = binding.name {
            use(name, .operation(path, input: input, binding: position), scope)
          }
        }
      }
      for (nested, block) in operation.blocks.enumerated() {
        visit(block, at: path, number: nested, scope)
      }
      for (output, value) in operation.outputs.enumerated() {
        define(value, .operation(path, output: output), &scope)
      }
    }
    for (index, name) in block.outputs.enumerated() {
      use(name, .blockOutput(owner, block: number, index: index), scope)
    }
  }
}
