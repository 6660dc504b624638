import ModelPlan

extension PlanPage {
  /// The operations in their order, a lane for each unit, as wide as they take time.
  var timeline: String {
    let lanes = ComputeUnit.allCases.reversed().filter { unit in
      plan.operations.contains { $0.preferred == unit }
    }
    let blocks = TimelineBlock.blocks(of: plan)
    guard let end = blocks.last.map({ $0.start + $0.length }), end > 0, !lanes.isEmpty else {
      return ""
    }
    let height = TimelineBlock.laneHeight * Double(lanes.count)
    let shapes = blocks.map { $0.shape(lanes: lanes, end: end, plan: plan) }
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
    let merged = blocks.count { $0.operations.count > 1 }
    let note =
      merged > 0
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
    let present = Set(plan.operations.map { OperationFamily(type: $0.type) })
    let entries = OperationFamily.allCases.filter(present.contains).map {
      "<span><i class=\"f-\($0.rawValue)\"></i>\($0.title)</span>"
    }
    let change =
      plan.transfers.isEmpty ? "" : "<span><i class=\"change\"></i>change of unit</span>"
    return "<p class=\"legend\">\(entries.joined())\(change)</p>"
  }
}

/// What an operation is about, for its colour.
enum OperationFamily: String, CaseIterable {
  case matrix
  case elements
  case reduction
  case layout
  case other

  init(type: String) {
    let has = { (parts: [String]) in parts.contains { type.contains($0) } }
    switch type {
    case _ where has(["conv", "linear", "matmul", "einsum", "attention", "lstm", "gru", "rnn"]):
      self = type == "linear_activation" ? .elements : .matrix
    case _ where has(["norm", "softmax", "reduce", "pool", "topk", "argsort", "cumsum"]):
      self = .reduction
    case _
    where has([
      "reshape", "transpose", "concat", "split", "slice", "gather", "scatter", "expand_dims",
      "squeeze", "stack", "pad", "tile", "shape", "space", "pixel", "resize", "upsample", "crop",
      "cast", "reverse", "state",
    ]):
      self = .layout
    case _
    where has([
      "add", "sub", "mul", "div", "relu", "elu", "sig", "tanh", "exp", "log", "sqrt", "abs", "sq",
      "pow", "clip", "silu", "softplus", "erf", "equal", "less", "greater", "select", "max", "min",
      "sin", "cos", "round", "floor", "ceil", "identity",
    ]):
      self = .elements
    default: self = .other
    }
  }

  var title: String {
    switch self {
    case .matrix: "convolutions and matrices"
    case .elements: "elementwise"
    case .reduction: "normalisation, pooling, reduction"
    case .layout: "layout"
    case .other: "other"
    }
  }
}

extension Plan.Transfer {
  /// Whether the change comes after an operation; names around that one may stand before its own.
  fileprivate func follows(_ operation: Plan.Operation) -> Bool {
    operation.name == after
      || operation.name.hasSuffix(
        "/" + (after.split(separator: "/").last.map(String.init) ?? after))
  }
}

/// A part of the timeline: an operation, neighbours on one unit too short to be seen alone, or a
/// change of unit.
private struct TimelineBlock {
  static let laneHeight = 44.0
  /// The share of the whole below which neighbours are put together.
  private static let shortest = 1.0 / 700

  var start: Double
  var length: Double
  /// Positions of operations in the plan.
  var operations: Range<Int>
  var unit: ComputeUnit
  /// The change of unit that the block is; nil for operations.
  var change: Plan.Transfer?

  static func blocks(of plan: Plan) -> [TimelineBlock] {
    let total =
      plan.operations.reduce(0) { $0 + $1.milliseconds }
      + plan.transfers.reduce(0) { $0 + $1.milliseconds }
    var blocks: [TimelineBlock] = []
    var time = 0.0
    var transfers = plan.transfers[...]
    var last: Plan.Operation?
    for (index, operation) in plan.operations.enumerated() {
      var isNew = last?.preferred != operation.preferred
      if let transfer = transfers.first, isNew, let last, transfer.follows(last) {
        transfers.removeFirst()
        blocks.append(
          TimelineBlock(
            start: time, length: transfer.milliseconds, operations: index..<index,
            unit: transfer.to, change: transfer))
        time += transfer.milliseconds
      }
      let length = operation.milliseconds
      if let open = blocks.last {
        let isShort = min(open.length, length) < total * shortest
        isNew =
          isNew || open.change != nil || !isShort || open.length + length > total * 4 * shortest
      }
      if isNew || blocks.isEmpty {
        blocks.append(
          TimelineBlock(
            start: time, length: length, operations: index..<index + 1, unit: operation.preferred))
      } else {
        blocks[blocks.count - 1].length += length
        blocks[blocks.count - 1].operations =
          blocks[blocks.count - 1].operations.lowerBound..<index + 1
      }
      time += length
      last = operation
    }
    return blocks
  }

  func shape(lanes: [ComputeUnit], end: Double, plan: Plan) -> String {
    let x = HTMLText.number(start / end * 1000)
    // A block that nothing can be seen of would also be one that nothing can point at.
    let width = HTMLText.number(max(length / end * 1000, 0.4))
    if let change {
      let height = HTMLText.number(Self.laneHeight * Double(lanes.count))
      return "<rect class=\"change\" x=\"\(x)\" y=\"0\" width=\"\(width)\" height=\"\(height)\">"
        + "<title>\(change.from.title) → \(change.to.title): \(PlanText.time(change.milliseconds)), "
        + "\(PlanText.bytes(change.bytes)) cross</title></rect>"
    }
    let lane = Double(lanes.firstIndex(of: unit) ?? 0)
    let y = HTMLText.number(lane * Self.laneHeight + 5)
    let longest = operations.max {
      plan.operations[$0].milliseconds < plan.operations[$1].milliseconds
    }
    let type = longest.map { plan.operations[$0].type } ?? ""
    return
      "<rect class=\"f-\(OperationFamily(type: type).rawValue)\" x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" "
      + "height=\"\(HTMLText.number(Self.laneHeight - 10))\"><title>\(title(plan))</title></rect>"
  }

  private func title(_ plan: Plan) -> String {
    let own = plan.operations[operations]
    let lines = own.prefix(own.count > 6 ? 5 : 6).map { operation in
      "\(InspectText.shortened(operation.name, to: 60)) (\(operation.type)), "
        + "\(PlanText.time(operation.milliseconds))"
    }
    var text = lines.joined(separator: "\n")
    if own.count > 6 { text += "\n… and \(own.count - 5) more, \(PlanText.time(length)) together" }
    if own.count == 1, let only = own.first {
      text += "\n\(unit.title), \(only.bound)\n\(only.reason) [\(only.confidence.rawValue)]"
    }
    return HTMLText.escaped(text)
  }
}
