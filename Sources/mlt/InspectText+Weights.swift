import ModelInspection
import ModelTensors

extension InspectText {
  /// The weights by encoding, then the largest or all of them.
  var weights: [String] {
    if report.weights.isEmpty { return [] }
    let totals = report.parameters
    var title = "Weights: \(Human.count(totals.count)) parameters in "
    title += Human.counted(report.weights.count, "tensor")
    title += ", \(Human.bytes(totals.storedBytes))"
    if let bits = totals.bitsPerParameter {
      title += ", \(Human.fixed(bits, 2)) bits per parameter"
    }
    return [title] + encodings + [""] + list
  }

  private var encodings: [String] {
    struct Sum {
      var weights = 0
      var parameters = 0
      var bytes = 0
    }
    var sums: [String: Sum] = [:]
    for weight in report.weights {
      let name = InspectText.encoding(of: weight)
      sums[name, default: Sum()].weights += 1
      sums[name, default: Sum()].parameters += weight.parameters
      sums[name, default: Sum()].bytes += weight.storedBytes
    }
    var table = Table(
      ["encoding", "weights", "parameters", "stored", "bits"],
      alignments: [.left, .right, .right, .right, .right])
    for (name, sum) in sums.sorted(by: { ($1.value.bytes, $0.key) < ($0.value.bytes, $1.key) }) {
      let bits = sum.parameters > 0 ? Double(sum.bytes) * 8 / Double(sum.parameters) : 0
      table.add([
        name, String(sum.weights), Human.count(sum.parameters), Human.bytes(sum.bytes),
        Human.fixed(bits, 2),
      ])
    }
    return table.lines()
  }

  private var list: [String] {
    let limit = 10
    let sorted = report.weights.enumerated().sorted {
      ($1.element.storedBytes, $0.offset) < ($0.element.storedBytes, $1.offset)
    }.map(\.element)
    let shown = listsWeights ? report.weights : Array(sorted.prefix(limit))
    var header = ["name", "shape", "encoding", "stored", "bits"]
    var alignments: [Table.Alignment] = [.left, .left, .left, .right, .right]
    if listsWeights {
      header += ["min", "max", "mean", "std", "zeros", "distinct"]
      alignments += Array(repeating: .right, count: 6)
    }
    header.append("used by")
    alignments.append(.left)
    var table = Table(header, alignments: alignments)
    for weight in shown {
      var cells = [
        InspectText.shortened(weight.name, to: 60), InspectText.shape(weight.shape),
        InspectText.encoding(of: weight),
        Human.bytes(weight.storedBytes),
        weight.bitsPerParameter.map { Human.fixed($0, 2) } ?? "",
      ]
      if listsWeights { cells += InspectText.cells(weight.statistics) }
      table.add(cells + [InspectText.consumers(of: weight)])
    }
    let rest = report.weights.count - shown.count
    return table.lines() + (rest > 0 ? ["  … and \(rest) smaller ones (--weights lists all)"] : [])
  }

  private static func cells(_ statistics: TensorStatistics?) -> [String] {
    guard let statistics else { return Array(repeating: "", count: 6) }
    let number = { (value: Double?) in value.map(Human.significant) ?? "-" }
    return [
      number(statistics.min), number(statistics.max), number(statistics.mean),
      number(statistics.std), "\(Human.fixed(statistics.sparsity * 100, 1)) %",
      Human.count(statistics.uniqueValues) + (statistics.finite ? "" : " (not finite)"),
    ]
  }

  /// The encoding with the decoded type; that of a neural network's weight says it all.
  private static func encoding(of weight: WeightFact) -> String {
    weight.encoding.last?.isNumber == true
      ? weight.encoding : "\(weight.encoding) \(weight.dtype)"
  }

  /// The first consumer and the number of others.
  private static func consumers(of weight: WeightFact) -> String {
    guard let first = weight.consumers.first else { return "nothing" }
    let rest = weight.consumers.count - 1
    // A neural network's weight has its layer's name in its own.
    let isOwn = weight.name.hasSuffix("\(first.operation).\(first.input)")
    let name = isOwn ? first.type : "\(first.type) \(first.operation)"
    return shortened(name, to: 60) + (rest > 0 ? " and \(rest) more" : "")
  }
}

extension Human {
  /// A number with what it counts, `1 layer`, `3 layers`.
  static func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}

extension InspectText {
  /// A shape, `64 × 3 × 7 × 7`; `scalar` for rank 0.
  static func shape(_ shape: [Int]) -> String {
    shape.isEmpty ? "scalar" : shape.map(String.init).joined(separator: " × ")
  }

  /// A feature's shape with what else is allowed.
  static func shape(of feature: FeatureFact) -> String {
    let sizes = feature.shape.map { $0.map(String.init) ?? "?" }
    let sizesText = (feature.kind == .image ? sizes.reversed() : sizes).joined(separator: " × ")
    switch feature.flexibility {
    case nil: return sizesText
    case .range(let bounds):
      let texts = bounds.map { low, high in
        high == low ? "\(low)" : "\(low)…\(high.map(String.init) ?? "")"
      }
      let range = (feature.kind == .image ? texts.reversed() : texts).joined(separator: " × ")
      return sizesText.isEmpty ? range : "\(sizesText) (\(range))"
    case .enumerated(let shapes):
      let texts = shapes.map { shape -> String in
        let sizes = feature.kind == .image ? shape.reversed() : shape
        return sizes.map(String.init).joined(separator: " × ")
      }
      let list = texts.prefix(6).joined(separator: ", ")
      return "\(sizesText) (one of \(list)\(texts.count > 6 ? ", …" : ""))"
    }
  }

  /// A feature's type with its shape, short.
  static func type(of feature: FeatureFact) -> String {
    let shape = shape(of: feature)
    let isScalar = [.int64, .double, .string].contains(feature.kind)
    let dtype = isScalar || feature.dtype.isEmpty ? "" : " \(feature.dtype)"
    return feature.kind.rawValue + dtype + (shape.isEmpty ? "" : " \(shape)")
  }

  static func range(_ statistics: TensorStatistics) -> String {
    guard let low = statistics.min, let high = statistics.max else { return "-" }
    return "\(Human.significant(low)) to \(Human.significant(high))"
  }

  static func mean(_ statistics: TensorStatistics) -> String {
    guard let mean = statistics.mean, let std = statistics.std else { return "-" }
    return "\(Human.significant(mean)) ± \(Human.significant(std))"
  }

  static func cut(_ text: String, to width: Int) -> String {
    text.count > width ? text.prefix(width - 1) + "…" : text
  }

  /// The text without its middle where it is longer than `width`.
  static func shortened(_ text: String, to width: Int) -> String {
    text.count > width
      ? text.prefix(width / 2 - 1) + "…" + text.suffix(width - width / 2) : text
  }

  /// Short texts in columns on lines of up to 100 characters, read line by line.
  static func columns(_ texts: [String]) -> [String] {
    guard let widest = texts.map(\.count).max() else { return [] }
    let perLine = max(1, 96 / (widest + 3))
    return stride(from: 0, to: texts.count, by: perLine).map { start in
      let row = texts[start..<min(start + perLine, texts.count)]
      var line = "    " + row.map { $0.padded(to: widest) }.joined(separator: "   ")
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
