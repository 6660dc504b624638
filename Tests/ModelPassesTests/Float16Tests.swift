import ModelToolchain
import TestSupport
import Testing

/// The model in float16: what computes in it, where casts stand, what constants become.
@Suite struct Float16Tests {
  private static let single = ElementType.float32

  private static func tensor(_ name: String, _ shape: [Int] = [2, 64]) -> NamedValueType {
    Make.tensor(name, shape, .float32)
  }

  private static func scalar(_ name: String, _ value: Float) -> GraphOperation {
    Make.const(name, Value(.float32, [], .floats([value])))
  }

  /// x → operations → y, all fp32 [2, 64].
  private func model(
    _ version: Int, _ operations: [GraphOperation], outputs: [NamedValueType] = [tensor("y")]
  ) -> Model {
    Make.model(version, [Self.tensor("x")], operations, outputs: outputs)
  }

  private func linear(
    _ version: Int = 7, values: [Float] = RandomNumbers.floats(64 * 64)
  ) throws -> Model {
    var weights = WeightMaker()
    return model(
      version,
      [
        Make.const("w", try weights.value(.float32, [64, 64], values)),
        Make.operation("linear", ["x": "x", "weight": "w"], Self.tensor("y")),
      ])
  }

  private func type(_ name: String, _ model: Model) -> ElementType? {
    model.operation(name)?.outputs.first { $0.name == name }?.type?.tensor?.elementType
  }

  @Test func castsStandAtTheInterface() throws {
    let run = try PassRun(try linear(), Float16Pass())
    let after = try run.output
    let types = after.operations().filter { !$0.isConst }.map(\.type)
    #expect(types == ["cast", "linear", "cast"])
    #expect(type("y", after) == .float32)
    #expect(type("w", after) == .float16)
    #expect(after.description == run.before.description)
    #expect(
      after.program?.functions["main"]?.inputs == run.before.program?.functions["main"]?.inputs)
    #expect(after.specificationVersion == 7)
    let old = try Make.floats(try #require(try run.before.constant("w")))
    let new = try Make.floats(try #require(try after.constant("w")))
    #expect(new == old.map { HalfFloat.float(HalfFloat.bits($0)) })
    #expect(try run.row("w").scheme == "fp16")
  }

  @Test(arguments: [6, 7, 8, 9])
  func everyVersion(_ version: Int) throws {
    let run = try PassRun(try linear(version), Float16Pass())
    #expect(try run.output.specificationVersion == version)
    #expect(try run.row("w").status == .compressed)
  }

  @Test func chainsHaveNoCastsInside() throws {
    let run = try PassRun(
      model(
        7,
        [
          Make.operation("relu", ["x": "x"], Self.tensor("a")),
          Make.operation("tanh", ["x": "a"], Self.tensor("b")),
          Make.operation("add", ["x": "a", "y": "b"], Self.tensor("y")),
        ]
      ).withWeight(), Float16Pass())
    #expect(
      try run.output.operations().filter { !$0.isConst }.map(\.type)
        == ["cast", "relu", "tanh", "add", "linear", "cast"])
  }

  /// A value that is an output and goes on in float16.
  @Test func valuesNeededInBothForms() throws {
    let run = try PassRun(
      model(
        7,
        [
          Make.operation("relu", ["x": "x"], Self.tensor("a")),
          Make.operation("tanh", ["x": "a"], Self.tensor("y")),
        ], outputs: [Self.tensor("a"), Self.tensor("y")]
      ).withWeight(output: false), Float16Pass())
    let after = try run.output
    #expect(type("a", after) == .float32)
    let tanh = try #require(after.operations().first { $0.type == "tanh" })
    let input = try #require(tanh.inputs["x"]?.name)
    #expect(input != "a")
    #expect(type(input, after) == .float16)
    #expect(after.program?.functions["main"]?.activeBlock?.outputs == ["a", "y", "extra"])
  }

