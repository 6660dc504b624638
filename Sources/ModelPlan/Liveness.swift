import ModelGraph

/// How many bytes of activations live while a graph runs in order.
struct Liveness {
  /// Bytes that live while each operation runs: what it reads and writes, and what later ones read.
  let bytes: [Double]

  init(_ graph: PlanGraph) {
    var lastUse: [String: Int] = [:]
    for (index, node) in graph.nodes.enumerated() {
      for name in node.reads { lastUse[name] = index }
    }
    for name in graph.outputs { lastUse[name] = graph.nodes.count }
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
        if lastUse[output.name] == nil { unused += size }
        // A view shares the bytes of what it views.
        let isView = CostModel.views.contains(node.operation.type) && node.reads.count == 1
        add(output.name, isView && node.operation.outputs.count == 1 ? 0 : size)
      }
      defer { live -= ending[index] ?? 0 }
      return live + unused
    }
  }
}
