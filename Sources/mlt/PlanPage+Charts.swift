import ModelPlan

extension PlanPage {
  /// The roofline and the memory, side by side where there is room.
  var charts: String {
    let both = [roofline, memory].filter { !$0.isEmpty }
    return both.isEmpty ? "" : "<div class=\"pair\">\n\(both.joined(separator: "\n"))\n</div>"
  }

  // MARK: Roofline

  private struct Point {
    var intensity: Double
    var rate: Double
    var operation: Plan.Operation

    /// The place of an operation; nil for one of another unit, or without multiply-adds.
    init?(_ operation: Plan.Operation, _ roof: Plan.Roof) {
      let beside = roof.weightBytesPerSecond == nil ? 0 : operation.weightBytes
      let bytes = operation.bytesRead + operation.bytesWritten - beside
      guard operation.preferred == roof.unit, operation.multiplyAdds > 0,
        operation.milliseconds > 0, bytes > 0
      else { return nil }
      intensity = 2 * operation.multiplyAdds / bytes
      rate = 2 * operation.multiplyAdds / (operation.milliseconds / 1000)
      self.operation = operation
    }
  }

  /// The unit that takes the most time.
  private var mainUnit: ComputeUnit? {
    let times = ComputeUnit.allCases.map { unit in
      (
        unit,
        plan.operations.filter { $0.preferred == unit }.reduce(0) { $0 + $1.milliseconds }
      )
    }
    return times.filter { $0.1 > 0 }.max { $0.1 < $1.1 }?.0
  }

  private static let mostPoints = 600

  private var roofline: String {
    guard let unit = mainUnit, let roof = plan.roofs.first(where: { $0.unit == unit }),
      roof.operationsPerSecond > 0
    else { return "" }
    let all = plan.operations.compactMap { operation in
      Point(operation, roof)
    }.sorted {
      ($1.operation.milliseconds, $0.operation.name) < (
        $0.operation.milliseconds, $1.operation.name
      )
    }
    if all.isEmpty { return "" }
    let points = all.prefix(PlanPage.mostPoints)
    let rest =
      all.count > points.count
      ? " The \(points.count) that take longest of \(all.count) are shown." : ""
    return section(
      "roofline", "Roofline of the \(unit.title)",
      "Operations per byte\(roof.weightBytesPerSecond == nil ? "" : " of activations") against the "
        + "rate reached, on logarithmic scales, of operations with multiply-adds. A point on the slope "
        + "waits for memory, one on the level for the multipliers, one far below both for "
        + "\(roof.weightBytesPerSecond == nil ? "its start" : "its start or its weights")." + rest,
      rooflinePlot(points, roof))
  }

  private func rooflinePlot(_ points: ArraySlice<Point>, _ roof: Plan.Roof) -> String {
    let bandwidth = roof.bytesPerSecond
    let ridge = roof.operationsPerSecond / max(bandwidth, 1)
    let intensities = points.map(\.intensity) + [ridge * 4]
    let rates = points.map(\.rate) + [roof.operationsPerSecond * 1.5]
    let x = PlotScale(
      low: PlotScale.decade(intensities.min() ?? 1, .down),
      high: PlotScale.decade(intensities.max() ?? 1, .up),
      places: PlotFrame.across, isLogarithmic: true)
    let y = PlotScale(
      low: PlotScale.decade(rates.min() ?? 1, .down), high: PlotScale.decade(rates.max() ?? 1, .up),
      places: PlotFrame.upwards, isLogarithmic: true)
    var frame = PlotFrame(
      x: x, y: y, label: "Roofline", horizontal: "operations per byte",
      vertical: "operations per second")
    for value in x.decades { frame.tick(x: value, PlanPage.power(value)) }
    for value in y.decades { frame.tick(y: value, PlanPage.power(value)) }
    let level = roof.operationsPerSecond
    // The slope starts where it enters the frame and ends at the level.
    let start = max(x.low, y.low / max(bandwidth, 1))
    frame.line(
      [(start, start * bandwidth), (ridge, level), (x.high, level)], "roof",
      "\(PlanPage.rate(bandwidth)), \(PlanPage.flops(level))")
    for point in points.reversed() {
      let operation = point.operation
      frame.point(
        point.intensity, point.rate, "b-\(operation.bound)",
        "\(operation.name) (\(operation.type))\n\(PlanText.time(operation.milliseconds)), "
          + "\(operation.bound), \(PlanPage.flops(point.rate)), "
          + "\(Human.significant(point.intensity)) operations per byte")
    }
    let present = Set(points.map(\.operation.bound))
    let legend = ["compute", "memory", "overhead"].filter(present.contains).map {
      "<span><i class=\"b-\($0)\"></i>bound by \($0 == "overhead" ? "its start" : $0)</span>"
    }
    let weights = roof.weightBytesPerSecond.map { ", weights beside \(PlanPage.rate($0))" }
    return frame.svg + "\n<p class=\"legend\">\(legend.joined())<span>roof: "
      + "\(PlanPage.flops(level)), \(PlanPage.rate(bandwidth))\(weights ?? "")</span></p>"
  }

  private static func power(_ value: Double) -> String {
    guard value >= 1 else { return HTMLText.number(value, 6) }
    let parts = PlanText.count(value).split(separator: " ")
    let number = parts.first.flatMap { Double($0) } ?? value
    return ([HTMLText.number(number)] + parts.dropFirst().map(String.init)).joined(separator: " ")
  }

  private static func rate(_ value: Double) -> String { PlanText.bytes(value) + "/s" }
  private static func flops(_ value: Double) -> String {
    PlanText.count(value) + (value < 10_000 ? " op/s" : "op/s")
  }

  // MARK: Memory

  private static let mostSteps = 500

  private var memory: String {
    let live = plan.liveBytes
    guard live.count > 1, let peak = live.max(), peak > 0, let place = live.firstIndex(of: peak)
    else { return "" }
    // Each step is the most of the operations that it stands for.
    let size = (live.count + PlanPage.mostSteps - 1) / PlanPage.mostSteps
    let steps = stride(from: 0, to: live.count, by: size).map { start in
      (start, live[start..<min(start + size, live.count)].max() ?? 0)
    }
    let x = PlotScale(
      low: 0, high: Double(live.count), places: PlotFrame.across)
    let y = PlotScale(low: 0, high: peak * 1.15, places: PlotFrame.upwards)
    var frame = PlotFrame(
      x: x, y: y, label: "Activations in memory", horizontal: "operations in their order",
      vertical: "bytes of activations")
    for value in PlotScale.steps(from: 0, to: Double(live.count), count: 5) {
      frame.tick(x: value, Human.fixed(value, 0))
    }
    for value in PlotScale.steps(from: 0, to: peak * 1.15, count: 5) {
      frame.tick(y: value, PlanText.bytes(value))
    }
    frame.area(steps.map { (Double($0.0), $0.1) }, end: Double(live.count), "memory")
    let name = place < plan.operations.count ? plan.operations[place].name : ""
    frame.point(
      Double(place) + 0.5, peak, "peak", "\(PlanText.bytes(peak)) at \(name)", radius: 6)
    frame.note(Double(place) + 0.5, peak, PlanText.bytes(peak))
    return section(
      "memory", "Memory",
      "Activations that live while each operation runs, beside \(PlanText.bytes(plan.weightBytes)) "
        + "of weights. The most, \(PlanText.bytes(peak)), at "
        + "\(InspectText.shortened(name, to: 60)).", frame.svg)
  }
}
