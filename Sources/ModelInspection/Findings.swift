import ModelGraph
import ModelTensors

/// Remarks on a model, derived from its facts.
enum Findings {
  static func findings(of report: ModelReport, _ model: Model) -> [String] {
    versions(report) + opsets(report) + values(report) + waste(report, model) + code(model)
      + trees(model)
  }

  private static func versions(_ report: ModelReport) -> [String] {
    let (declared, needed) = (report.specificationVersion, report.neededVersion)
    let label = MinimumOS.label(specificationVersion: needed)
    if MinimumOS(specificationVersion: declared) == nil {
      return [
        "specification version \(declared) is not known; its content needs \(needed) (\(label))"
      ]
    }
    let own = MinimumOS.label(specificationVersion: declared)
    if declared > needed {
      return [
        "declares specification version \(declared) (\(own)); what it holds needs only \(needed) "
          + "(\(label))"
      ]
    }
    if declared < needed {
      let reason = report.versionReasons.first.map { ": \($0.reason)" } ?? ""
      return [
        "declares specification version \(declared) (\(own)), but needs \(needed) "
          + "(\(label))\(reason)"
      ]
    }
    return []
  }

  /// Functions whose opset belongs to another version than the one declared.
  private static func opsets(_ report: ModelReport) -> [String] {
    report.functions.compactMap { function in
      guard let opset = function.opset else { return nil }
      guard let version = Opset.specificationVersion(opset) else {
        return "function \(function.name) is of the opset \"\(opset)\", which is not known"
      }
      if version == report.specificationVersion { return nil }
      return "function \(function.name) is of opset \(opset) (specification version \(version)), "
        + "the model declares \(report.specificationVersion)"
    }
  }

  /// What the values say, where they were read.
  private static func values(_ report: ModelReport) -> [String] {
    let measured = report.weights.filter { $0.statistics != nil }
    var findings: [String] = []
    func add(_ weights: [WeightFact], _ one: String, _ several: String) {
      guard let first = weights.first else { return }
      findings.append(
        weights.count == 1
          ? "weight \(first.name) \(one)"
          : "\(weights.count) weights \(several) (\(first.name) …)")
    }
    add(
      measured.filter { $0.statistics?.finite == false }, "holds infinite values or NaN",
      "hold infinite values or NaN")
    add(
      measured.filter { $0.statistics?.uniqueValues == 1 && $0.parameters >= 1024 },
      "holds one value only", "hold one value only")
    add(
      measured.filter {
        ($0.statistics?.sparsity ?? 0) > 0.5 && $0.encoding == "dense" && $0.parameters >= 2048
      }, "is mostly zeros and stored dense", "are mostly zeros and stored dense")
    return findings
  }

  /// Bytes of weight files that no constant refers to.
  private static func waste(_ report: ModelReport, _ model: Model) -> [String] {
    var sizes: [BlobReference: Int] = [:]
    model.forEachWeight { sizes[$0.reference] = $0.source.byteCount }
    guard !sizes.isEmpty else { return [] }
    // A record is 64 bytes of metadata and data padded to 64.
    let used = sizes.values.reduce(64) { $0 &+ 64 &+ ($1 &+ 63) / 64 * 64 }
    let unused = report.sizes.weightBytes &- used
    guard unused > 1 << 16, unused > report.sizes.weightBytes / 100 else { return [] }
    let size = unused < 1_000_000 ? "\(unused / 1000) kB" : "\(unused / 1_000_000) MB"
    return ["\(size) of the weight files belong to no constant of the model"]
  }

  private static func code(_ model: Model) -> [String] {
    var classes: [String] = []
    func visit(_ model: Model) {
      switch model.kind {
      case .neuralNetwork(let network):
        for layer in network.layers {
          if let name = layer.customClassName, !classes.contains(name) { classes.append(name) }
        }
      case .pipeline(let pipeline): pipeline.models.forEach(visit)
      case .other(let opaque) where opaque.typeName == "customModel":
        if let fields = try? ModelDetails.custom(opaque), let name = fields.first?.value.text {
          classes.append(name)
        }
      default: break
      }
    }
    visit(model)
    return classes.isEmpty
      ? [] : ["needs code in the application: \(classes.joined(separator: ", "))"]
  }

  private static func trees(_ model: Model) -> [String] {
    guard case .other(let opaque) = model.kind, opaque.typeName.hasPrefix("treeEnsemble"),
      let fields = try? TreeDetails.details(of: opaque)
    else { return [] }
    let faults = ["missing_children", "unreached_nodes", "revisited_nodes"]
    return fields.filter { faults.contains($0.key) }.map { key, value in
      "the trees are damaged: \(value.integer ?? 0) "
        + key.split(separator: "_").joined(separator: " ")
    }
  }
}
