import ModelFiles
import ModelGraph
import ModelInspection

/// Plans of models that hold no operations: trees, linear and other classic models, which run on the
/// CPU.
struct ClassicPlan {
  let planner: Planner

  /// The plan of a model kept whole: one operation, its work by the counts of its parts.
  func plan(_ model: Model) throws -> Plan {
    let type = model.kind.typeName
    let facts = ModelReport.ContainerFacts(
      path: "", kind: .specification,
      sizes: SizeFact(totalBytes: 0, specificationBytes: 0, weightBytes: 0))
    let report = try ModelReport(model: model, container: facts)
    let work = ClassicPlan.work(type, report.details)
    let milliseconds = work.steps * ClassicPlan.stepNanoseconds * 1e-6
    var payload = 0.0
    if case .other(let opaque) = model.kind { payload = Double(opaque.payload.count) }
    let operation = Plan.Operation(
      name: type, type: type, preferred: .cpu, supported: [.cpu], cost: 1,
      milliseconds: milliseconds, multiplyAdds: 0, bytesRead: payload, weightBytes: payload,
      bytesWritten: 0,
      bound: "compute", reason: "\(type) runs on the CPU: \(work.reason)",
      source: "Apple's documentation names no other unit for it", confidence: .derived, rule: nil)
    return Plan(
      function: "main", device: planner.device.title, chip: planner.device.chip.name,
      os: planner.device.os, units: planner.units.rawValue, latency: milliseconds,
      range: (milliseconds * 0.2, milliseconds * 5), multiplyAdds: 0, weightBytes: payload,
      peakActivationBytes: 0, liveBytes: [0], operations: [operation], transfers: [], advice: [],
      notes: [
        "times of classic models count their steps at \(Int(ClassicPlan.stepNanoseconds)) ns"
      ],
      roofs: planner.roofs)
  }

  /// Nanoseconds of a comparison or product in memory that is not in the nearest cache.
  private static let stepNanoseconds = 5.0

  /// Steps of one prediction.
  private static func work(
    _ type: String, _ details: NamedList<Detail>
  ) -> (steps: Double, reason: String) {
    func count(_ key: String) -> Double { Double(details[key]?.integer ?? 0) }
    if type.hasPrefix("treeEnsemble") {
      let trees = count("trees")
      var depth = 1.0
      if case .number(let mean) = details["mean_depth"] { depth = max(mean, 1) }
      return (trees * depth, "\(Int(trees)) trees, \(Int(count("nodes"))) nodes")
    }
    if type.hasPrefix("supportVector") {
      let vectors = count("support_vectors")
      return (vectors * max(count("dimensions"), 1), "\(Int(vectors)) support vectors")
    }
    if type == "kNearestNeighborsClassifier" {
      let points = count("points")
      return (points * max(count("dimensions"), 1), "\(Int(points)) points")
    }
    if type.hasPrefix("glm") {
      return (count("coefficients"), "\(Int(count("coefficients"))) coefficients")
    }
    return (100, "a few steps")
  }
}
