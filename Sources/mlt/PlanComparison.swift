import ModelPlan

/// Two plans side by side: of two models, or of one on two devices.
struct PlanComparison {
  var left: Plan
  var right: Plan
  var leftName: String
  var rightName: String

  private struct Row {
    var name: String
    var left: Double
    var right: Double
    var text: (Double) -> String
  }

  private var rows: [Row] {
    func time(_ plan: Plan, _ unit: ComputeUnit) -> Double {
      plan.operations.filter { $0.preferred == unit }.reduce(0) { $0 + $1.milliseconds }
    }
    var rows = [
      Row(name: "latency", left: left.latency, right: right.latency, text: PlanText.time)
    ]
    for unit in ComputeUnit.allCases.reversed() {
      rows.append(
        Row(
          name: "  on the \(unit.title)", left: time(left, unit), right: time(right, unit),
          text: PlanText.time))
    }
    let changes = { (plan: Plan) in plan.transfers.reduce(0) { $0 + $1.milliseconds } }
    rows += [
      Row(
        name: "  changes of unit", left: changes(left), right: changes(right), text: PlanText.time),
      Row(
        name: "multiply-adds", left: left.multiplyAdds, right: right.multiplyAdds,
        text: PlanText.count),
      Row(
        name: "weights in memory", left: left.weightBytes, right: right.weightBytes,
        text: PlanText.bytes),
      Row(
        name: "activations at most", left: left.peakActivationBytes,
        right: right.peakActivationBytes, text: PlanText.bytes),
      Row(
        name: "operations", left: Double(left.operations.count),
        right: Double(right.operations.count), text: { Human.fixed($0, 0) }),
    ]
    return rows.filter { $0.left != 0 || $0.right != 0 }
  }

  /// Time by type of operation, the largest difference first.
  private var types: [(type: String, left: Double, right: Double)] {
    func times(_ plan: Plan) -> [String: Double] {
      plan.operations.reduce(into: [:]) { $0[$1.type, default: 0] += $1.milliseconds }
    }
    let (one, two) = (times(left), times(right))
    return Set(one.keys).union(two.keys).map { ($0, one[$0] ?? 0, two[$0] ?? 0) }
      .sorted { (abs($1.1 - $1.2), $0.0) < (abs($0.1 - $0.2), $1.0) }
  }

  /// Operations of the same name on other units.
  private var moved: [(name: String, left: ComputeUnit, right: ComputeUnit)] {
    let others = Dictionary(right.operations.map { ($0.name, $0.preferred) }) { first, _ in first }
    return left.operations.compactMap { operation in
      guard let other = others[operation.name], other != operation.preferred else { return nil }
      return (operation.name, operation.preferred, other)
    }
  }

  var lines: [String] {
    var table = Table(
      ["", leftName, rightName, "difference"], alignments: [.left, .right, .right, .right])
    for row in rows {
      table.add([
        row.name, row.text(row.left), row.text(row.right), change(row.left, row.right),
      ])
    }
    var lines = table.lines(indent: 0)
    var byType = Table(
      ["type", leftName, rightName, "difference"], alignments: [.left, .right, .right, .right])
    let differing = types.filter { $0.left != $0.right }
    for row in differing.prefix(10) {
      byType.add([
        row.type, PlanText.time(row.left), PlanText.time(row.right), change(row.left, row.right),
      ])
    }
    if !differing.isEmpty { lines += [""] + byType.lines(indent: 0) }
    let moved = moved
    if !moved.isEmpty {
      lines += ["", "\(Human.counted(moved.count, "operation")) on other units"]
      for row in moved.prefix(10) {
        lines.append("  \(row.name): \(row.left.title) → \(row.right.title)")
      }
      if moved.count > 10 { lines.append("  … and \(moved.count - 10) more (--json)") }
    }
    return lines
  }

  private func change(_ left: Double, _ right: Double) -> String {
    if left == right { return "same" }
    if left == 0 { return "new" }
    let percent = (right / left - 1) * 100
    return (percent > 0 ? "+" : "") + Human.fixed(percent, 1) + " %"
  }

  func json(_ path: String) -> JSONValue {
    .object([
      ("schema", .integer(1)), ("left", PlanJSON.document(left, path: leftName)),
      ("right", PlanJSON.document(right, path: rightName)),
      (
        "differences",
        .array(
          rows.map { row in
            .object([
              ("name", .string(row.name.trimmingPrefix { $0 == " " }.description)),
              ("left", .number(row.left)), ("right", .number(row.right)),
            ])
          })
      ),
      (
        "moved",
        .array(
          moved.map { row in
            .object([
              ("name", .string(row.name)), ("left", .string(row.left.rawValue)),
              ("right", .string(row.right.rawValue)),
            ])
          })
      ),
    ])
  }
}
