import ModelGraph
import ModelTensors
import TestSupport
import Testing

@testable import ModelPlan

@Suite struct PlannerTests {
  private func sum(_ plan: Plan) -> Double { plan.operations.reduce(0) { $0 + $1.cost } }

  private func isWhole(_ plan: Plan, _ comment: Comment? = nil) {
    #expect(abs(sum(plan) - 1) < 1e-9, comment)
    let parts =
      plan.operations.reduce(0) { $0 + $1.milliseconds }
      + plan.transfers.reduce(0) { $0 + $1.milliseconds } + plan.startMilliseconds
    #expect(abs(parts - plan.latency) <= plan.latency * 1e-9, comment)
    #expect(plan.range.low <= plan.latency && plan.latency <= plan.range.high, comment)
  }

  @Test(arguments: ["a12", "a16", "a17-pro", "m1", "m5", "m2-ultra"], Planner.Units.allCases)
  func costsSumToOne(_ device: String, _ units: Planner.Units) throws {
    let planner = try Plans.planner(device, units: units)
    for model in [try Plans.convolutions(3), try Plans.model("zoo/base_ios16.mlpackage")] {
      let plan = try planner.plan(model)
      isWhole(plan)
      let allowed = Set(units.list)
      #expect(plan.operations.allSatisfy { allowed.contains($0.preferred) })
      #expect(plan.operations.allSatisfy { $0.supported.contains($0.preferred) })
      #expect(Set(plan.roofs.map(\.unit)) == allowed)
      #expect(plan.units == units.rawValue)
    }
  }

  @Test func convolutionsRunOnTheNeuralEngine() throws {
    let plan = try Plans.planner().plan(try Plans.convolutions(4))
    #expect(plan.operations.map(\.preferred) == [.ne, .ne, .ne, .ne])
    #expect(plan.transfers.isEmpty)
    #expect(plan.advice.isEmpty)
    #expect(plan.startMilliseconds > 0)
    #expect(plan.multiplyAdds == 115_605_504.0)
    #expect(plan.weightBytes == 294_912.0)
  }

  /// An operation without a path between large convolutions: two changes of unit.
  @Test func anOperationThatLeavesIsCrossedTwice() throws {
    var model = try Plans.convolutions(2, channels: 256, size: 56)
    var program = try #require(model.program)
    var function = try #require(program.functions["main"])
    let opset = function.opset
    var block = try #require(function.specializations[opset])
    let place = try #require(block.operations.firstIndex { $0.name == "y" })
    block.operations.insert(
      Make.operation("band_part", ["x": "c0"], Make.tensor("m", [1, 256, 56, 56])), at: place)
    block.operations[place + 1].inputs["x"] = .name("m")
    block.operations[place].inputs["lower"] = .value(.int32(-1))
    block.operations[place].inputs["upper"] = .value(.int32(0))
    function.specializations[opset] = block
    program.functions["main"] = function
    model.program = program
    let plan = try Plans.planner("a16", units: .cpuNE).plan(model)
    #expect(plan.operations.map(\.preferred) == [.ne, .cpu, .ne])
    #expect(plan.transfers.map(\.from) == [.ne, .cpu])
    #expect(plan.transfers.map(\.to) == [.cpu, .ne])
    #expect(plan.transfers.map(\.after) == ["c0", "m"])
    let image: Double = 256 * 56 * 56 * 2
    #expect(plan.transfers.map(\.bytes) == [image, image])
    #expect(plan.transfers.allSatisfy { $0.milliseconds > 0 })
    let advice = try #require(plan.advice.first)
    #expect(advice.rule == "no-ne-path")
    #expect(advice.operations == ["m"])
    #expect(advice.hint == "multiply with a constant mask instead")
    #expect(advice.cost == plan.operations[1].cost)
    isWhole(plan)
  }

