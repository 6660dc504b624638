import ModelGraph
import ModelOperations

/// Makes plans of programs.
public struct Planner: Sendable {
  /// Which units may run operations.
  public enum Units: String, Sendable, CaseIterable {
    case all
    case cpu
    case cpuGPU = "cpu-gpu"
    case cpuNE = "cpu-ne"

    var list: [ComputeUnit] {
      switch self {
      case .all: [.cpu, .gpu, .ne]
      case .cpu: [.cpu]
      case .cpuGPU: [.cpu, .gpu]
      case .cpuNE: [.cpu, .ne]
      }
    }
  }

  /// The device.
  public var device: DeviceCatalog.Choice
  /// The texts of the sources of figures.
  public var sources: [String: String]
  /// The units allowed.
  public var units = Units.all
  /// The parameters of the cost model.
  public var calibration = Calibration.standard

  /// A planner for a device.
  public init(
    device: DeviceCatalog.Choice, sources: [String: String] = DeviceCatalog.standard.sources
  ) {
    self.device = device
    self.sources = sources
  }

  /// The plan of a model: of a function of a program, of a pipeline's models one after the other, of
  /// a classic model.
  ///
  /// - Parameters:
  ///   - function: The function of a program; nil for the default one.
  ///   - shapes: Sizes of inputs in place of their defaults.
  /// - Throws: ``PlanError`` for neural networks, unknown functions and inputs, and sizes that are
  ///   open; `SpecError` for a malformed classic model.
  public func plan(
    _ model: Model, function name: String? = nil, shapes: [String: [Int]] = [:]
  ) throws -> Plan {
    switch model.kind {
    case .program: return try program(model, function: name, shapes: shapes)
    case .pipeline(let pipeline):
      return try sum(pipeline, shapes: shapes)
    case .other:
      if name != nil { throw PlanError(.usage, "only programs have functions") }
      return try ClassicPlan(planner: self).plan(model)
    case .neuralNetwork(let network):
      throw PlanError(
        .unsupported,
        "a neural network (\(network.typeName)) has no plan: its layers are not operations of a "
          + "program", hint: "convert it to an ML Program")
    case .absent: throw PlanError(.unsupported, "the model has no content")
    }
  }

  private func program(
    _ model: Model, function name: String?, shapes: [String: [Int]]
  ) throws(PlanError) -> Plan {
    let finding = model.program.flatMap {
      Verifier.firstError(
        program: $0, specificationVersion: model.specificationVersion,
        description: model.description)
    }
    if let finding {
      throw PlanError(
        .unsupported, "the model is not valid: \(finding.message) (\(finding.place))",
        hint: "mlt validate lists all that is wrong")
    }
    let (graph, context, function) = try graph(model, function: name, shapes: shapes)
    let cost = CostModel(chip: device.chip, calibration: calibration)
    let placement = Placement(graph, cost, units: allowedUnits, context: context)
    return PlanBuilder(
      planner: self, graph: graph, placement: placement, cost: cost, function: function,
      unknownSizes: graph.nodes.first { $0.work == nil }?.name
    ).plan
  }

  /// The plans of a pipeline's models, and their sum.
  private func sum(_ pipeline: Pipeline, shapes: [String: [Int]]) throws -> Plan {
    var children: [(name: String, plan: Plan)] = []
    for (index, child) in pipeline.models.enumerated() {
      // A shape goes to every model that has the input.
      let own = shapes.filter { name, _ in
        child.description?.inputs.contains { $0.name == name } == true
      }
      children.append((pipeline.name(of: index), try plan(child, shapes: own)))
    }
    for name in shapes.keys.sorted() {
      let isKnown = pipeline.models.contains { model in
        model.description?.inputs.contains { $0.name == name } == true
      }
      if !isKnown { throw PlanError(.usage, "no model of the pipeline has an input \"\(name)\"") }
    }
    return Plan.sum(of: children, planner: self)
  }

  /// The units that are allowed and there.
  var allowedUnits: [ComputeUnit] { units.list.filter { $0 != .ne || device.chip.ne != nil } }

  /// The rates of those units.
  var roofs: [Plan.Roof] {
    let cost = CostModel(chip: device.chip, calibration: calibration)
    return allowedUnits.compactMap(cost.roof)
  }

  /// The graph of a function, what the rules see beside its operations, and its name.
  func graph(
    _ model: Model, function name: String?, shapes: [String: [Int]]
  ) throws(PlanError) -> (PlanGraph, PlacementRules.Context, String) {
    guard let program = model.program else {
      throw PlanError(
        .unsupported, "a model of the kind \(model.kind.typeName) has no operations to place")
    }
    let (name, function) = try self.function(name, program, model)
    let flexibility = FlexibleInputs(function, model.description, function: name)
    let sizes = try flexibility.sizes(shapes)
    let graph = PlanGraph(function, name: name, shapes: sizes)
    if !shapes.isEmpty, let node = graph.nodes.first(where: { $0.work == nil }),
      let fault = node.fault
    {
      throw PlanError(.usage, "the shapes do not fit the operation \(node.name): \(fault)")
    }
    let open = graph.nodes.first { $0.work == nil }
    if let open, let input = flexibility.open(sizes) {
      throw PlanError(
        .usage, "the sizes of \(open.name) depend on the input \(input), whose shape is open",
        hint: "give it with --shape \(input)=1,3,224,224")
    }
    var context = PlacementRules.Context(
      generation: device.chip.ruleGeneration, isPhone: device.chip.isPhone)
    context.isFlexible = flexibility.isFlexible
    context.isEnumerated = flexibility.isEnumerated
    context.modelBytes = graph.uniqueWeights.reduce(0) { $0 + $1.storedBytes }
    return (graph, context, name)
  }

  private func function(
    _ name: String?, _ program: Program, _ model: Model
  ) throws(PlanError) -> (String, Function) {
    let standard = model.description?.defaultFunctionName ?? ""
    let wanted =
      name ?? (!standard.isEmpty ? standard : program.functions["main"] != nil ? "main" : nil)
      ?? program.functions.keys.first ?? "main"
    guard let function = program.functions[wanted] else {
      throw PlanError(
        .usage, "the program has no function \"\(wanted)\"",
        hint: "its functions: \(program.functions.keys.joined(separator: ", "))")
    }
    return (wanted, function)
  }
}

extension PlanGraph {
  /// The constants of all operations, each once.
  var uniqueWeights: [PlanWeight] {
    var seen: Set<String> = []
    return nodes.flatMap(\.weights).filter { $0.name.isEmpty || seen.insert($0.name).inserted }
  }
}
