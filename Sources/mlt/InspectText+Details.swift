import ModelGraph
import ModelInspection

extension InspectText {
  /// What the model kind has to tell.
  var details: [String] {
    // The weights' table and the list of layers tell these.
    let known = ["layers", "weight_storage"]
    let fields = NamedList(report.details.entries.filter { !known.contains($0.key) })
    let table = InspectText.table(fields, indent: "")
    return table.isEmpty ? [] : ["Details"] + table
  }

  /// The models of a pipeline, what they are and what feeds them.
  var children: [String] {
    if report.children.isEmpty { return [] }
    return ["Pipeline"] + lines(report.children, indent: "  ")
  }

  private func lines(_ children: [ChildFact], indent: String) -> [String] {
    children.enumerated().flatMap { index, child -> [String] in
      var lines: [String] = []
      let noun = child.modelType == "mlProgram" ? "operation" : "layer"
      let layers = child.operationCount > 0 ? ", " + Human.counted(child.operationCount, noun) : ""
      let updatable = child.isUpdatable ? ", updatable" : ""
      lines.append("\(indent)\(index + 1). \(child.name): \(child.modelType)\(layers)\(updatable)")
      let inner = indent + "   "
      var table = Table(alignments: [.left, .left, .left, .left])
      for (input, source) in zip(child.inputs, child.sources) {
        let origin =
          switch source.origin {
          case .pipeline: "from the pipeline's input"
          case .child(let name): "from \(name)"
          case .nothing: input.isOptional ? "optional" : "from nowhere"
          }
        table.add(["takes", input.name, InspectText.type(of: input), origin])
      }
      for output in child.outputs {
        table.add(["yields", output.name, InspectText.type(of: output), ""])
      }
      lines += table.lines(indent: inner.count)
      // What a vectorizer joins stands above.
      let fields = NamedList(child.details.entries.filter { $0.key != "inputs" })
      lines += InspectText.table(fields, indent: inner)
      return lines + self.lines(child.children, indent: inner)
    }
  }

  /// Fields by name, nested ones indented.
  private static func table(_ fields: NamedList<Detail>, indent: String) -> [String] {
    var rows: [(name: String, value: String)] = []
    collect(fields, prefix: "", into: &rows)
    var table = Table(alignments: [.left, .left])
    for row in rows { table.add([row.name, row.value]) }
    return table.lines(indent: max(2, indent.count))
  }

  private static func collect(
    _ fields: NamedList<Detail>, prefix: String, into rows: inout [(name: String, value: String)]
  ) {
    for (key, value) in fields {
      let name = prefix + key.split(separator: "_").joined(separator: " ")
      switch value {
      case .none: continue
      case .text("rank5") where key.hasSuffix("mapping"): continue
      case .object(let members) where isFlat(members):
        rows.append((name, inline(members)))
      case .object(let members): collect(members, prefix: name + ", ", into: &rows)
      case .list(let elements) where elements.contains(where: isNamed):
        for element in elements.prefix(20) { rows.append((name, text(element))) }
        if elements.count > 20 { rows.append((name, "… \(elements.count - 20) more")) }
      default: rows.append((name, text(value)))
      }
    }
  }

  private static func isNamed(_ detail: Detail) -> Bool {
    detail["type"] != nil || detail["name"] != nil
  }

  private static func isFlat(_ members: NamedList<Detail>) -> Bool {
    members.values.allSatisfy { if case .object = $0 { false } else { true } }
  }

  private static func inline(_ members: NamedList<Detail>) -> String {
    // Labels read best as their number and the first of them.
    if let count = members["count"]?.integer, let first = members["first"]?.list {
      let names = first.map(text).joined(separator: ", ")
      let type = members["type"]?.text ?? ""
      return "\(count) \(type): " + cut(names + (count > first.count ? ", …" : ""), to: 90)
    }
    if let standard = members["default"] {
      if let range = members["range"]?.list, range.count == 2 {
        return "\(text(standard)) (\(text(range[0])) to \(text(range[1])))"
      }
      if let allowed = members["allowed"]?.list {
        return "\(text(standard)) (one of \(allowed.map(text).joined(separator: ", ")))"
      }
      if members.count == 1 { return text(standard) }
    }
    return members.compactMap { key, value in
      if value == .none || (key.hasSuffix("bias") && value == .number(0)) { return nil }
      let name = key.split(separator: "_").joined(separator: " ")
      return key == "type" || key == "name" ? text(value) : "\(name) \(text(value))"
    }.joined(separator: ", ")
  }

  private static func text(_ detail: Detail) -> String {
    switch detail {
    case .text(let text): text
    case .integer(let number): String(number)
    case .number(let number): Human.significant(number)
    case .bool(let flag): flag ? "yes" : "no"
    case .list(let elements):
      cut(
        elements.prefix(20).map(text).joined(separator: ", ") + (elements.count > 20 ? ", …" : ""),
        to: 100)
    case .object(let members): inline(members)
    case .none: "-"
    }
  }
}
