extension Plan {
  /// Plans one after the other, as those of a pipeline's models.
  static func sum(of children: [(name: String, plan: Plan)], planner: Planner) -> Plan {
    let plans = children.map(\.plan)
    func total(_ value: (Plan) -> Double) -> Double { plans.reduce(0) { $0 + value($1) } }
    let time = plans.flatMap(\.operations).reduce(0) { $0 + $1.milliseconds }
    let count = Double(max(plans.reduce(0) { $0 + $1.operations.count }, 1))
    func place(_ name: String, in child: String) -> String { "\(child)/\(name)" }
    var plan = Plan(
      function: plans.first?.function ?? "main", device: planner.device.title,
      chip: planner.device.chip.name, os: planner.device.os, units: planner.units.rawValue,
      latency: total(\.latency), range: (total(\.range.low), total(\.range.high)),
      multiplyAdds: total(\.multiplyAdds), weightBytes: total(\.weightBytes),
      peakActivationBytes: plans.map(\.peakActivationBytes).max() ?? 0,
      liveBytes: plans.flatMap(\.liveBytes), operations: [], transfers: [], advice: [], notes: [],
      roofs: planner.roofs, children: children)
    for (name, child) in children {
      // Shares of the child's time become shares of the whole.
      let own = child.operations.reduce(0) { $0 + $1.milliseconds }
      let share = time > 0 ? own / time : Double(child.operations.count) / count
      plan.operations += child.operations.map { operation in
        var operation = operation
        operation.name = place(operation.name, in: name)
        operation.cost *= share
        return operation
      }
      plan.transfers += child.transfers.map { transfer in
        var transfer = transfer
        transfer.after = place(transfer.after, in: name)
        return transfer
      }
      plan.advice += child.advice.map { advice in
        var advice = advice
        advice.operations = advice.operations.map { place($0, in: name) }
        advice.cost *= share
        return advice
      }
      for note in child.notes where !plan.notes.contains(note) { plan.notes.append(note) }
    }
    plan.advice.sort { $0.cost > $1.cost }
    return plan
  }
}
