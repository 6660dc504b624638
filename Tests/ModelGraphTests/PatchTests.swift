import ModelGraph
import ModelTensors
import Testing

@Suite struct PatchTests {
  private static func operation(_ output: String, _ input: String) -> GraphOperation {
    GraphOperation(
      type: "abs", inputs: ["x": .name(input)],
      outputs: [NamedValueType(output, .tensor(.float32))])
  }

  private static func program(_ operations: [GraphOperation], outputs: [String]) -> Program {
    Program(functions: [
      "main": Function(
        inputs: [NamedValueType("x", .tensor(.float32))], opset: "CoreML5",
        specializations: ["CoreML5": Block(outputs: outputs, operations: operations)])
    ])
  }

  private static func patch(_ edits: [Patch.Edit], function: String = "main") -> Patch {
    Patch(label: "test", function: function, specialization: "CoreML5", edits: edits)
  }

  private static func names(_ program: Program) -> [String] {
    program.functions["main"]?.activeBlock?.operations.map(\.name) ?? []
  }

  @Test func pathsReferToTheBlockBefore() throws {
    var program = Self.program(
      [Self.operation("a", "x"), Self.operation("b", "a"), Self.operation("c", "b")],
      outputs: ["c"])
    try program.apply([
      Self.patch([
        .insert([Self.operation("n", "a")], before: OperationPath([1])),
        .replace(OperationPath([0]), with: [Self.operation("a", "x"), Self.operation("m", "a")]),
        .setInput(OperationPath([2]), name: "x", .name("n")),
      ])
    ])
    #expect(Self.names(program) == ["a", "m", "n", "b", "c"])
    let last = program.functions["main"]?.activeBlock?.operations.last
    #expect(last?.inputs["x"]?.name == "n")
  }

  @Test func laterPatchesSeeEarlierOnes() throws {
    var program = Self.program([Self.operation("a", "x")], outputs: ["a"])
    try program.apply([
      Self.patch([.insert([Self.operation("n", "x")], before: OperationPath([0]))]),
      Self.patch([.replace(OperationPath([0]), with: [])]),
    ])
    #expect(Self.names(program) == ["a"])
  }

  @Test func nestedBlocks() throws {
    let inner = Block(outputs: ["i"], operations: [Self.operation("i", "x")])
    var cond = Self.operation("c", "x")
    cond.blocks = [inner, inner]
    var program = Self.program([cond], outputs: ["c"])
    try program.apply([
      Self.patch([
        .insert([Self.operation("n", "x")], before: OperationPath([0, 1, 0])),
        .setInput(OperationPath([0]), name: "x", nil),
      ])
    ])
    let result = program.functions["main"]?.activeBlock?.operations.first
    #expect(result?.blocks[0].operations.map(\.name) == ["i"])
    #expect(result?.blocks[1].operations.map(\.name) == ["n", "i"])
    #expect(result?.inputs.isEmpty == true)
  }

  @Test func failuresLeaveTheProgramUnchanged() throws {
    var program = Self.program([Self.operation("a", "x")], outputs: ["a"])
    let before = program
    #expect(throws: PatchError.missingOperation(label: "test", path: [4])) {
      try program.apply([
        Self.patch([.replace(OperationPath([0]), with: [])]),
        Self.patch([.replace(OperationPath([4]), with: [])]),
      ])
    }
    #expect(throws: PatchError.missingFunction("other")) {
      try program.apply([Self.patch([], function: "other")])
    }
    #expect(throws: PatchError.missingBlock(function: "main", specialization: "CoreML8")) {
      var patch = Self.patch([])
      patch.specialization = "CoreML8"
      try program.apply([patch])
    }
    #expect(program == before)
  }
}
