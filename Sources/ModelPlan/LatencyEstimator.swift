import ModelGraph

/// The latency of one model on one device for many parameters of the cost model; the graph is built
/// once.
public struct LatencyEstimator: Sendable {
  private let placement: Placement

  /// Builds the graph of the model's default function.
  ///
  /// - Throws: ``PlanError`` for models that have no plan.
  public init(_ model: Model, device: DeviceCatalog.Choice) throws(PlanError) {
    let planner = Planner(device: device)
    let (graph, context, _) = try planner.graph(model, function: nil, shapes: [:])
    let cost = CostModel(chip: device.chip, calibration: .standard)
    placement = Placement(graph, cost, units: planner.allowedUnits, context: context)
  }

  /// The estimated latency in milliseconds.
  public func latency(_ calibration: Calibration) -> Double {
    var placement = placement
    placement.model = CostModel(chip: placement.model.chip, calibration: calibration)
    return PlanTimes(placement).latency
  }
}

/// The units, times and changes of unit of a placement.
struct PlanTimes: Sendable {
  let units: [ComputeUnit]
  let estimates: [CostModel.Estimate?]
  let transfers: [Plan.Transfer]
  /// The sum of all, the start of the first unit included.
  let latency: Double

  /// The share of the latency that CPU, GPU and changes of unit take.
  var otherShare: Double {
    let others = zip(units, estimates).reduce(0) { sum, pair in
      sum + (pair.0 == .ne ? 0 : pair.1?.milliseconds ?? 0)
    }
    guard units.contains(.ne), latency > 0 else { return 1 }
    return (others + transfers.reduce(0) { $0 + $1.milliseconds }) / latency
  }

  /// Those of the faster of two placements: with weights beside other operations, and waited for.
  init(_ placement: Placement) {
    let beside = placement.assign(waitingForWeights: false)
    let waiting = placement.assign(waitingForWeights: true)
    let first = PlanTimes(placement, beside)
    if waiting == beside {
      self = first
    } else {
      let second = PlanTimes(placement, waiting)
      self = second.latency < first.latency ? second : first
    }
  }

  private init(_ placement: Placement, _ units: [ComputeUnit]) {
    let nodes = placement.graph.nodes
    self.units = units
    var estimates = nodes.indices.map {
      placement.model.estimate(nodes[$0], on: units[$0], isFused: placement.isFused[$0])
    }
    PlanTimes.addWeights(to: &estimates, units)
    self.estimates = estimates
    let isUniform = units.allSatisfy { $0 == units.first }
    transfers = isUniform ? [] : PlanTimes.transfers(placement, units)
    latency =
      estimates.reduce(0) { $0 + ($1?.milliseconds ?? 0) }
      + (units.first.map(placement.dispatch) ?? 0)
      + transfers.reduce(0) { $0 + $1.milliseconds }
  }

  /// Adds what weights take beyond the run of operations that they come beside, to each operation by
  /// its share of the weights.
  private static func addWeights(
    to estimates: inout [CostModel.Estimate?], _ units: [ComputeUnit]
  ) {
    var start = 0
    while start < units.count {
      var end = start + 1
      while end < units.count, units[end] == units[start] { end += 1 }
      let run = estimates[start..<end].compactMap { $0 }
      let weights = run.reduce(0) { $0 + $1.weightMilliseconds }
      let excess = weights - run.reduce(0) { $0 + $1.milliseconds }
      if excess > 0 {
        for index in start..<end {
          guard var estimate = estimates[index], estimate.weightMilliseconds > 0 else { continue }
          estimate.milliseconds += excess * estimate.weightMilliseconds / weights
          estimate.bound = .memory
          estimates[index] = estimate
        }
      }
      start = end
    }
  }

  /// Changes of unit between operations in turn, with what the later one reads from elsewhere.
  private static func transfers(
    _ placement: Placement, _ units: [ComputeUnit]
  ) -> [Plan.Transfer] {
    let graph = placement.graph
    var homes: [String: ComputeUnit] = [:]
    var sizes: [String: Double] = [:]
    var transfers: [Plan.Transfer] = []
    for (index, node) in graph.nodes.enumerated() {
      let unit = units[index]
      if index > 0, unit != units[index - 1] {
        let moved = node.reads.filter { homes[$0] != nil && homes[$0] != unit }
        let bytes = moved.reduce(0) { $0 + (sizes[$1] ?? 0) }
        transfers.append(
          Plan.Transfer(
            from: units[index - 1], to: unit, bytes: bytes,
            milliseconds: placement.dispatch(unit) + placement.transfer(bytes),
            after: graph.nodes[index - 1].name))
      }
      for (output, type) in zip(node.operation.outputs, node.outputs) {
        homes[output.name] = unit
        sizes[output.name] = type.tensor?.byteCount ?? 0
      }
    }
    return transfers
  }
}
