import ModelPlan

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
struct TimelineBlock {
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

  var end: Double { start + length }

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
    // An edge around a narrow block would cover it.
    let edge = length / end * 1000 > 2.5 ? " edge" : ""
    return
      "<rect class=\"f-\(OperationFamily(type: type).rawValue)\(edge)\" x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" "
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

/// A part of a timeline of very many operations: the time that each unit takes in it.
struct DenseBlock {
  var start: Double
  var length = 0.0
  var times: [ComputeUnit: Double] = [:]
  var operations = 0
  var changes = 0

  var end: Double { start + length }

  mutating func add(_ block: TimelineBlock) {
    length += block.length
    if block.change != nil { changes += 1 } else { times[block.unit, default: 0] += block.length }
    operations += block.operations.count
  }

  func shapes(lanes: [ComputeUnit], end: Double) -> [String] {
    lanes.enumerated().compactMap { lane, unit in
      guard let time = times[unit], time > 0, length > 0 else { return nil }
      let height = max((TimelineBlock.laneHeight - 10) * time / length, 1)
      let bottom = Double(lane + 1) * TimelineBlock.laneHeight - 5
      return "<rect class=\"u-\(unit.rawValue)-fill\" x=\"\(HTMLText.number(start / end * 1000))\" "
        + "y=\"\(HTMLText.number(bottom - height))\" "
        + "width=\"\(HTMLText.number(length / end * 1000))\" "
        + "height=\"\(HTMLText.number(height))\"><title>\(unit.title): \(PlanText.time(time)) of "
        + "\(PlanText.time(length))\n\(Human.counted(operations, "operation")), "
        + "\(Human.counted(changes, "change")) of unit</title></rect>"
    }
  }
}

extension TimelineBlock {
  /// Blocks to be shown each, or where they are too many, what stands for them.
  static func condensed(
    _ blocks: [TimelineBlock]
  ) -> (blocks: [TimelineBlock], dense: [DenseBlock]) {
    guard blocks.count > 2500, let end = blocks.last?.end else { return (blocks, []) }
    var dense: [DenseBlock] = []
    for block in blocks {
      if let last = dense.last, last.length < end / 500 {
        dense[dense.count - 1].add(block)
      } else {
        var next = DenseBlock(start: block.start)
        next.add(block)
        dense.append(next)
      }
    }
    return ([], dense)
  }
}
