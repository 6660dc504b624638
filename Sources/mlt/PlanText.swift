import ModelPlan

/// A plan for a person: the whole first, then what costs most and what keeps it off the Neural Engine.
struct PlanText {
  var plan: Plan
  var path: String

  var lines: [String] {
    Array(
      [head, units, advice, operations, children, notes].filter { !$0.isEmpty }
        .joined(separator: [""]))
  }

  private var head: [String] {
    [
      "\(path.split(separator: "/").last ?? "")  on \(plan.device) (\(plan.chip)), \(plan.os), "
        + "units \(plan.units)",
      "  estimated \(PlanText.time(plan.latency)), between \(PlanText.time(plan.range.low)) and "
        + PlanText.time(plan.range.high),
      "  \(PlanText.count(plan.multiplyAdds)) multiply-adds, weights \(PlanText.bytes(plan.weightBytes)) in "
        + "memory, activations \(PlanText.bytes(plan.peakActivationBytes)) at most",
    ]
  }

  private var units: [String] {
    var table = Table(
      ["unit", "operations", "time", "share"], alignments: [.left, .right, .right, .right])
    for unit in ComputeUnit.allCases.reversed() {
      let own = plan.operations.filter { $0.preferred == unit }
      if own.isEmpty { continue }
      table.add([
        unit.title, "\(own.count)", PlanText.time(own.reduce(0) { $0 + $1.milliseconds }),
        PlanText.percent(own.reduce(0) { $0 + $1.cost }),
      ])
    }
    let moved = plan.transfers
    if !moved.isEmpty {
      table.add([
        "changes of unit", "\(moved.count)",
        PlanText.time(moved.reduce(0) { $0 + $1.milliseconds }), "",
      ])
    }
    if plan.startMilliseconds > 0 {
      table.add(["start", "", PlanText.time(plan.startMilliseconds), ""])
    }
    return table.lines()
  }

  private var advice: [String] {
    if plan.advice.isEmpty { return [] }
    var lines = ["What keeps work off the Neural Engine"]
    for advice in plan.advice.prefix(8) {
      let count = advice.operations.count > 1 ? " (\(advice.operations.count)×)" : ""
      lines.append(
        "  \(PlanText.percent(advice.cost).rightAligned(to: 6))  \(advice.message)\(count)  "
          + "[\(advice.confidence.rawValue), \(advice.source)]")
      if let hint = advice.hint { lines.append("          hint: \(hint)") }
    }
    if plan.advice.count > 8 { lines.append("  … and \(plan.advice.count - 8) more (--json)") }
    return lines
  }

  private var operations: [String] {
    var table = Table(
      ["cost", "time", "unit", "bound", "type", "name", "why"],
      alignments: [.right, .right, .left, .left, .left, .left, .left])
    let sorted = plan.operations.enumerated().sorted {
      ($1.element.milliseconds, $0.offset) < ($0.element.milliseconds, $1.offset)
    }
    for (_, operation) in sorted.prefix(15) {
      table.add([
        PlanText.percent(operation.cost), PlanText.time(operation.milliseconds),
        operation.preferred.rawValue, operation.bound, operation.type,
        InspectText.shortened(operation.name, to: 40),
        "\(operation.reason) [\(operation.confidence.rawValue)]",
      ])
    }
    let rest = plan.operations.count - 15
    return ["The operations that cost most"] + table.lines()
      + (rest > 0 ? ["  … and \(rest) more (--json lists all)"] : [])
  }

  private var children: [String] {
    if plan.children.isEmpty { return [] }
    var table = Table(
      ["model", "time", "operations"], alignments: [.left, .right, .right])
    for (name, child) in plan.children {
      table.add([name, PlanText.time(child.latency), "\(child.operations.count)"])
    }
    return ["The models of the pipeline"] + table.lines()
  }

  private var notes: [String] {
    plan.notes.isEmpty
      ? [] : ["Assumptions"] + plan.notes.flatMap { wrapped($0, width: 92).map { "  " + $0 } }
  }

  /// Milliseconds, microseconds where that is more readable.
  static func time(_ milliseconds: Double) -> String {
    if milliseconds >= 1000 { return Human.fixed(milliseconds / 1000, 2) + " s" }
    if milliseconds == 0 { return "0 ms" }
    if milliseconds >= 0.1 { return Human.fixed(milliseconds, 2) + " ms" }
    return Human.fixed(milliseconds * 1000, milliseconds < 0.01 ? 2 : 1) + " µs"
  }

  static func percent(_ share: Double) -> String { Human.fixed(share * 100, 1) + " %" }
  static func bytes(_ value: Double) -> String { Human.bytes(Int(min(value, 9e18))) }
  static func count(_ value: Double) -> String { Human.count(Int(min(value, 9e18))) }
}
