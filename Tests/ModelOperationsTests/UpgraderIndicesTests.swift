import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct UpgraderIndicesTests {
  /// The program of one operation raised from 7 to 8, valid there.
  private func upgraded(
    _ inputs: [NamedValueType], _ operations: GraphOperation...
  ) throws -> Program {
    var program = Build.program(7, inputs, operations)
    _ = try Upgrader.upgrade(&program, from: 7, to: 8)
    #expect(Verifier.firstError(program: program, specificationVersion: 8) == nil)
    return program
  }

  private func gather(
    _ indices: Argument, axis: Int32 = 0, type: String = "gather", output: [Int] = [2, 3]
  ) -> GraphOperation {
    Build.operation(
      type, ["x": .name("x"), "indices": indices, "axis": .value(.int32(axis))], "y",
      .tensor(.float32, output))
  }

  @Test func constantsAreRewritten() throws {
    let program = try upgraded(
      [Build.x()], GraphOperation.const("i", .int32s([-1, 0])), gather(.name("i"), axis: 1))
    let name = program.first("gather")?.inputs["indices"]?.name
    #expect(program.constant(name)?.intValues == [2, 0])
    // The old constant is not used any more.
    #expect(program.operations.map(\.name) == ["y_indices", "y"])
  }

  @Test func constantsWithoutNegativesStay() throws {
    let operation = gather(.value(.int32s([1, 0])))
    #expect(try upgraded([Build.x()], operation).operations == [operation])
  }

  @Test func narrowConstantsKeepTheirType() throws {
    let value = Value(.int16, [1], .ints([-2]))
    let program = try upgraded([Build.x()], gather(.value(value), output: [1, 3]))
    let constant = program.constant("y_indices")
    #expect(constant == Value(.int16, [1], .ints([0])))
  }

  @Test func unsignedIndicesStay() throws {
    let operation = gather(.name("i"))
    let program = try upgraded([Build.x(), Build.x("i", .uint16, [2])], operation)
    #expect(program.operations == [operation])
  }

  @Test func computedIndicesGetASelect() throws {
    let program = try upgraded(
      [Build.x(), Build.x("i", .int32, [2])], gather(.name("i"), axis: -1))
    #expect(
      program.operations.map(\.type)
        == ["const", "const", "greater_equal", "add", "select", "gather"])
    #expect(program.constant("y_size")?.intValue == 3)
    #expect(program.first("gather")?.inputs["indices"]?.name == program.first("select")?.name)
    #expect(program.first("select")?.inputs["a"]?.name == "i")
  }

  @Test func narrowComputedIndicesAreCastFirst() throws {
    let program = try upgraded([Build.x(), Build.x("i", .int16, [2])], gather(.name("i")))
    #expect(program.first("cast")?.inputs["x"]?.name == "i")
    #expect(program.first("select")?.outputs.first?.type == .tensor(.int32, [2]))
  }

  @Test func unknownSizesComeFromTheShape() throws {
    let x = NamedValueType("x", Build.tensor(.float32, [-1, 3]))
    let program = try upgraded([x, Build.x("i", .int32, [2])], gather(.name("i")))
    #expect(program.first("shape")?.inputs["x"]?.name == "x")
    let slice = try #require(program.first("slice_by_index"))
    #expect(program.constant(slice.inputs["begin"]?.name)?.intValues == [0])
    #expect(slice.outputs.first?.type == .tensor(.int32))
    #expect(program.first("add")?.inputs["y"]?.name == slice.name)
  }

  @Test func constantsOverUnknownSizesGetASelect() throws {
    let x = NamedValueType("x", Build.tensor(.float32, [-1, 3]))
    let program = try upgraded(
      [x], GraphOperation.const("i", .int32s([-1, 0])), gather(.name("i")))
    #expect(program.first("select") != nil)
  }

  @Test func sizesAndPositionsAreNotNegative() throws {
    let sizes = Build.operation("shape", ["x": .name("x")], "s", .tensor(.int32, [2]))
    let sum = Build.operation(
      "add", ["x": .name("s"), "y": .value(.int32(1))], "t", .tensor(.int32, [2]))
    let operation = gather(.name("t"))
    #expect(try upgraded([Build.x()], sizes, sum, operation).operations.last == operation)
    let difference = Build.operation(
      "sub", ["x": .name("s"), "y": .value(.int32(1))], "t", .tensor(.int32, [2]))
    #expect(try upgraded([Build.x()], sizes, difference, operation).first("select") != nil)
  }

  @Test func leadingAxesGetAVectorOfSizes() throws {
    let constant = Value(.int32, [2, 2], .ints([-1, 0, 1, -3]))
    let operation = Build.operation(
      "gather_nd", ["x": .name("x"), "indices": .value(constant)], "y", .tensor(.float32, [2]))
    let program = try upgraded([Build.x()], operation)
    #expect(program.constant("y_indices")?.intValues == [1, 0, 1, 0])

    let batched = Build.operation(
      "gather_nd",
      ["x": .name("x"), "indices": .name("i"), "batch_dims": .value(.int32(1))], "y",
      .tensor(.float32, [2]))
    let computed = try upgraded([Build.x(), Build.x("i", .int32, [2, 1])], batched)
    // One batch axis: the index runs over axis 1.
    #expect(computed.constant("y_size") == .int32s([3]))

    let open = NamedValueType("x", Build.tensor(.float32, [2, -1]))
    let sliced = try upgraded([open, Build.x("i", .int32, [2, 1])], batched)
    #expect(sliced.constant("y_size_begin")?.intValues == [1])
    #expect(sliced.constant("y_size_end")?.intValues == [2])
  }

  @Test func scatterIndexesItsData() throws {
    let operation = Build.operation(
      "scatter",
      [
        "data": .name("x"), "indices": .value(.int32s([-1])), "updates": .name("u"),
        "axis": .value(.int32(0)),
      ])
    let program = try upgraded([Build.x(), Build.x("u", .float32, [1, 3])], operation)
    #expect(program.constant("y_indices")?.intValues == [1])
    let nested = Build.operation(
      "scatter_nd",
      ["data": .name("x"), "indices": .name("i"), "updates": .name("u")])
    let computed = try upgraded(
      [Build.x(), Build.x("i", .int32, [1, 1]), Build.x("u", .float32, [1, 3])], nested)
    #expect(computed.constant("y_size") == .int32s([2]))
  }

  @Test func unknownAxesAreRefused() {
    let operation = Build.operation(
      "gather", ["x": .name("x"), "indices": .name("i"), "axis": .name("a")])
    var program = Build.program(
      7, [Build.x(), Build.x("i", .int32, [2]), Build.x("a", .int32, [])], [operation])
    #expect(throws: UpgradeRefusal.self) { _ = try Upgrader.upgrade(&program, from: 7, to: 8) }
  }
}
