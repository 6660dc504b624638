import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

/// The rules of inference, with sizes in numbers and as symbols.
@Suite struct ShapeInferenceTests {
  /// The inference over operations from `x` of a shape in which −1 is open.
  private func infer(
    _ shape: [Int], _ operations: [GraphOperation], shapes: [String: [Int]] = [:],
    type: ElementType = .float16
  ) throws -> ShapeInference {
    let input = NamedValueType("x", Build.tensor(type, shape))
    let program = Build.program(9, [input], operations)
    return ShapeInference(try #require(program.functions["main"]), shapes: shapes)
  }

  private func shape(_ inference: ShapeInference, _ name: String) -> [SymbolicSize]? {
    inference.type(name)?.tensor?.shape
  }

  private func operation(
    _ type: String, _ inputs: NamedList<Argument>, _ output: String, rank: Int,
    _ elementType: ElementType = .float16
  ) -> GraphOperation {
    Build.operation(
      type, inputs, output, Build.tensor(elementType, [Int](repeating: -1, count: rank)))
  }

  private func ints(_ numbers: [Int32]) -> Argument { .value(.int32s(numbers)) }

  @Test func symbolsPassThrough() throws {
    let inference = try infer(
      [-1, 4],
      [
        operation("relu", ["x": .name("x")], "a", rank: 2),
        operation("add", ["x": .name("a"), "y": .name("x")], "y", rank: 2),
      ])
    let x = try #require(shape(inference, "x"))
    #expect(x[0].value == nil && x[1] == 4)
    #expect(shape(inference, "y") == x)
    #expect(inference.findings == [])
    #expect(inference.steps.allSatisfy { $0.fault == nil })
  }

  @Test func givenShapesTakeThePlaceOfSymbols() throws {
    let relu = [operation("relu", ["x": .name("x")], "y", rank: 2)]
    #expect(shape(try infer([-1, 4], relu, shapes: ["x": [7, 4]]), "y") == [7, 4])
  }

  @Test func broadcasting() throws {
    let one = NamedValueType("z", Build.tensor(.float16, [3, 1]))
    let program = Build.program(
      9, [NamedValueType("x", Build.tensor(.float16, [-1, 1, 4])), one],
      [operation("mul", ["x": .name("x"), "y": .name("z")], "y", rank: 3)])
    let inference = ShapeInference(try #require(program.functions["main"]))
    let x = try #require(shape(inference, "x"))
    #expect(shape(inference, "y") == [x[0], 3, 4])
    let fault = try infer(
      [2, 3],
      [
        Build.operation(
          "add", ["x": .name("x"), "y": .value(Value(.float16, [2], .bytes([0, 0, 0, 0])))])
      ])
    #expect(fault.steps.first?.fault == "Sizes 3 and 2 cannot be broadcast.")
  }

  /// `shape` → `gather` → `concat` → `reshape`: how converters flatten a flexible input.
  @Test func computedShapesAreFollowed() throws {
    let steps = [
      operation("shape", ["x": .name("x")], "s", rank: 1, .int32),
      operation(
        "gather", ["x": .name("s"), "indices": .value(.int32(0)), "axis": .value(.int32(0))], "n",
        rank: 0, .int32),
      operation("expand_dims", ["x": .name("n"), "axes": ints([0])], "v", rank: 1, .int32),
      operation(
        "concat",
        [
          "values": Argument([Binding(.name("v")), Binding(.value(.int32s([12])))]),
          "axis": .value(.int32(0)), "interleave": .value(.bool(false)),
        ], "t", rank: 1, .int32),
      operation("reshape", ["x": .name("x"), "shape": .name("t")], "y", rank: 2),
    ]
    let symbolic = try infer([-1, 3, 4], steps)
    let x = try #require(shape(symbolic, "x"))
    #expect(shape(symbolic, "y") == [x[0], 12])
    #expect(shape(try infer([5, 3, 4], steps), "y") == [5, 12])
    #expect(shape(try infer([-1, 3, 4], steps, shapes: ["x": [2, 3, 4]]), "y") == [2, 12])
  }

  @Test func reshapesWithAnOpenAxis() throws {
    let reshape = [
      operation("reshape", ["x": .name("x"), "shape": ints([2, -1])], "y", rank: 2)
    ]
    #expect(shape(try infer([4, 6], reshape), "y") == [2, 12])
    let symbolic = try #require(shape(try infer([-1, 6], reshape), "y"))
    #expect(symbolic[0] == 2 && symbolic[1].value == nil)
    let keep = [operation("reshape", ["x": .name("x"), "shape": ints([-1, 6])], "y", rank: 2)]
    let same = try infer([-1, 2, 3], keep)
    #expect(shape(same, "y")?[1] == 6)
  }

  @Test(arguments: [
    ([Int32](arrayLiteral: 1, 0), [Int32](arrayLiteral: 3, 4), [2, 4] as [SymbolicSize]),
    ([-3, 1], [-1, 3], [2, 2]), ([0, 0], [100, 100], [5, 4]), ([4, 2], [2, 2], [0, 0]),
  ])
  func slices(_ begin: [Int32], _ end: [Int32], _ expected: [SymbolicSize]) throws {
    let slice = operation(
      "slice_by_index", ["x": .name("x"), "begin": ints(begin), "end": ints(end)], "y", rank: 2)
    #expect(shape(try infer([5, 4], [slice]), "y") == expected)
  }

  @Test func slicesOfSymbols() throws {
    let flags = { (flags: [Bool]) in Argument.value(Value(.bool, [2], .bools(flags))) }
    let slice = operation(
      "slice_by_index",
      [
        "x": .name("x"), "begin": ints([0, 1]), "end": ints([0, 3]),
        "begin_mask": flags([true, false]), "end_mask": flags([true, false]),
      ], "y", rank: 2)
    let inference = try infer([-1, 4], [slice])
    let x = try #require(shape(inference, "x"))
    #expect(shape(inference, "y") == [x[0], 2])
    let squeezed = operation(
      "slice_by_index",
      [
        "x": .name("x"), "begin": ints([0, 1]), "end": ints([0, 2]),
        "begin_mask": flags([true, false]), "end_mask": flags([true, false]),
        "squeeze_mask": flags([false, true]),
      ], "y", rank: 1)
    #expect(shape(try infer([-1, 4], [squeezed]), "y")?.count == 1)
  }

  @Test func windowsOverSymbols() throws {
    let pool = operation(
      "max_pool",
      [
        "x": .name("x"), "kernel_sizes": ints([2, 2]), "strides": ints([2, 2]),
        "pad_type": .value(.string("valid")), "pad": ints([0, 0, 0, 0]),
        "ceil_mode": .value(.bool(false)),
      ], "y", rank: 4)
    #expect(shape(try infer([1, 3, 9, 8], [pool]), "y") == [1, 3, 4, 4])
    let open = try #require(shape(try infer([1, 3, -1, 8], [pool]), "y"))
    #expect(open[2].value == nil && open[3] == 4)
  }

  @Test func resultsThatDependOnDataStaySymbols() throws {
    let inference = try infer(
      [2, 3],
      [
        operation("non_zero", ["x": .name("x")], "i", rank: 2, .int32),
        operation("non_zero", ["x": .name("x")], "y", rank: 2, .int32),
      ])
    let (one, two) = (shape(inference, "i"), shape(inference, "y"))
    #expect(one?[1] == 2 && one?[0].value == nil)
    #expect(one?[0] != two?[0])
  }

  @Test func declaredTypesThatAreWrongAreReported() throws {
    let wrong = try infer(
      [2, 3], [Build.operation("relu", ["x": .name("x")], "y", .tensor(.float16, [2, 4]))])
    #expect(wrong.findings.map(\.code) == [.shape])
    #expect(wrong.findings.first?.place == "main/y")
    #expect(
      wrong.findings.first?.message
        == "y is declared with shape [2, 4], the operation yields [2, 3].")
    let type = try infer(
      [2, 3], [Build.operation("relu", ["x": .name("x")], "y", .tensor(.float32, [2, 3]))])
    #expect(
      type.findings.first?.message == "y is declared as fp32, the operation yields fp16.")
    let rank = try infer(
      [2, 3], [Build.operation("relu", ["x": .name("x")], "y", .tensor(.float16, [6]))])
    #expect(rank.findings.count == 1)
    // A declaration with open sizes says less, not otherwise.
    #expect(try infer([2, 3], [operation("relu", ["x": .name("x")], "y", rank: 2)]).findings == [])
  }