  /// Constants that fp16 cannot hold, by operation: what becomes of the operation and of them.
  @Test(
    arguments: [
      ("add", "y", -1e9, true, -65504), ("maximum", "y", 1e9, true, 65504),
      ("select", "b", -1e9, true, -65504), ("mul", "y", 1e9, false, 1e9),
      ("mul", "y", 1e-9, false, 1e-9), ("add", "y", 1e-9, true, 0x1p-24),
      ("real_div", "y", 1e-12, false, 1e-12), ("mul", "y", 0.5, true, 0.5),
      ("add", "y", 65504, true, 65504), ("add", "y", 65519, true, 65504),
      ("pow", "y", 1e-9, false, 1e-9),
    ] as [(String, String, Float, Bool, Float)])
  func extremeConstants(
    _ operation: String, _ input: String, _ value: Float, _ isHalf: Bool, _ result: Float
  ) throws {
    var operations = [Self.scalar("c", value)]
    var subject = Make.operation(operation, ["x": "x"], Self.tensor("y"))
    subject.inputs[input] = .name("c")
    if operation == "select" {
      operations.append(Self.scalar("zero", 0))
      operations.append(
        Make.operation(
          "greater", ["x": "x", "y": "zero"], Make.tensor("mask", [2, 64], .bool)))
      subject.inputs = ["cond": .name("mask"), "a": .name("x"), "b": .name("c")]
    }
    let run = try PassRun(
      model(7, operations + [subject]).withWeight(output: false), Float16Pass())
    let after = try run.output
    let found = try #require(after.operations().first { $0.type == operation })
    #expect(found.outputs.first?.type?.tensor?.elementType == (isHalf ? .float16 : .float32))
    let name = try #require(found.inputs[input]?.name)
    let constant = try #require(try after.constant(name))
    #expect(constant.elementType == (isHalf ? .float16 : .float32))
    #expect(try Make.floats(constant) == [result])
    let isChanged = HalfFloat.float(HalfFloat.bits(value)) != result || !isHalf
    #expect(run.ledger.notes.contains { $0.contains("main/y") } == isChanged, "\(run.ledger.notes)")
  }

  @Test func infiniteMasksStayInfinite() throws {
    let run = try PassRun(
      model(
        7,
        [
          Self.scalar("c", -.infinity),
          Make.operation("add", ["x": "x", "y": "c"], Self.tensor("y")),
        ]
      ).withWeight(output: false), Float16Pass())
    let add = try #require(try run.output.operations().first { $0.type == "add" })
    let name = try #require(add.inputs["y"]?.name)
    let constant = try #require(try run.output.constant(name))
    #expect(try Make.floats(constant) == [-.infinity])
  }

