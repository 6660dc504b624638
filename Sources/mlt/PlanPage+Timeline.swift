import ModelPlan

extension PlanPage {
  /// The operations in their order, a lane for each unit, as wide as they take time.
  var timeline: String {
    let lanes = ComputeUnit.allCases.reversed().filter { unit in
      plan.operations.contains { $0.preferred == unit }
    }
    let (blocks, dense) = TimelineBlock.condensed(TimelineBlock.blocks(of: plan))
    let end = max(blocks.last?.end ?? 0, dense.last?.end ?? 0)
    guard end > 0, !lanes.isEmpty else { return "" }
    let height = TimelineBlock.laneHeight * Double(lanes.count)
    let shapes =
      blocks.map { $0.shape(lanes: lanes, end: end, plan: plan) }
      + dense.flatMap { $0.shapes(lanes: lanes, end: end) }
    let lines = lanes.indices.dropFirst().map { index in
      let y = HTMLText.number(Double(index) * TimelineBlock.laneHeight)
      return "<path class=\"grid\" d=\"M0 \(y)H1000\"/>"
    }
    let names = lanes.map { "<span class=\"u-\($0.rawValue)-text\">\($0.title)</span>" }
    let body = """
      <div class="timeline">
      <div class="lanes" style="height:\(HTMLText.number(height))px">\(names.joined())</div>
      <div class="track">
      <svg viewBox="0 0 1000 \(HTMLText.number(height))" preserveAspectRatio="none" \
      style="height:\(HTMLText.number(height))px" role="img" \
      aria-label="Operations by unit over time">\(lines.joined())
      \(shapes.joined(separator: "\n"))
      </svg>
      <div class="ticks">\(ticks(end))</div>
      </div>
      </div>
      \(legend)
      """
    let note =
      !dense.isEmpty
      ? "There are too many to show each: the height of a block is the share of its unit."
      : blocks.contains { $0.operations.count > 1 }
        ? "Neighbours too short to see share a block; point at one for its operations." : ""
    return section(
      "timeline", "Timeline", "From left to right as the operations run. \(note)", body)
  }

  private func ticks(_ end: Double) -> String {
    let scale = PlotScale.steps(from: 0, to: end, count: 5)
    return scale.map { value in
      // The last marks stand on the left of their place, within the page.
      let side = value > end * 0.84 ? "class=\"last\" " : ""
      return "<span \(side)style=\"left:\(HTMLText.number(value / end * 100))%\">"
        + "\(PlanText.time(value))</span>"
    }.joined()
  }

  private var legend: String {
    let present = Set(Set(plan.operations.map(\.type)).map { OperationFamily(type: $0) })
    let entries = OperationFamily.allCases.filter(present.contains).map {
      "<span><i class=\"f-\($0.rawValue)\"></i>\($0.title)</span>"
    }
    let change =
      plan.transfers.isEmpty ? "" : "<span><i class=\"change\"></i>change of unit</span>"
    return "<p class=\"legend\">\(entries.joined())\(change)</p>"
  }
}
