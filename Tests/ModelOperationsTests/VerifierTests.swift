import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct VerifierTests {
  /// Codes and places of the findings of a program.
  private func findings(_ program: Program, _ version: Int) -> [String] {
    Verifier.findings(program: program, specificationVersion: version).map {
      "\($0.severity.rawValue) \($0.code.rawValue) \($0.place)"
    }
  }

  private func findings(
    _ version: Int, _ inputs: [NamedValueType] = [Build.x()], _ operations: GraphOperation...
  ) -> [String] {
    findings(Build.program(version, inputs, operations), version)
  }

  @Test func acceptsAValidProgram() {
    #expect(findings(6, [Build.x()], Build.operation("abs")).isEmpty)
    let model = Model(
      specificationVersion: 6, description: nil,
      kind: .program(Build.program(6, [Build.x()], [Build.operation("abs")])))
    #expect(Verifier.findings(model).isEmpty)
  }

  @Test func names() {
    #expect(
      findings(6, [Build.x()], Build.operation("abs", ["x": .name("z")]))
        == ["error undefined-name main/y.x"])
    #expect(
      findings(6, [Build.x()], Build.operation("abs"), Build.operation("abs"))
        == ["error redefinition main/y", "warning duplicate-name main/y"])
    #expect(
      findings(6, [Build.x(), Build.x("y")], Build.operation("abs"))
        == ["warning redefinition main/y"])
    #expect(
      findings(6, [Build.x()], Build.operation("abs", ["x": .name("x")], "z"))
        == ["error block-output main"])
    #expect(
      findings(6, [Build.x("x"), Build.x("tensor"), Build.x("")], Build.operation("abs"))
        == ["warning reserved-name main.tensor", "error empty-name main"])
  }

  @Test func opsets() {
    let program = Build.program(8, [Build.x()], [Build.operation("abs")])
    #expect(findings(program, 9) == ["warning opset main"])
    #expect(findings(program, 7) == ["error opset main"])
    var broken = program
    broken.functions["main"]?.opset = "CoreML5"
    #expect(findings(broken, 6) == ["error missing-block main"])
    broken.functions["main"]?.opset = "ML"
    #expect(findings(broken, 8) == ["error opset main", "error missing-block main"])
    #expect(findings(Program(functions: [:]), 8) == ["error missing-function program"])
  }

  @Test func inputs() {
    #expect(
      findings(6, [Build.x()], Build.operation("add")) == ["error missing-input main/y.y"])
    let gather: NamedList<Argument> = [
      "x": .name("x"), "indices": .value(.int32s([0])), "batch_dims": .value(.int32(0)),
    ]
    #expect(
      findings(6, [Build.x()], Build.operation("gather", gather))
        == ["error unknown-input main/y.batch_dims"])
    #expect(findings(7, [Build.x()], Build.operation("gather", gather)).isEmpty)
    #expect(
      findings(6, [Build.x()], Build.operation("abs", ["x": Argument([Binding(.absent)])]))
        == ["error binding main/y.x"])
    #expect(
      findings(
        6, [Build.x()],
        Build.operation("abs", ["x": Argument([Binding(.name("x")), Binding(.name("x"))])]))
        == ["error binding main/y.x"])
  }

  @Test func operationsAndVersions() {
    #expect(
      findings(7, [Build.x()], Build.operation("quantize")) == ["error operation-version main/y"])
    #expect(
      findings(7, [Build.x()], Build.operation("custom_swish"))
        == ["note unknown-operation main/y"])
  }

  @Test func elementTypes() {
    let type = ValueType.tensor(.int32, [2, 3])
    #expect(
      findings(
        6, [Build.x("x", .int32)], Build.operation("sigmoid", ["x": .name("x")], "y", type))
        == ["error element-type main/y.x"])
    let half = Build.x("h", .float16)
    #expect(
      findings(6, [Build.x(), half], Build.operation("add", ["x": .name("x"), "y": .name("h")]))
        == ["error type-variable main/y.y"])
    var unknown = TensorType(.float32, [2, 3])
    unknown.dataType = DataType(rawValue: 99)
    #expect(
      findings(6, [NamedValueType("x", ValueType(.tensor(unknown)))], Build.operation("abs"))
        == ["warning element-type main.x"])
    // A constant may be of another float type.
    let constant = GraphOperation.const("c", Value(.float16, [1], .bytes([0, 0])))
    #expect(
      findings(
        6, [Build.x()], constant, Build.operation("add", ["x": .name("x"), "y": .name("c")]))
        == ["note type-variable main/y.y"])
  }

  @Test func constness() {
    let axes: NamedList<Argument> = ["x": .name("x"), "axes": .name("a")]
    #expect(
      findings(6, [Build.x(), Build.x("a", .int32, [1])], Build.operation("expand_dims", axes))
        == ["error not-constant main/y.axes"])
    #expect(
      findings(
        6, [Build.x()], GraphOperation.const("a", .int32s([0])),
        Build.operation("expand_dims", axes)
      ).isEmpty)
  }

  @Test func constants() {
    func const(_ value: Value, _ type: ValueType? = nil) -> [String] {
      var operation = GraphOperation.const("y", value)
      if let type { operation.outputs[0].type = type }
      return findings(6, [], operation)
    }
    #expect(const(.int32s([1, 2])).isEmpty)
    #expect(const(Value(.int32, [3], .ints([1, 2]))) == ["error literal-count main/y.val"])
    #expect(const(Value(.float16, [2], .bytes([0, 0, 0]))) == ["error literal-count main/y.val"])
    #expect(const(Value(.float16, [2], .floats([0, 0]))) == ["error literal-count main/y.val"])
    #expect(const(Value(.int4, [3], .bytes([0, 0]))).isEmpty)
    #expect(const(Value(.float32, [0], .absent)).isEmpty)
    #expect(const(.int32(1), .tensor(.float32)) == ["error output-type main/y"])
    #expect(
      const(Value(type: .tensor(.float32), content: .absent)) == ["error literal-count main/y.val"])
    var ragged = TensorType(.int32, [2])
    ragged.rank = 3
    let value = Value(
      type: ValueType(.tensor(ragged)),
      content: .immediate(ImmediateValue(.tensor(.ints([1, 2])))))
    #expect(const(value) == ["error rank main/y.y", "error rank main/y.val"])
  }

  @Test func weights() {
    let weight = Weight(
      reference: BlobReference(fileName: "weight.bin", offset: 64),
      source: AbsentTensor(elementType: .float16, shape: [4]))
    #expect(findings(6, [], GraphOperation.const("y", .weight(weight))).isEmpty)
    let other = Value(type: .tensor(.float16, [5]), content: .weight(weight))
    #expect(findings(6, [], GraphOperation.const("y", other)) == ["error blob-type main/y.val"])
    let flat = Value(type: .tensor(.float16, [2, 2]), content: .weight(weight))
    #expect(findings(6, [], GraphOperation.const("y", flat)).isEmpty)
  }

  @Test func nestedBlocks() {
    let branch = Block(
      outputs: ["b"], operations: [Build.operation("abs", ["x": .name("x")], "b")])
    var cond = Build.operation("cond", ["pred": .name("p")])
    let inputs = [Build.x(), Build.x("p", .bool, [])]
    #expect(findings(6, inputs, cond) == ["error block-count main/y"])
    cond.blocks = [branch, branch]
    #expect(findings(6, inputs, cond) == ["warning duplicate-name main/b"])
    cond.blocks[1] = Block(outputs: ["b"], operations: [])
    #expect(findings(6, inputs, cond) == ["error block-output main/y"])
    cond.blocks[1] = Block(outputs: [], operations: [])
    #expect(findings(6, inputs, cond) == ["error block-count main/y"])
  }

  @Test func loops() {
    let variable = Build.x("i")
    let condition = Block(
      inputs: [variable], outputs: ["go"],
      operations: [
        Build.operation(
          "less", ["x": .name("i"), "y": .name("x")], "go", .tensor(.bool, [2, 3]))
      ])
    let body = Block(
      inputs: [variable], outputs: ["next"],
      operations: [Build.operation("abs", ["x": .name("i")], "next")])
    var loop = Build.operation("while_loop", ["loop_vars": .name("x")])
    loop.blocks = [condition, body]
    #expect(findings(6, [Build.x()], loop).isEmpty)
    loop.blocks[1].outputs = ["next", "next"]
    #expect(findings(6, [Build.x()], loop) == ["error block-count main/y"])
  }

  @Test func states() {
    let state = NamedValueType("s", ValueType(.state(.tensor(.float16, [4]))))
    let type = ValueType.tensor(.float16, [4])
    let read = Build.operation("read_state", ["input": .name("s")], "y", type)
    let write = GraphOperation(
      type: "write_state", inputs: ["input": .name("s"), "data": .name("y")], outputs: [])
    #expect(findings(9, [state], read, write).isEmpty)
    #expect(findings(8, [state], read).contains("error state main.s"))
    #expect(
      findings(
        9, [state], Build.operation("read_state", ["input": .name("s")], "y")
      ) == ["error state main/y"])
    #expect(
      findings(9, [state], Build.operation("abs", ["x": .name("s")], "y", type))
        == ["error state main/y.x"])
    #expect(
      findings(9, [Build.x("s", .float16, [4])], read) == ["error state main/y.input"])
    #expect(
      findings(Build.program(9, [state], [], outputs: ["s"]), 9) == ["error state main"])
    let open = NamedValueType("s", ValueType(.state(Build.tensor(.float16, [-1]))))
    #expect(findings(9, [open], read).first == "error state main.s")
  }

  @Test func firstErrorSkipsNotes() {
    let program = Build.program(
      7, [Build.x()],
      [Build.operation("custom", ["x": .name("x")], "a"), Build.operation("add")])
    let error = Verifier.firstError(program: program, specificationVersion: 7)
    #expect(error?.code == .missingInput)
  }
}