  /// An epsilon that vanishes: from version 8 on it may stay fp32 beside fp16 data.
  @Test(arguments: [(7, false), (8, true)])
  func epsilons(_ version: Int, _ isHalf: Bool) throws {
    let norm = [
      Self.scalar("eps", 1e-12), Make.const("axes", .int32s([-1])),
      Make.operation(
        "layer_norm", ["x": "x", "axes": "axes", "epsilon": "eps"], Self.tensor("y")),
    ]
    let run = try PassRun(model(version, norm).withWeight(output: false), Float16Pass())
    let found = try #require(try run.output.operations().first { $0.type == "layer_norm" })
    #expect(found.outputs.first?.type?.tensor?.elementType == (isHalf ? .float16 : .float32))
    let name = try #require(found.inputs["epsilon"]?.name)
    let epsilon = try #require(try run.output.constant(name))
    #expect(try Make.floats(epsilon) == [1e-12])
    #expect(!run.ledger.notes.isEmpty)
    // One that survives is no reason.
    var mild = norm
    mild[0] = Self.scalar("eps", 1e-5)
    let other = try PassRun(model(version, mild).withWeight(output: false), Float16Pass())
    #expect(
      try other.output.operations().first { $0.type == "layer_norm" }?.outputs.first?.type?
        .tensor?.elementType == .float16)
  }

  @Test func weightsBeyondTheRange() throws {
    var values = RandomNumbers.floats(64 * 64)
    values[0] = 70_000
    values[1] = -1e30
    values[2] = 1e-12
    for pass in [
      Float16Pass(), Float16StoragePass(),
    ] as [any CompressionPass] {
      do {
        _ = try PassRun(try linear(values: values), pass)
        Issue.record("no error")
      } catch let error as PassError {
        #expect("\(error)".contains("\"w\""))
        #expect(error.hint?.contains("--clamp") == true)
      }
    }
    for pass in [
      Float16Pass(clamps: true), Float16StoragePass(clamps: true),
    ] as [any CompressionPass] {
      let run = try PassRun(try linear(values: values), pass)
      let found = try Make.floats(try #require(try run.output.constant("w")))
      #expect(found.prefix(3) == [65504, -65504, 0])
      #expect(try run.row("w").reason?.contains("2 values beyond") == true)
      #expect(try run.row("w").reason?.contains("1 value") == true)
    }
  }

  /// Recurrent layers take float16 from version 8 on.
  @Test(arguments: [(6, false), (7, false), (8, true), (9, true)])
  func recurrentLayers(_ version: Int, _ isHalf: Bool) throws {
    var weights = WeightMaker()
    let size = 32
    let layer = Make.operation(
      "lstm",
      [
        "x": "x", "initial_h": "h", "initial_c": "c", "weight_ih": "ih", "weight_hh": "hh",
        "direction": "direction", "output_sequence": "sequence",
        "recurrent_activation": "sigmoid", "cell_activation": "tanh", "activation": "tanh",
      ], Self.tensor("y", [1, 2, size]), Self.tensor("hn", [2, size]), Self.tensor("cn", [2, size]))
    let zeros = [Float](repeating: 0, count: 2 * size)
    let model = Make.model(
      version, [Self.tensor("x", [1, 2, 64])],
      [
        Make.const("h", try weights.value(.float32, [2, size], zeros)),
        Make.const("c", try weights.value(.float32, [2, size], zeros)),
        Make.const("ih", try weights.random(.float32, [4 * size, 64])),
        Make.const("hh", try weights.random(.float32, [4 * size, size])),
        Make.const("direction", .string("forward")), Make.const("sequence", .bool(false)),
        Make.const("sigmoid", .string("sigmoid")), Make.const("tanh", .string("tanh")), layer,
      ], outputs: [Self.tensor("y", [1, 2, size])])
    let run = try PassRun(model, Float16Pass())
    #expect((run.after != nil) == isHalf)
    let row = try run.row("ih")
    #expect(row.status == (isHalf ? .compressed : .skipped))
    #expect(isHalf || row.reason == "an operation needs it in fp32")
  }

  @Test func castOperations() throws {
    let cast = { (source: String, name: String, type: String, element: ElementType) in
      [
        Make.const("\(name)_type", .string(type)),
        Make.operation(
          "cast", ["x": source, "dtype": "\(name)_type"], Make.tensor(name, [2, 64], element)),
      ]
    }
    let run = try PassRun(
      model(
        7,
        cast("x", "i", "int32", .int32) + cast("i", "f", "fp32", .float32) + [
          Make.operation("relu", ["x": "f"], Self.tensor("y"))
        ]
      ).withWeight(output: false), Float16Pass())
    let after = try run.output
    // int32 → fp32 → fp16 becomes int32 → fp16.
    let relu = try #require(after.operations().first { $0.type == "relu" })
    let source = try #require(relu.inputs["x"]?.name)
    let producer = try #require(after.operation(source))
    #expect(producer.type == "cast")
    #expect(producer.inputs["x"]?.name == "i")
    #expect(producer.outputs.first?.type?.tensor?.elementType == .float16)
    let dtype = try #require(producer.inputs["dtype"]?.name)
    #expect(after.operation(dtype)?.attributes["val"]?.stringValue == "fp16")
  }

  /// Operations with blocks keep their types; what is in the blocks computes in float16.
  @Test func branchesKeepTheirInterface() throws {
    var weights = WeightMaker()
    let branch = { (name: String, value: Value) in
      Block(
        outputs: ["\(name)_y"],
        operations: [
          Make.const("\(name)_w", value),
          Make.operation(
            "linear", ["x": "x", "weight": "\(name)_w"], Self.tensor("\(name)_y")),
        ])
    }
    let run = try PassRun(
      Make.model(
        7, [Self.tensor("x"), Self.tensor("p", [1])],
        [
          Make.const("zero", Value(.float32, [1], .floats([0]))),
          Make.operation("greater", ["x": "p", "y": "zero"], Make.tensor("g", [1], .bool)),
          Make.const("axes", .int32s([0])),
          Make.operation("squeeze", ["x": "g", "axes": "axes"], Make.tensor("q", [], .bool)),
          Make.operation(
            "cond", ["pred": "q"], Self.tensor("y"),
            blocks: [
              branch("yes", try weights.random(.float32, [64, 64], seed: 1)),
              branch("no", try weights.random(.float32, [64, 64], seed: 2)),
            ]),
        ], outputs: [Self.tensor("y")]), Float16Pass())
    let cond = try #require(try run.output.operations().first { $0.type == "cond" })
    #expect(cond.outputs.first?.type?.tensor?.elementType == .float32)
    for block in cond.blocks {
      let result = block.operations.first { $0.outputs.first?.name == block.outputs.first }
      #expect(result?.outputs.first?.type?.tensor?.elementType == .float32)
      let linear = block.operations.first { $0.type == "linear" }
      #expect(linear?.outputs.first?.type?.tensor?.elementType == .float16)
    }
    #expect(try run.row("yes_w").status == .compressed)
  }

  @Test func loopsKeepTheirVariables() throws {
    var weights = WeightMaker()
    let condition = Block(
      inputs: [Self.tensor("i1")], outputs: ["go"],
      operations: [
        Make.const("most", Value(.float32, [1, 1], .floats([100]))),
        Make.const("all", .int32s([0, 1])), Make.const("keep", .bool(false)),
        Make.operation(
          "reduce_max", ["x": "i1", "axes": "all", "keep_dims": "keep"], Self.tensor("top", [])),
        Self.scalar("limit", 100),
        Make.operation("less", ["x": "top", "y": "limit"], Make.tensor("go", [], .bool)),
      ])
    let body = Block(
      inputs: [Self.tensor("i2")], outputs: ["next"],
      operations: [
        Make.const("w", try weights.random(.float32, [64, 64])),
        Make.operation("linear", ["x": "i2", "weight": "w"], Self.tensor("next")),
      ])
    let run = try PassRun(
      model(
        7,
        [
          Make.operation(
            "while_loop", ["loop_vars": "x"], Self.tensor("y"), blocks: [condition, body])
        ]), Float16Pass())
    let loop = try #require(try run.output.operations().first { $0.type == "while_loop" })
    #expect(loop.outputs == run.before.operation("y")?.outputs)
    #expect(loop.blocks[1].inputs == [Self.tensor("i2")])
    let inner = loop.blocks[1].operations
    #expect(inner.first { $0.type == "linear" }?.inputs["x"]?.name != "i2")
    #expect(
      inner.first { $0.outputs.first?.name == "next" }?.outputs.first?.type?.tensor?.elementType
        == .float32)
  }

  @Test func interfaceInFloat16() throws {
    let run = try PassRun(try linear(6), Float16Pass(changesInterface: true))
    let after = try run.output
    #expect(after.specificationVersion == 7)
    #expect(!after.operations().contains { $0.type == "cast" })
    #expect(after.program?.functions["main"]?.inputs.first?.type?.tensor?.elementType == .float16)
    #expect(type("y", after) == .float16)
    for feature in (after.description?.inputs ?? []) + (after.description?.outputs ?? []) {
      guard case .multiArray(let array) = feature.type?.kind else {
        Issue.record("\(feature.name)")
        continue
      }
      #expect(array.dataType == .float16)
      #expect(array.shape == [2, 64])
    }
  }

  @Test(arguments: [7, 8, 9])
  func storageOnly(_ version: Int) throws {
    let run = try PassRun(try linear(version), Float16StoragePass())
    let operation = try #require(try run.output.operation("w"))
    #expect(operation.type == "constexpr_cast")
    #expect(operation.outputs.first?.type?.tensor?.elementType == .float32)
    #expect(operation.parameter("source_val")?.weight?.source.elementType == .float16)
    #expect(operation.parameter("output_dtype")?.stringValue == "fp32")
    #expect((operation.attributes["source_val"] != nil) == (version < 9))
    #expect(try run.output.operation("y") == run.before.operation("y"))
    let old = try Make.floats(try #require(try run.before.constant("w")))
    let new = try Make.floats(try #require(try run.output.constant("w")))
    #expect(new == old.map { HalfFloat.float(HalfFloat.bits($0)) })
    #expect(try run.row("w").afterBytes == old.count * 2)
  }

  @Test func storageOnlyRaisesVersion6() throws {
    let run = try PassRun(try linear(6), Float16StoragePass())
    #expect(run.ledger.version.after == 7)
    #expect(run.ledger.version.reason?.contains("constexpr_cast") == true)
  }

  /// Images, integers and the label of a classifier stay when the interface becomes float16.
  @Test func classifierInFloat16() throws {
    var weights = WeightMaker()
    let image = Self.tensor("image", [1, 3, 8, 8])
    var classes = Value(.string, [64], .strings((0..<64).map { "class \($0)" }))
    classes.docString = "labels"
    var classify = GraphOperation(
      type: "classify", inputs: ["probabilities": .name("p"), "classes": .value(classes)],
      outputs: [
        NamedValueType("label", .tensor(.string)),
        NamedValueType(
          "label_probs",
          ValueType(.dictionary(key: .tensor(.string), value: .tensor(.float64)))),
      ])
    classify.attributes["name"] = .string("classify")
    var model = Make.model(
      6, [image],
      [
        Make.const("shape", .int32s([1, 192])),
        Make.operation(
          "reshape", ["x": "image", "shape": "shape"], Self.tensor("flat", [1, 192])),
        Make.const("w", try weights.random(.float32, [64, 192])),
        Make.operation("linear", ["x": "flat", "weight": "w"], Self.tensor("h", [1, 64])),
        Make.const("axis", .int32(-1)),
        Make.operation("softmax", ["x": "h", "axis": "axis"], Self.tensor("p", [1, 64])),
        classify,
      ], outputs: [])
    guard var program = model.program, var main = program.functions["main"],
      var block = main.activeBlock
    else { return }
    block.outputs = ["label", "label_probs"]
    main.activeBlock = block
    program.functions["main"] = main
    model.program = program
    let pixels = ImageType(width: 8, height: 8, colorSpace: .init(rawValue: 20))
    model.description?.inputs = [
      FeatureDescription(name: "image", type: FeatureType(.image(pixels)))
    ]
    model.description?.outputs = [
      FeatureDescription(name: "label", type: FeatureType(.string)),
      FeatureDescription(name: "label_probs", type: FeatureType(.dictionary(.string))),
    ]
    model.description?.predictedFeatureName = "label"
    model.description?.predictedProbabilitiesName = "label_probs"
    for pass in [Float16Pass(), Float16Pass(changesInterface: true)] {
      let run = try PassRun(model, pass)
      let after = try run.output
      #expect(after.description == run.before.description)
      #expect(after.program?.functions["main"]?.inputs == [image])
      let last = try #require(after.operations().last)
      #expect(last.outputs == classify.outputs)
      #expect(last.inputs["classes"]?.value == classes)
      let probabilities = try #require(last.inputs["probabilities"]?.name)
      #expect(type(probabilities, after) == .float32)
      #expect(try run.row("w").status == .compressed)
    }
    for bits in [8, 4] {
      let run = try PassRun(model, QuantizePass(scheme: AffineScheme(bits: bits)))
      #expect(try run.output.operations().last == run.before.operations().last)
    }
  }

  /// An input that takes a tuple: every binding is converted, constants among them too.
  @Test func tuplesOfValues() throws {
    var weights = WeightMaker()
    var concat = Make.operation("concat", [:], Self.tensor("y", [2, 192]))
    concat.inputs["values"] = Argument([
      Binding(.name("x")), Binding(.name("r")), Binding(.name("w")),
    ])
    concat.inputs["axis"] = .name("axis")
    concat.inputs["interleave"] = .name("interleave")
    let run = try PassRun(
      model(
        7,
        [
          Make.operation("relu", ["x": "x"], Self.tensor("r")),
          Make.const("w", try weights.random(.float32, [2, 64])),
          Make.const("axis", .int32(1)), Make.const("interleave", .bool(false)), concat,
        ], outputs: [Self.tensor("y", [2, 192])]), Float16Pass())
    let after = try run.output
    let found = try #require(after.operations().first { $0.type == "concat" })
    let names = try #require(found.inputs["values"]?.bindings.compactMap { $0.name })
    #expect(names.count == 3)
    for name in names { #expect(type(name, after) == .float16, "\(name)") }
  }

  /// A weight that is compressed as fp32 stays, and so does what it is bound to.
  @Test(arguments: [7, 9])
  func compressedWeightsStayInFloat32(_ version: Int) throws {
    let compressed = try PassRun(try linear(version))
    let model = try compressed.output.withWeight()
    let run = try PassRun(model, Float16Pass())
    let after = try run.output
    #expect(after.operation("w") == run.before.operation("w"))
    #expect(type("y", after) == .float32)
    #expect(type("extra_w", after) == .float16)
    #expect(run.ledger.notes.contains { $0.contains("main/y") && $0.contains("stays fp32") })
  }

  @Test func halfModelsHaveNothingToDo() throws {
    let run = try PassRun(try Sample.linear(7), Float16Pass())
    #expect(run.after == nil)
    #expect(try run.row("w").reason == "is fp16, not fp32")
  }

  @Test func skippedOperationsStay() throws {
    let run = try PassRun(
      model(7, [Make.operation("relu", ["x": "x"], Self.tensor("y"))]).withWeight(), Float16Pass()
    ) { $0.skip = [WeightPattern("op:relu")] }
    #expect(
      try run.output.operations().filter { !$0.isConst }.map(\.type)
        == ["relu", "cast", "linear", "cast"])
  }

  /// A weight that one function needs in fp32 stays there for both.
  @Test func sharedWeightOfFunctions() throws {
    var weights = WeightMaker()
    let shared = try weights.random(.float32, [64, 64])
    let main = Make.function(
      9, [Self.tensor("x")],
      [
        Make.const("w", shared),
        Make.operation("linear", ["x": "x", "weight": "w"], Self.tensor("y")),
      ], outputs: ["y"])
    var description = ModelDescription()
    for name in ["main", "twin"] {
      var entry = FunctionDescription()
      entry.name = name
      entry.inputs = [Make.feature(Self.tensor("x"))]
      entry.outputs = [Make.feature(Self.tensor("y"))]
      description.functions.append(entry)
    }
    description.defaultFunctionName = "main"
    let model = Model(
      specificationVersion: 9, description: description,
      kind: .program(Program(functions: ["main": main, "twin": main])))
    let run = try PassRun(model, Float16Pass())
    let first = try #require(try run.output.operation("w", in: "main")?.attributes["val"]?.weight)
    let second = try #require(try run.output.operation("w", in: "twin")?.attributes["val"]?.weight)
    #expect(first == second)
    #expect(first.source.elementType == .float16)
    #expect(run.ledger.rows.count == 1)
  }
}

extension Model {
  /// The model with a linear layer of 64 × 64 after its last value, so that a pass has a weight.
  ///
  /// - Parameter output: Whether that layer yields the only output instead of a further one.
  fileprivate func withWeight(output: Bool = true) throws -> Model {
    var copy = self
    var weights = WeightMaker()
    guard var program = copy.program, var function = program.functions["main"],
      var block = function.activeBlock, let last = block.outputs.last
    else { return self }
    let result = Make.tensor("extra", [2, 64], .float32)
    block.operations += [
      Make.const("extra_w", try weights.random(.float32, [64, 64], file: "extra.bin")),
      Make.operation("linear", ["x": output ? last : "x", "weight": "extra_w"], result),
    ]
    block.outputs = (output ? [] : block.outputs) + ["extra"]
    let features = copy.description?.outputs ?? []
    copy.description?.outputs = (output ? [] : features) + [Make.feature(result)]
    function.activeBlock = block
    program.functions["main"] = function
    copy.program = program
    return copy
  }
}
