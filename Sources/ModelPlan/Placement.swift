import ModelGraph

/// Puts every operation on the unit that makes the whole cheapest.
///
/// Operations run in the order of the program. Changing the unit costs starting it and moving what the
/// operation reads, so that a cheap operation stays where its neighbours are.
struct Placement {
  let graph: PlanGraph
  let model: CostModel
  let units: [ComputeUnit]
  /// The rule that keeps each operation off each unit.
  let obstacles: [[ComputeUnit: PlacementRule]]

  init(
    _ graph: PlanGraph, _ model: CostModel, units: [ComputeUnit],
    context: PlacementRules.Context
  ) {
    self.graph = graph
    self.model = model
    self.units = units
    obstacles = graph.nodes.map { node in
      var found: [ComputeUnit: PlacementRule] = [:]
      for unit in units { found[unit] = PlacementRules.obstacle(node, on: unit, context) }
      return found
    }
  }

  /// The units that may run an operation; the CPU where no other does.
  func supported(_ index: Int) -> [ComputeUnit] {
    let found = units.filter { obstacles[index][$0] == nil }
    return found.isEmpty ? [.cpu] : found
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

  /// Whether an operation runs with the one before it: it reads one value, which nothing else reads,
  /// from the operation just placed or from one that was fused itself.
  func fused() -> [Bool] {
    var uses: [String: Int] = [:]
    for node in graph.nodes { for name in node.reads { uses[name, default: 0] += 1 } }
    for name in graph.outputs { uses[name, default: 0] += 1 }
    var producers: [String: Int] = [:]
    var result: [Bool] = []
    for (index, node) in graph.nodes.enumerated() {
      let isCandidate = CostModel.fusable.contains(node.operation.type)
      let isFed = node.reads.contains { name in
        guard let producer = producers[name] else { return false }
        return graph.nodes[producer].work?.multiplyAdds ?? 0 > 0 || result[producer]
          || node.operation.type == "mul"
      }
      result.append(isCandidate && isFed)
      for output in node.operation.outputs { producers[output.name] = index }
    }
    return result
  }

  /// The unit of each operation, by dynamic programming over the order of the program.
  func assign(_ isFused: [Bool]) -> [ComputeUnit] {
    guard !graph.nodes.isEmpty else { return [] }
    var costs: [[Double]] = []
    var origins: [[Int]] = []
    var sizes: [String: Double] = [:]
    for (index, node) in graph.nodes.enumerated() {
      let allowed = Set(supported(index))
      let moved = transfer(node.reads.reduce(0) { $0 + (sizes[$1] ?? 0) })
      var row: [Double] = []
      var origin: [Int] = []
      for (place, unit) in ComputeUnit.allCases.enumerated() {
        guard allowed.contains(unit) else {
          row.append(.infinity)
          origin.append(0)
          continue
        }
        let own = model.estimate(node, on: unit, isFused: isFused[index])?.milliseconds ?? 0
        if index == 0 {
          row.append(own + dispatch(unit))
          origin.append(place)
          continue
        }
        var best = (cost: Double.infinity, origin: place)
        for (other, cost) in costs[index - 1].enumerated() {
          let change = other == place ? 0 : dispatch(unit) + moved
          if cost + change < best.cost { best = (cost + change, other) }
        }
        row.append(best.cost + own)
        origin.append(best.origin)
      }
      costs.append(row)
      origins.append(origin)
      for (output, type) in zip(node.operation.outputs, node.outputs) {
        sizes[output.name] = type.tensor?.byteCount ?? 0
      }
    }
    var place = costs[costs.count - 1].enumerated().min { $0.element < $1.element }?.offset ?? 0
    var result = [ComputeUnit](repeating: .cpu, count: costs.count)
    for index in stride(from: costs.count - 1, through: 0, by: -1) {
      result[index] = ComputeUnit.allCases[place]
      place = origins[index][place]
    }
    return result
  }
}