  @Test func operationsWithoutRuleKeepTheirDeclaration() throws {
    let inference = try infer(
      [2, 3],
      [
        Build.operation("my_layer", ["x": .name("x")], "a", .tensor(.float16, [7])),
        operation("relu", ["x": .name("a")], "y", rank: 1),
      ])
    #expect(inference.steps.first?.fault == "no rule")
    #expect(shape(inference, "y") == [7])
  }

  @Test func sizesThatOverflowAreSymbols() {
    var symbols = SymbolSource()
    #expect(symbols.product(.known(.max), 2).value == nil)
    #expect(symbols.sum(.known(.max), 1).value == nil)
    #expect(symbols.difference(.known(.min), 1).value == nil)
    #expect(symbols.quotient(.known(.min), -1).value == nil)
    #expect(symbols.quotient(-7, 2) == -4)
    #expect(symbols.quotient(7, 0).value == nil)
    let size = symbols.next()
    #expect(symbols.product(size, 1) == size)
    #expect(symbols.product(size, 0) == 0)
    #expect(symbols.difference(size, size) == 0)
    #expect(symbols.quotient(size, size) == 1)
    #expect(symbols.sum(size, 0) == size)
  }
}

@Suite struct InferenceCoverageTests {
  @Test func everyOperationOfTheTableHasARule() {
    let missing = OperationTable.allTypes.filter { !InferenceRules.hasRule($0) }
    #expect(missing == [])
  }
}

