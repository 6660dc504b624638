import ModelGraph
import ModelOperations

/// Puts a plan together from a placement.
struct PlanBuilder {
  let planner: Planner
  let graph: PlanGraph
  let placement: Placement
  let cost: CostModel
  let function: String
  /// An operation whose sizes are not known, which then costs nothing.
  let unknownSizes: String?

  var plan: Plan {
    let times = PlanTimes(placement)
    let units = times.units
    var operations = graph.nodes.indices.map { operation($0, times) }
    let total = operations.reduce(0) { $0 + $1.milliseconds }
    for index in operations.indices {
      operations[index].cost =
        total > 0
        ? operations[index].milliseconds / total : 1 / Double(max(operations.count, 1))
    }
    let live = Liveness(graph).bytes
    return Plan(
      function: function, device: planner.device.title, chip: planner.device.chip.name,
      os: planner.device.os, units: planner.units.rawValue, latency: times.latency,
      range: range(times),
      multiplyAdds: operations.reduce(0) { $0 + $1.multiplyAdds },
      weightBytes: weightBytes(units), peakActivationBytes: live.max() ?? 0, liveBytes: live,
      operations: operations, transfers: times.transfers, advice: advice(operations, units),
      notes: notes(times), roofs: planner.roofs)
  }

  private func operation(_ index: Int, _ times: PlanTimes) -> Plan.Operation {
    let node = graph.nodes[index]
    let unit = times.units[index]
    let estimate = times.estimates[index]
    let obstacle = placement.obstacles[index][.ne]
    let reason = self.reason(index, unit)
    return Plan.Operation(
      name: (node.enclosing + [node.name]).joined(separator: "/"), type: node.operation.type,
      preferred: unit, supported: placement.supported[index], cost: 0,
      milliseconds: estimate?.milliseconds ?? 0, multiplyAdds: node.work?.multiplyAdds ?? 0,
      bytesRead: estimate?.bytesRead ?? 0, weightBytes: estimate?.weightBytes ?? 0,
      bytesWritten: estimate?.bytesWritten ?? 0,
      bound: placement.isFused[index] ? "fused" : estimate?.bound.rawValue ?? "unknown",
      reason: reason.text,
      source: reason.source, confidence: reason.confidence, rule: obstacle?.name)
  }

  private func reason(
    _ index: Int, _ unit: ComputeUnit
  ) -> (text: String, source: String, confidence: Confidence) {
    let obstacles = placement.obstacles[index]
    let better: [ComputeUnit] = [.ne, .gpu]
    for other in better where other != unit {
      if let rule = obstacles[other] {
        if unit == .gpu && other == .gpu { continue }
        return ("not on the \(other.title): \(rule.reason)", rule.source, rule.confidence)
      }
      if unit == .ne { break }
    }
    let source = "the cost model (docs/plan.md)"
    switch unit {
    case .ne: return ("the Neural Engine takes it and is the fastest", source, .derived)
    case .gpu, .cpu:
      return (
        placement.units.count == 1
          ? "the only unit allowed" : "cheaper here than to change the unit", source, .derived
      )
    }
  }

  /// The share of the latency up to which CPU and GPU do not matter.
  private static let smallShare = 0.02

  /// Wider where other units than the calibrated one matter.
  private func range(_ times: PlanTimes) -> (low: Double, high: Double) {
    let calibration = planner.calibration
    let latency = times.latency
    return times.otherShare <= PlanBuilder.smallShare
      ? (latency * calibration.low, latency * calibration.high)
      : (latency * min(calibration.low, 0.4), latency * max(calibration.high, 2.5))
  }

  /// Bytes of each weight as the unit of its first user holds it.
  private func weightBytes(_ units: [ComputeUnit]) -> Double {
    var seen: Set<String> = []
    var total = 0.0
    for (node, unit) in zip(graph.nodes, units) {
      for weight in node.weights where weight.name.isEmpty || seen.insert(weight.name).inserted {
        total += cost.bytes(of: weight, on: unit)
      }
    }
    return total
  }

  private func advice(_ operations: [Plan.Operation], _ units: [ComputeUnit]) -> [Plan.Advice] {
    var found: [String: Plan.Advice] = [:]
    var types: [String: Set<String>] = [:]
    for (index, operation) in operations.enumerated() {
      guard let rule = placement.obstacles[index][.ne] else { continue }
      let key = rule.name + rule.reason
      var advice =
        found[key]
        ?? Plan.Advice(
          rule: rule.name, message: rule.reason, operations: [], cost: 0, hint: rule.hint,
          source: rule.source, confidence: rule.confidence)
      advice.operations.append(operation.name)
      advice.cost += operation.cost
      found[key] = advice
      types[key, default: []].insert(operation.type)
    }
    for (key, types) in types {
      let subject = types.count == 1 ? "\(types.first ?? "") leaves" : "operations leave"
      let reason = found[key]?.message ?? ""
      found[key]?.message = "\(subject) the Neural Engine: \(reason)"
    }
    return found.values.sorted { ($1.cost, $0.rule, $0.message) < ($0.cost, $1.rule, $1.message) }
  }

  private func notes(_ times: PlanTimes) -> [String] {
    var notes: [String] = []
    // What lies beside the Neural Engine is listed, but no estimate uses it.
    let derived = planner.device.chip.figures.filter {
      $0.figure.confidence == .derived && $0.name != Chip.onChipName
    }
    if !derived.isEmpty {
      notes.append(
        "figures of the chip without a publication (confidence D): "
          + derived.map(\.name).joined(separator: ", "))
    }
    if times.otherShare > PlanBuilder.smallShare {
      notes.append("times of CPU and GPU rest on peak rates alone, no table fixes them")
    }
    if let unknownSizes {
      notes.append("the sizes of \(unknownSizes) and others depend on data; they count as nothing")
    }
    let unknown = graph.nodes.filter { OperationTable.definitions(of: $0.operation.type).isEmpty }
    if !unknown.isEmpty {
      let types = Set(unknown.map(\.operation.type)).sorted().joined(separator: ", ")
      notes.append("operations that are not known are placed on the CPU: \(types)")
    }
    return notes
  }
}
