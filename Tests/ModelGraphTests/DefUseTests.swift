import ModelGraph
import ModelTensors
import Testing

@Suite struct DefUseTests {
  private static let scalar = ValueType.tensor(.float32)

  private static func operation(
    _ type: String, _ output: String, _ inputs: NamedList<Argument>, blocks: [Block] = []
  ) -> GraphOperation {
    GraphOperation(
      type: type, inputs: inputs, outputs: [NamedValueType(output, scalar)], blocks: blocks)
  }

  @Test func usesOfInputsAndOperations() {
    let block = Block(
      outputs: ["z"],
      operations: [
        Self.operation("abs", "y", ["x": .name("x")]),
        Self.operation("add", "z", ["x": .name("y"), "y": .name("y")]),
      ])
    let uses = DefUse(inputs: [NamedValueType("x", Self.scalar)], block: block)
    #expect(uses.definitions.map(\.name) == ["x", "y", "z"])
    #expect(uses.undefined.isEmpty)
    #expect(
      uses.uses(of: OperationPath([0])).map(\.consumer) == [
        .operation(OperationPath([1]), input: "x", binding: 0),
        .operation(OperationPath([1]), input: "y", binding: 0),
      ])
    #expect(
      uses.definition(.functionInput(0))?.uses.map(\.consumer) == [
        .operation(OperationPath([0]), input: "x", binding: 0)
      ])
    #expect(
      uses.uses(of: OperationPath([1])).map(\.consumer) == [
        .blockOutput(nil, block: 0, index: 0)
      ])
  }

  @Test func undefinedNames() {
    let block = Block(
      outputs: ["q"],
      operations: [
        Self.operation("abs", "y", ["x": .name("z")]),
        Self.operation("abs", "z", ["x": .name("y")]),
      ])
    let uses = DefUse(inputs: [], block: block)
    #expect(uses.undefined.map(\.name) == ["z", "q"])
  }

  @Test func nestedBlocksSeeOuterValuesAndKeepTheirOwn() {
    let branch = Block(
      outputs: ["inner"], operations: [Self.operation("abs", "inner", ["x": .name("x")])])
    let other = Block(
      outputs: ["x"], operations: [])
    let block = Block(
      outputs: ["inner"],
      operations: [
        Self.operation("cond", "c", ["pred": .name("p")], blocks: [branch, other])
      ])
    let uses = DefUse(
      inputs: [NamedValueType("x", Self.scalar), NamedValueType("p", .tensor(.bool))],
      block: block)
    // The function's output is inside the branch, so it is not in scope.
    #expect(uses.undefined.map(\.name) == ["inner"])
    let path = OperationPath([0])
    #expect(
      uses.definition(.functionInput(0))?.uses.map(\.consumer) == [
        .operation(path.nested(block: 0, operation: 0), input: "x", binding: 0),
        .blockOutput(path, block: 1, index: 0),
      ])
  }

  @Test func blockInputs() {
    let body = Block(
      inputs: [NamedValueType("i", Self.scalar)], outputs: ["j"],
      operations: [Self.operation("abs", "j", ["x": .name("i")])])
    let block = Block(
      outputs: ["w"],
      operations: [
        Self.operation(
          "while_loop", "w", ["loop_vars": .name("x")], blocks: [body])
      ])
    let uses = DefUse(inputs: [NamedValueType("x", Self.scalar)], block: block)
    let input = uses.definition(.blockInput(OperationPath([0]), block: 0, index: 0))
    #expect(input?.name == "i")
    #expect(input?.uses.count == 1)
    #expect(uses.undefined.isEmpty)
  }

  @Test func redefinitions() {
    let block = Block(
      outputs: ["y"],
      operations: [
        Self.operation("abs", "y", ["x": .name("x")]),
        Self.operation("abs", "y", ["x": .name("y")]),
      ])
    let uses = DefUse(inputs: [NamedValueType("x", Self.scalar)], block: block)
    #expect(uses.redefinitions.map(\.name) == ["y"])
    // A later use refers to the later definition.
    #expect(uses.uses(of: OperationPath([1])).count == 1)
  }

  @Test func pathsAndWalk() {
    let inner = Block(
      outputs: ["a"], operations: [Self.operation("abs", "a", ["x": .name("x")])])
    let block = Block(
      outputs: ["c"],
      operations: [
        Self.operation("abs", "b", ["x": .name("x")]),
        Self.operation("cond", "c", [:], blocks: [inner, inner]),
      ])
    var names: [String] = []
    block.forEachOperation { operation, path in
      names.append(operation.name)
      #expect(block[path]?.name == operation.name)
    }
    #expect(names == ["b", "c", "a", "a"])
    #expect(block[OperationPath([2])] == nil)
    #expect(block[OperationPath([1, 2, 0])] == nil)
  }
}