@Suite struct InferenceBoundsTests {
  private static let hostile = [Int64.max, .min, Int64.max / 2 + 1, -1, 0]

  private func value(_ numbers: [Int64]) -> Argument {
    .value(Value(.int64, [numbers.count], .longInts(numbers)))
  }

  @Test(arguments: hostile, hostile) func numbersThatNoTensorHas(_ one: Int64, _ other: Int64) {
    let inputs: [(String, NamedList<Argument>)] = [
      ("range_1d", ["start": value([one]), "end": value([other]), "step": value([2])]),
      ("slice_by_index", ["x": .name("x"), "begin": value([one]), "end": value([other])]),
      ("slice_by_size", ["x": .name("x"), "begin": value([one]), "size": value([other])]),
      ("mod", ["x": value([one]), "y": value([other])]),
      ("floor_div", ["x": value([one]), "y": value([other])]),
      ("reshape", ["x": .name("x"), "shape": value([one, other])]),
      ("tile", ["x": .name("x"), "reps": value([one])]),
      ("pad", ["x": .name("x"), "pad": value([one, other])]),
      ("gather", ["x": .name("x"), "indices": value([one]), "axis": value([other])]),
      (
        "max_pool",
        [
          "x": .name("image"), "kernel_sizes": value([one]), "strides": value([other]),
          "pad_type": .value(.string("custom")), "pad": value([one, other]),
        ]
      ),
    ]
    for (type, inputs) in inputs {
      let operation = GraphOperation(
        type: type, inputs: inputs, outputs: [NamedValueType("y", nil)])
      let function = Function(
        inputs: [
          NamedValueType("x", .tensor(.float16, [Int.max])),
          NamedValueType("image", .tensor(.float16, [1, 1, Int.max])),
        ], opset: "CoreML7",
        specializations: ["CoreML7": Block(outputs: ["y"], operations: [operation])])
      #expect(ShapeInference(function).steps.count == 1, "\(type)")
    }
  }
}
