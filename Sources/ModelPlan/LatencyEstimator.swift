import ModelGraph

/// The latency of one model on one device for many parameters of the cost model; the graph is built
/// once.
public struct LatencyEstimator: Sendable {
  private let graph: PlanGraph
  private let context: PlacementRules.Context
  private let chip: Chip
  private let units: [ComputeUnit]

  /// Builds the graph of the model's default function.
  ///
  /// - Throws: ``PlanError`` for models that have no plan.
  public init(_ model: Model, device: DeviceCatalog.Choice) throws(PlanError) {
    let planner = Planner(device: device)
    (graph, context, _) = try planner.graph(model, function: nil, shapes: [:])
    chip = device.chip
    units = planner.allowedUnits
  }

  /// The estimated latency in milliseconds.
  public func latency(_ calibration: Calibration) -> Double {
    let cost = CostModel(chip: chip, calibration: calibration)
    let placement = Placement(graph, cost, units: units, context: context)
    return PlanTimes(graph, placement, cost).latency
  }
}

/// The units, times and changes of unit of a placement.
struct PlanTimes {
  let fused: [Bool]
  let units: [ComputeUnit]
  let estimates: [CostModel.Estimate?]
  let transfers: [Plan.Transfer]
  /// The sum of all, the start of the first unit included.
  let latency: Double

  init(_ graph: PlanGraph, _ placement: Placement, _ cost: CostModel) {
    let fused = placement.fused()
    let units = placement.assign(fused)
    self.fused = fused
    self.units = units
    estimates = graph.nodes.indices.map {
      cost.estimate(graph.nodes[$0], on: units[$0], isFused: fused[$0])
    }
    transfers = PlanTimes.transfers(graph, placement, units)
    latency =
      estimates.reduce(0) { $0 + ($1?.milliseconds ?? 0) }
      + (units.first.map(placement.dispatch) ?? 0)
      + transfers.reduce(0) { $0 + $1.milliseconds }
  }

  /// Changes of unit between operations in turn, with what the later one reads from elsewhere.
  private static func transfers(
    _ graph: PlanGraph, _ placement: Placement, _ units: [ComputeUnit]
  ) -> [Plan.Transfer] {
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
