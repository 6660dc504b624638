import ModelFiles
import ModelInspection
import ModelSpec
import ModelTensors

/// One weight of a model: shown, or written as a NumPy file.
struct InspectTensor {
  var loaded: LoadedModel
  var path: String
  var name: String

  func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let catalog = WeightCatalog(loaded.model)
    guard
      let entry = catalog.entry(
        named: name, function: arguments.string("function"))
    else {
      let near = catalog.names(near: name)
      throw UsageError(
        "\(path) has no weight \"\(name)\"",
        hint: near.isEmpty ? nil : "did you mean \(near.joined(separator: ", "))?")
    }
    let source = try catalog.source(of: entry)
    var fact = entry.fact
    if fact.elementType != nil {
      fact.statistics = try TensorStatistics.measure(source, parallel: console.parallel)
    }
    let output = arguments.string("output")
    if let output {
      try FileOutput.check(output, "--output", against: [(path, "MODEL")])
      try NpyWriter.write(tensor: source, to: output, force: arguments.has("force"))
    }
    let first = try WeightValues.first(16, of: source)
    if console.isJSON {
      try console.print(
        .object([
          ("schema", .integer(1)), ("path", .string(path)), ("tensor", InspectJSON.weight(fact)),
          ("first_values", .array(first.map { .number($0) })), ("output", .optional(output)),
        ]))
    } else {
      for line in lines(fact, first, output: output) { try console.print(line) }
    }
    return 0
  }

  private func lines(_ fact: WeightFact, _ first: [Double], output: String?) -> [String] {
    var table = Table(alignments: [.left, .left])
    table.add(["type", "\(fact.dtype) \(InspectText.shape(fact.shape))"])
    let bits = fact.bitsPerParameter.map { ", \(Human.fixed($0, 2)) bits per parameter" } ?? ""
    table.add(["stored", "\(fact.encoding), \(Human.bytes(fact.storedBytes))\(bits)"])
    for consumer in fact.consumers {
      table.add(["used by", "\(consumer.type) \(consumer.operation) (\(consumer.input))"])
    }
    if let statistics = fact.statistics {
      table.add(["range", InspectText.range(statistics)])
      table.add(["mean ± std", InspectText.mean(statistics)])
      table.add(["zeros", "\(Human.fixed(statistics.sparsity * 100, 2)) %"])
      table.add(["distinct", "\(statistics.uniqueValues)"])
      if !statistics.finite {
        let counts = "\(statistics.nanCount) NaN, \(statistics.infiniteCount) infinite"
        table.add(["not finite", counts])
      }
    }
    let values = first.map(Human.significant).joined(separator: ", ")
    table.add(["values", values + (fact.parameters > first.count ? ", …" : "")])
    return [fact.name] + table.lines() + (output.map { ["wrote \($0)"] } ?? [])
  }
}