  @Test func fixedShapesForFlexibleInputs() throws {
    let model = try Plans.model("models/flex_range_ios18.mlpackage")
    let planner = try Plans.planner()
    let input = try #require(model.description?.inputs.first)
    let standard = try planner.plan(model)
    #expect(standard.advice.contains { $0.rule == "flexible-shapes" })
    guard case .multiArray(let array) = input.type?.kind,
      case .range(let ranges) = array.flexibility
    else {
      Issue.record("the input is not flexible")
      return
    }
    var shape = array.shape.map { Int($0) }
    let axis = try #require(ranges.firstIndex { $0.upperBound != Int64($0.lowerBound) })
    shape[axis] = Int(ranges[axis].lowerBound) + 1
    let other = try planner.plan(model, shapes: [input.name: shape])
    #expect(other.peakActivationBytes != standard.peakActivationBytes)
    isWhole(other)
    let rank = #expect(throws: PlanError.self) {
      try planner.plan(model, shapes: [input.name: shape + [1]])
    }
    #expect(rank?.kind == .usage)
  }

  @Test func enumeratedShapesStayOnTheNeuralEngine() throws {
    let model = try Plans.model("models/flex_enum_ios16.mlpackage")
    let plan = try Plans.planner().plan(model)
    #expect(!plan.advice.contains { $0.rule == "flexible-shapes" })
    isWhole(plan)
  }

  @Test func shapesThatDoNotFit() throws {
    let planner = try Plans.planner()
    let model = try Plans.convolutions(1)
    let unknown = #expect(throws: PlanError.self) { try planner.plan(model, shapes: ["z": [1]]) }
    #expect(unknown?.message == "there is no input \"z\"")
    #expect(unknown?.hint == "inputs: x")
    let fixed = #expect(throws: PlanError.self) { try planner.plan(model, shapes: ["x": [1]]) }
    #expect(fixed?.kind == .usage)
  }

  @Test func functionsByName() throws {
    let model = try Plans.model("models/multi_ios18.mlpackage")
    let planner = try Plans.planner()
    let names = Array(try #require(model.program).functions.keys)
    #expect(names.count > 1)
    for name in names { #expect(try planner.plan(model, function: name).function == name) }
    let error = #expect(throws: PlanError.self) { try planner.plan(model, function: "nothing") }
    #expect(error?.hint == "its functions: \(names.joined(separator: ", "))")
    #expect(try names.contains(planner.plan(model).function))
  }

  @Test func modelsWithStates() throws {
    let plan = try Plans.planner().plan(try Plans.model("models/state_ios18.mlpackage"))
    #expect(plan.operations.contains { $0.type == "read_state" })
    isWhole(plan)
  }

  @Test func pipelinesAreTheSumOfTheirModels() throws {
    let plan = try Plans.planner().plan(try Plans.model("models/pipe_mlprogram.mlpackage"))
    #expect(plan.children.count == 2)
    #expect(plan.latency == plan.children.reduce(0) { $0 + $1.plan.latency })
    #expect(plan.operations.count == plan.children.reduce(0) { $0 + $1.plan.operations.count })
    #expect(plan.multiplyAdds == plan.children.reduce(0) { $0 + $1.plan.multiplyAdds })
    #expect(plan.operations.allSatisfy { $0.name.contains("/") })
    isWhole(plan)
  }

  @Test(arguments: ["dtr", "gbr", "knn", "linreg", "logreg", "rf", "svc", "svr"])
  func classicModels(_ name: String) throws {
    let plan = try Plans.planner().plan(try Plans.model("models/sk_\(name).mlmodel"))
    let operations =
      plan.children.isEmpty ? plan.operations : plan.children.flatMap(\.plan.operations)
    #expect(!operations.isEmpty)
    #expect(operations.allSatisfy { $0.preferred == .cpu && $0.supported == [.cpu] })
    #expect(plan.latency > 0)
    isWhole(plan)
  }

  @Test func neuralNetworksHaveNoPlan() throws {
    let error = #expect(throws: PlanError.self) {
      try Plans.planner().plan(try Plans.model("models/nn.mlmodel"))
    }
    #expect(error?.kind == .unsupported)
    #expect(error?.hint == "convert it to an ML Program")
  }

  @Test func unknownOperationsAndInvalidModels() throws {
    let custom = Make.model(
      9, [Make.tensor("x", [1, 4])],
      [Make.operation("my_layer", ["x": "x"], Make.tensor("y", [1, 4]))],
      outputs: [Make.tensor("y", [1, 4])])
    let plan = try Plans.planner().plan(custom)
    #expect(plan.operations.map(\.preferred) == [.cpu])
    #expect(plan.notes.contains { $0.contains("my_layer") })
    let broken = Make.model(
      9, [Make.tensor("x", [1, 4])],
      [Make.operation("relu", ["x": "nothing"], Make.tensor("y", [1, 4]))],
      outputs: [Make.tensor("y", [1, 4])])
    let error = #expect(throws: PlanError.self) { try Plans.planner().plan(broken) }
    #expect(error?.kind == .unsupported)
  }

  @Test func samePlanForSameInput() throws {
    let model = try Plans.model("zoo/base_ios16.mlpackage")
    let planner = try Plans.planner("m3")
    #expect(try planner.plan(model) == planner.plan(model))
  }

  @Test func programsOfManyOperations() throws {
    let plan = try Plans.planner().plan(
      try Plans.convolutions(5000, channels: 8, size: 4, kernel: 1))
    #expect(plan.operations.count == 5000)
    isWhole(plan)
  }
}
