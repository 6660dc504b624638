import ModelPlan

extension PlanPage {
  // MARK: Costs

  private static let mostOperations = 15
  private static let mostTypes = 12

  /// The operations and the types that take most of the time.
  var costs: String {
    let total = plan.operations.reduce(0) { $0 + $1.milliseconds }
    guard total > 0 else { return "" }
    let sorted = plan.operations.enumerated().sorted {
      ($1.element.milliseconds, $0.offset) < ($0.element.milliseconds, $1.offset)
    }.map(\.element)
    let own = sorted.prefix(PlanPage.mostOperations).filter { $0.milliseconds > 0 }.map {
      (
        HTMLText.escaped($0.name), "\(HTMLText.escaped($0.type)) · \($0.preferred.title)",
        $0.milliseconds, OperationFamily(type: $0.type)
      )
    }
    var types: [String: (time: Double, count: Int)] = [:]
    for operation in plan.operations {
      types[operation.type, default: (0, 0)].time += operation.milliseconds
      types[operation.type, default: (0, 0)].count += 1
    }
    let byType = types.sorted { ($1.value.time, $0.key) < ($0.value.time, $1.key) }
      .prefix(PlanPage.mostTypes).map {
        (
          HTMLText.escaped($0.key), Human.counted($0.value.count, "operation"), $0.value.time,
          OperationFamily(type: $0.key)
        )
      }
    return """
      <div class="pair">
      \(section("top", "Operations that cost most", "", bars(own, total)))
      \(section("types", "Cost by type", "", bars(byType, total)))
      </div>
      """
  }

  private func bars(
    _ rows: [(name: String, note: String, time: Double, family: OperationFamily)], _ total: Double
  ) -> String {
    let longest = rows.first?.time ?? 1
    let lines = rows.map { row in
      let width = HTMLText.number(row.time / max(longest, 1e-300) * 100)
      return "<li><div><b>\(row.name)</b> <small>\(row.note)</small></div>"
        + "<span>\(PlanText.percent(row.time / total)) · \(PlanText.time(row.time))</span>"
        + "<em><i class=\"f-\(row.family.rawValue)\" style=\"width:\(width)%\"></i></em></li>"
    }
    return "<ol class=\"bars\">\n\(lines.joined(separator: "\n"))\n</ol>"
  }

  // MARK: Advice

  private static let mostAdvice = 40

  /// What keeps work off the Neural Engine.
  var advice: String {
    if plan.advice.isEmpty {
      return plan.operations.contains { $0.preferred == .ne }
        ? section(
          "advice", "Off the Neural Engine", "", "<p>No rule keeps an operation off it.</p>")
        : ""
    }
    let entries = plan.advice.prefix(PlanPage.mostAdvice).map { advice in
      let names = advice.operations.prefix(4).map { InspectText.shortened($0, to: 48) }
      let more = advice.operations.count > 4 ? " … and \(advice.operations.count - 4) more" : ""
      let hint = advice.hint.map {
        "<p class=\"hint\">\(HTMLText.escaped($0.prefix(1).uppercased() + $0.dropFirst()))</p>"
      }
      return "<li><strong>\(PlanText.percent(advice.cost))</strong><div><p>"
        + "\(HTMLText.escaped(advice.message)) \(confidence(advice.confidence, advice.source))</p>"
        + "\(hint ?? "")<p class=\"names\">\(HTMLText.escaped(names.joined(separator: ", ") + more))"
        + "</p></div></li>"
    }
    let rest = plan.advice.count - PlanPage.mostAdvice
    return section(
      "advice", "Off the Neural Engine",
      "What keeps work off it, with the share of the time that the operations take.",
      "<ul class=\"advice\">\n\(entries.joined(separator: "\n"))\n</ul>"
        + (rest > 0 ? "\n<p class=\"note\">… and \(rest) more (--json lists all)</p>" : ""))
  }

  private func confidence(_ confidence: Confidence, _ source: String) -> String {
    "<span class=\"c c-\(confidence.rawValue)\" title=\"\(HTMLText.escaped(source))\">"
      + "\(confidence.rawValue)</span>"
  }

  // MARK: Pipelines

