import ModelGraph
import ModelInspection
import ModelTensors

/// A report for a person: the important first, columns aligned, human units.
struct InspectText {
  var report: ModelReport
  /// Whether every weight is listed, with statistics.
  var listsWeights: Bool
  var operations: [OperationFact]?

  var lines: [String] {
    var sections: [[String]] = [head, findings]
    for function in report.functions { sections.append(self.function(function)) }
    sections.append(children)
    sections.append(details)
    sections.append(weights)
    sections.append(reasons)
    sections.append(metadata)
    return Array(sections.filter { !$0.isEmpty }.joined(separator: [""]))
  }

  // MARK: Head

  private var head: [String] {
    var path = report.path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    let name = path.split(separator: "/").last.map(String.init) ?? path
    var facts = [report.modelType + (report.isUpdatable ? " (updatable)" : "")]
    if report.container != .package && report.container != .specification {
      facts.append(report.container.rawValue)
    }
    let sizes = report.sizes
    facts.append(
      Human.bytes(sizes.totalBytes)
        + (sizes.weightBytes > 0 ? " (weights \(Human.bytes(sizes.weightBytes)))" : ""))
    if report.parameters.count > 0 {
      facts.append("\(Human.count(report.parameters.count)) parameters")
    }
    var lines = [name + "  " + facts.joined(separator: ", ")]
    lines.append("  " + minimumOS)
    if !report.metadata.shortDescription.isEmpty {
      lines += wrapped(oneLine(report.metadata.shortDescription), width: 96).map { "  " + $0 }
    }
    return lines
  }

  private var minimumOS: String {
    let names = [
      "ios": "iOS", "macos": "macOS", "watchos": "watchOS", "tvos": "tvOS", "visionos": "visionOS",
    ]
    let systems = report.minimumOS.systems.compactMap { system, version in
      version.map { version in
        let short = version.hasSuffix(".0") ? String(version.dropLast(2)) : version
        return "\(names[system] ?? system) \(short)"
      }
    }
    let needs = systems.isEmpty ? "" : ": needs " + systems.joined(separator: ", ")
    return "specification version \(report.specificationVersion)\(needs)"
  }

  private var findings: [String] { report.findings.map { "  ! " + $0 } }

  // MARK: Functions

  private func function(_ function: FunctionFact) -> [String] {
    var lines: [String] = []
    if function.opset != nil {
      let isMarked = report.functions.count > 1 && function.isDefault
      lines.append(
        "Function \(function.name)\(isMarked ? " (default)" : "")"
          + (function.opset.map { ", opset \($0)" } ?? ""))
    } else {
      lines.append("Interface")
    }
    var table = Table(alignments: [.left, .left, .left, .left, .left])
    for (role, features) in [
      ("input", function.inputs), ("state", function.states), ("output", function.outputs),
    ] {
      for row in rows(features) { table.add([role] + row) }
    }
    lines += table.lines()
    if function.operationCount > 0 {
      let noun = function.opset == nil ? "layer" : "operation"
      lines.append("")
      lines.append("  " + Human.counted(function.operationCount, noun))
      lines += InspectText.columns(function.operations.map { "\($0.count) \($0.type)" })
    }
    if let operations {
      lines += listing(operations.filter { $0.function == function.name })
    }
    return lines
  }

  /// A row for each feature; of a long run of one type the first few and the last.
  private func rows(_ features: [FeatureFact]) -> [[String]] {
    var rows: [[String]] = []
    var start = 0
    while start < features.count {
      let type = cells(features[start]).dropFirst()
      var end = start + 1
      while end < features.count, cells(features[end]).dropFirst() == type { end += 1 }
      if end - start > 12 {
        rows += features[start..<(start + 3)].map(cells)
        rows.append(["… \(end - start - 4) more"] + type)
        rows.append(cells(features[end - 1]))
      } else {
        rows += features[start..<end].map(cells)
      }
      start = end
    }
    return rows
  }

  private func cells(_ feature: FeatureFact) -> [String] {
    var type = feature.kind.rawValue
    switch feature.kind {
    case .array, .state, .image: type += " \(feature.dtype)"
    case .dictionary, .sequence: type += feature.dtype.isEmpty ? "" : " of \(feature.dtype)"
    default: break
    }
    let description = oneLine(feature.description)
    let short = description.count > 60 ? description.prefix(59) + "…" : description
    return [
      feature.name, type + (feature.isOptional ? "?" : ""),
      InspectText.shape(of: feature), short,
    ]
  }

  private func listing(_ operations: [OperationFact]) -> [String] {
    var table = Table(
      ["type", "name", "result", "inputs"], alignments: [.left, .left, .left, .left])
    for operation in operations {
      let inputs = operation.inputs.map { "\($0.name)=\($0.value)" }
      table.add([
        String(repeating: "  ", count: operation.depth) + operation.type,
        InspectText.shortened(operation.name, to: 48),
        InspectText.cut(operation.outputs.map(result).joined(separator: ", "), to: 60),
        InspectText.cut(inputs.joined(separator: " "), to: 140),
      ])
    }
    return operations.isEmpty ? [] : [""] + table.lines()
  }

  private func result(_ output: OperationFact.Output) -> String {
    guard let type = output.dtype else { return output.name }
    if ["list", "tuple", "dictionary"].contains(type) { return type }
    return "\(type)[\(output.shape.map { $0.map(String.init) ?? "?" }.joined(separator: ", "))]"
  }

  // MARK: Versions, metadata

  private var reasons: [String] {
    if report.versionReasons.isEmpty { return [] }
    var table = Table(alignments: [.right, .left, .left])
    var last: Int?
    let limit = 12
    for reason in report.versionReasons.prefix(limit) {
      let isNew = reason.version != last
      table.add([
        isNew ? "\(reason.version)" : "",
        isNew ? MinimumOS.label(specificationVersion: reason.version) : "", reason.reason,
      ])
      last = reason.version
    }
    let rest = report.versionReasons.count - limit
    return ["What asks for which specification version"] + table.lines()
      + (rest > 0 ? ["  … and \(rest) more (--json lists all)"] : [])
  }

  private var metadata: [String] {
    var table = Table(alignments: [.left, .left])
    let metadata = report.metadata
    for (name, value) in [
      ("author", metadata.author), ("version", metadata.version), ("license", metadata.license),
    ] where !value.isEmpty {
      table.add([name, InspectText.cut(oneLine(value), to: 90)])
    }
    for (name, value) in metadata.userDefined {
      table.add([name, InspectText.cut(oneLine(value), to: 90)])
    }
    return table.isEmpty ? [] : ["Metadata"] + table.lines()
  }

  /// The text on one line.
  func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}
