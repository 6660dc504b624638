import ModelGraph

/// Puts every operation on the unit that makes the whole cheapest.
///
/// Operations run in the order of the program. Changing the unit costs starting it and moving what the
/// operation reads, so that a cheap operation stays where its neighbours are.
struct Placement: Sendable {
  let graph: PlanGraph
  var model: CostModel
  let units: [ComputeUnit]
  /// The rule that keeps each operation off each unit.
  let obstacles: [[ComputeUnit: PlacementRule]]
  /// The units that may run each operation; the CPU where no other does.
  let supported: [[ComputeUnit]]
  /// Whether each operation runs with the one that makes its input.
  let isFused: [Bool]
  /// Bytes of computed values that each operation reads.
  private let readBytes: [Double]

  init(
    _ graph: PlanGraph, _ model: CostModel, units: [ComputeUnit],
    context: PlacementRules.Context
  ) {
    self.graph = graph
    self.model = model
    self.units = units
    let obstacles = graph.nodes.map { node in
      var found: [ComputeUnit: PlacementRule] = [:]
      for unit in units { found[unit] = PlacementRules.obstacle(node, on: unit, context) }
      return found
    }
    self.obstacles = obstacles
    supported = obstacles.map { obstacle in
      let found = units.filter { obstacle[$0] == nil }
      return found.isEmpty ? [.cpu] : found
    }
    isFused = Placement.fused(graph)
    var sizes: [String: Double] = [:]
    readBytes = graph.nodes.map { node in
      defer {
        for (output, type) in zip(node.operation.outputs, node.outputs) {
          sizes[output.name] = type.tensor?.byteCount ?? 0
        }
      }
      return node.reads.reduce(0) { $0 + (sizes[$1] ?? 0) }
    }
  }

  /// Milliseconds to start a unit.
  func dispatch(_ unit: ComputeUnit) -> Double {
    switch unit {
    case .cpu: model.chip.cpu.dispatchMs.value
    case .gpu: model.chip.gpu.dispatchMs.value
    case .ne: model.chip.ne?.dispatchMs?.value ?? model.calibration.dispatchMs
    }
  }

  /// Milliseconds to move bytes from one unit to another, through memory.
  func transfer(_ bytes: Double) -> Double { 2 * bytes / (model.chip.dram.value * 1e6) }

  /// Activation functions, and multiplications such as those of gates, run with the operation that
  /// makes their input, as it writes its result.
  private static func fused(_ graph: PlanGraph) -> [Bool] {
    var computed: Set<String> = []
    return graph.nodes.map { node in
      defer { computed.formUnion(node.operation.outputs.map(\.name)) }
      return CostModel.fusable.contains(node.operation.type)
        && node.reads.contains(where: computed.contains)
    }
  }

  /// The unit of each operation, by dynamic programming over the order of the program.
  ///
  /// - Parameter waitingForWeights: Whether an operation waits for its own weights; else they come
  ///   beside others and cost nothing. The truth lies between.
  func assign(waitingForWeights: Bool) -> [ComputeUnit] {
    let all = ComputeUnit.allCases
    var costs = [Double](repeating: 0, count: all.count)
    var origins: [[Int]] = []
    let starts = all.map(dispatch)
    for (index, node) in graph.nodes.enumerated() {
      let moved = transfer(readBytes[index])
      var row = [Double](repeating: .infinity, count: all.count)
      var origin = Array(all.indices)
      for unit in supported[index] {
        guard let place = all.firstIndex(of: unit) else { continue }
        let estimate = model.estimate(node, on: unit, isFused: isFused[index])
        let own = max(
          estimate?.milliseconds ?? 0, waitingForWeights ? estimate?.weightMilliseconds ?? 0 : 0)
        if index == 0 {
          row[place] = own + starts[place]
          continue
        }
        for (other, cost) in costs.enumerated() {
          let total = cost + own + (other == place ? 0 : starts[place] + moved)
          if total < row[place] { (row[place], origin[place]) = (total, other) }
        }
      }
      costs = row
      origins.append(origin)
    }
    var place = costs.enumerated().min { $0.element < $1.element }?.offset ?? 0
    var result = [ComputeUnit](repeating: .cpu, count: origins.count)
    for index in origins.indices.reversed() {
      result[index] = all[place]
      place = origins[index][place]
    }
    return result
  }
}
