import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct UpgraderTests {
  @Test func everyChangeOfTheTableHasARule() {
    var changes: Set<String> = []
    for type in OperationTable.allTypes {
      for definition in OperationTable.definitions(of: type).dropFirst() {
        changes.insert("\(type) \(definition.version)")
      }
    }
    let rules = UpgradeRules.table.map { "\($0.type) \($0.version)" }
    #expect(Set(rules).count == rules.count)
    #expect(changes.subtracting(rules).isEmpty)
    // These changed in meaning or form, not in what the table holds.
    #expect(Set(rules).subtracting(changes) == ["clip 8", "constexpr_cast 9"])
  }

  @Test func renamesOpsets() throws {
    var program = Build.program(6, [Build.x()], [Build.operation("abs")])
    program.functions["other"] = program.functions["main"]
    let block = program.functions["main"]?.activeBlock
    let notes = try Upgrader.upgrade(&program, from: 6, to: 9)
    #expect(notes.isEmpty)
    for (_, function) in program.functions {
      #expect(function.opset == "CoreML8")
      #expect(function.specializations.keys == ["CoreML8"])
      #expect(function.activeBlock == block)
    }
  }

  @Test func otherSpecializations() throws {
    var program = Build.program(7, [Build.x()], [Build.operation("abs")])
    let block = program.functions["main"]?.activeBlock
    for key in ["CoreML5", "CoreML8", "vendor"] {
      program.functions["main"]?.specializations[key] = block
    }
    let notes = try Upgrader.upgrade(&program, from: 7, to: 8)
    #expect(notes == ["main: the specialization for CoreML5 was dropped"])
    #expect(
      program.functions["main"]?.specializations.keys == ["CoreML7", "CoreML8", "vendor"])
  }

  @Test func functionsThatAreFarEnoughStay() throws {
    var program = Build.program(9, [Build.x()], [Build.operation("abs")])
    let before = program
    let notes = try Upgrader.upgrade(&program, from: 9, to: 8)
    #expect(notes.isEmpty)
    #expect(program == before)
  }

  @Test func missingBlocksAreRefused() {
    var program = Build.program(6, [Build.x()], [Build.operation("abs")])
    program.functions["main"]?.specializations = [:]
    #expect(
      throws: UpgradeRefusal(
        operation: "", function: "main", reason: "there is no block for opset CoreML5")
    ) {
      _ = try Upgrader.upgrade(&program, from: 6, to: 7)
    }
  }

  @Test func refusalsLeaveTheProgramUnchanged() {
    var program = Build.program(
      6, [Build.x()],
      [
        Build.operation(
          "clip",
          ["x": .name("x"), "alpha": .value(Self.float(2)), "beta": .value(Self.float(1))])
      ])
    let before = program
    #expect(throws: UpgradeRefusal.self) { _ = try Upgrader.upgrade(&program, from: 6, to: 8) }
    #expect(program == before)
  }

  @Test func nestedBlocksAreUpgraded() throws {
    let clip = Build.operation(
      "clip", ["x": .name("x"), "alpha": .value(Self.float(1)), "beta": .value(Self.float(1))],
      "b")
    var cond = Build.operation("cond", ["pred": .name("p")])
    cond.blocks = [
      Block(outputs: ["b"], operations: [clip]), Block(outputs: ["x"], operations: []),
    ]
    var program = Build.program(6, [Build.x(), Build.x("p", .bool, [])], [cond])
    let notes = try Upgrader.upgrade(&program, from: 6, to: 8)
    #expect(notes == ["main/b: clip with equal bounds became maximum and minimum"])
    let branch = program.operations.first?.blocks.first
    #expect(branch?.operations.map(\.type) == ["maximum", "minimum"])
    #expect(branch?.outputs == ["b"])
    #expect(Verifier.firstError(program: program, specificationVersion: 8) == nil)
  }

  @Test func clipKeepsOrderedBounds() throws {
    let clip = Build.operation(
      "clip", ["x": .name("x"), "alpha": .value(Self.float(0)), "beta": .value(Self.float(6))])
    var program = Build.program(6, [Build.x()], [clip])
    let notes = try Upgrader.upgrade(&program, from: 6, to: 10)
    #expect(notes.isEmpty)
    #expect(program.operations == [clip])
  }

  @Test func newNamesDoNotCollide() throws {
    let clip = Build.operation(
      "clip", ["x": .name("x"), "alpha": .value(Self.float(1)), "beta": .value(Self.float(1))])
    var program = Build.program(
      6, [Build.x(), Build.x("y_low")],
      [clip, Build.operation("abs", ["x": .name("y_low")], "y_low_1")])
    _ = try Upgrader.upgrade(&program, from: 6, to: 8)
    #expect(program.operations.map(\.name) == ["y_low_2", "y", "y_low_1"])
  }

  private static func float(_ number: Float) -> Value { Value(.float32, [], .floats([number])) }
}