  /// The models of a pipeline.
  var children: String {
    if plan.children.isEmpty { return "" }
    let rows = plan.children.map { name, child in
      "<tr><td>\(HTMLText.escaped(name))</td><td>\(PlanText.time(child.latency))</td>"
        + "<td>\(child.operations.count)</td><td>\(PlanText.bytes(child.weightBytes))</td></tr>"
    }
    return section(
      "children", "Models of the pipeline", "They run one after the other.",
      "<div class=\"scroll\"><table><thead><tr><th>model</th><th>time</th><th>operations</th>"
        + "<th>weights</th></tr></thead><tbody>\(rows.joined(separator: "\n"))</tbody></table></div>"
    )
  }

  // MARK: Operations

  private static let mostRows = 1500

  /// The operations in their order; of many, those that take longest.
  var table: String {
    var shown = Array(plan.operations.enumerated())
    var note = ""
    if shown.count > PlanPage.mostRows {
      let sorted = shown.sorted {
        ($1.element.milliseconds, $0.offset) < ($0.element.milliseconds, $1.offset)
      }
      shown = sorted.prefix(PlanPage.mostRows).sorted { $0.offset < $1.offset }
      let rest = sorted.dropFirst(PlanPage.mostRows)
      note =
        "The \(shown.count) operations that take longest, in their order; the \(rest.count) others "
        + "take \(PlanText.percent(rest.reduce(0) { $0 + $1.element.cost })) of the time (--json lists "
        + "all)."
    }
    let titles = [
      ("#", "n"), ("name", ""), ("type", ""), ("unit", ""), ("time", "n"), ("cost", "n"),
      ("multiply-adds", "n"), ("read", "n"), ("written", "n"), ("bound", ""), ("why", ""),
    ]
    let head = titles.map { "<th\($0.1.isEmpty ? "" : " class=\"n\"")>\($0.0)</th>" }
    let rows = shown.map { row($0.element, $0.offset + 1) }
    return section(
      "operations", "All operations", note,
      "<div class=\"scroll\"><table class=\"sortable\"><thead><tr>\(head.joined())</tr></thead>\n"
        + "<tbody>\n\(rows.joined(separator: "\n"))\n</tbody></table></div>")
  }

  private func row(_ operation: Plan.Operation, _ place: Int) -> String {
    func cell(_ value: Double, _ text: String) -> String {
      "<td class=\"n\" data-v=\"\(value)\">\(text)</td>"
    }
    let others = operation.supported.map(\.title).joined(separator: ", ")
    return
      "<tr><td class=\"n\">\(place)</td><td class=\"name\">\(HTMLText.escaped(operation.name))</td>"
      + "<td>\(HTMLText.escaped(operation.type))</td>"
      + "<td class=\"u-\(operation.preferred.rawValue)-text\" title=\"can run on: \(others)\">"
      + "\(operation.preferred == .ne ? "NE" : operation.preferred.title)</td>"
      + cell(operation.milliseconds, PlanText.time(operation.milliseconds))
      + cell(operation.cost, PlanText.percent(operation.cost))
      + cell(operation.multiplyAdds, PlanText.count(operation.multiplyAdds))
      + cell(operation.bytesRead, PlanText.bytes(operation.bytesRead))
      + cell(operation.bytesWritten, PlanText.bytes(operation.bytesWritten))
      + "<td>\(HTMLText.escaped(operation.bound))</td>"
      + "<td class=\"why\">\(HTMLText.escaped(operation.reason)) "
      + "\(confidence(operation.confidence, operation.source))</td></tr>"
  }

  // MARK: Assumptions

  /// What the estimate takes for granted.
  var assumptions: String {
    var items = plan.notes.map { HTMLText.escaped($0.prefix(1).uppercased() + $0.dropFirst()) }
    for level in Confidence.allCases {
      let own = plan.operations.filter { $0.confidence == level }
      if own.isEmpty { continue }
      items.append(
        "\(Human.counted(own.count, "placement")) of confidence \(level.rawValue) "
          + "(\(level.title)), \(PlanText.percent(own.reduce(0) { $0 + $1.cost })) of the time")
    }
    items.append("The order is that of the program: one operation runs at a time")
    return section(
      "assumptions", "Assumptions and confidence", "",
      "<ul>\(items.map { "<li>\($0)</li>" }.joined(separator: "\n"))</ul>")
  }
}

extension Confidence {
  /// What the letter stands for.
  var title: String {
    switch self {
    case .documented: "documented by Apple"
    case .measured: "measured and published by others"
    case .reported: "reported by single authors"
    case .derived: "derived"
    }
  }
}
