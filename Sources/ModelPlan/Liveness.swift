import ModelGraph

/// How many bytes of activations live while a graph runs in order.
struct Liveness {
  /// Bytes that live while each operation runs: what it reads and writes, and what later ones read.
  let bytes: [Double]

  init(_ graph: PlanGraph) {
    let roots = Liveness.roots(graph)
    func root(_ name: String) -> String { roots[name] ?? name }
    var lastUse: [String: Int] = [:]
    for (index, node) in graph.nodes.enumerated() {
      for name in node.reads { lastUse[root(name)] = index }
    }
    for name in graph.outputs { lastUse[root(name)] = graph.nodes.count }
    var sizes: [String: Double] = [:]
    var live = 0.0
    var ending: [Int: Double] = [:]
    func add(_ name: String, _ size: Double) {
      guard let last = lastUse[name], sizes[name] == nil else { return }
      sizes[name] = size
      live += size
      ending[last, default: 0] += size
    }
    for (name, type) in graph.inputs { add(name, type.tensor?.byteCount ?? 0) }
    bytes = graph.nodes.enumerated().map { index, node in
      // A result that nothing reads still takes its place while it is written.
      var unused = 0.0
      for (output, type) in zip(node.operation.outputs, node.outputs) {
        let size = type.tensor?.byteCount ?? 0
        if roots[output.name] != nil { continue }
        if lastUse[output.name] == nil { unused += size }
        add(output.name, size)
      }
      defer { live -= ending[index] ?? 0 }
      return live + unused
    }
  }

  /// The value whose bytes each view shares.
  private static func roots(_ graph: PlanGraph) -> [String: String] {
    var sizes: [String: Double] = [:]
    var roots: [String: String] = [:]
    for (name, type) in graph.inputs { sizes[name] = type.tensor?.byteCount ?? 0 }
    for node in graph.nodes {
      for (output, type) in zip(node.operation.outputs, node.outputs) {
        sizes[output.name] = type.tensor?.byteCount ?? 0
      }
      guard CostModel.views.contains(node.operation.type), node.reads.count == 1,
        node.operation.outputs.count == 1, let source = node.reads.first,
        let output = node.operation.outputs.first?.name, sizes[source] == sizes[output]
      else { continue }
      roots[output] = roots[source] ?? source
    }
    return roots
  }
}
