import ModelGraph
import ModelOperations

/// Finds activations that the Neural Engine keeps in 8 bits: those between `quantize` and `dequantize`,
/// which converters write around operations in fp16.
///
/// What an operation reads from a `dequantize` comes as 8-bit numbers; what it writes goes as such where
/// every reader is a `quantize`, at once or behind activation functions that run with it. A convolution
/// or product of such an input with weights in integers multiplies integers.
struct QuantizedActivations {
  /// Applies the halved bytes and marks the operations of integers.
  static func apply(to nodes: inout [PlanGraph.Node]) {
    guard nodes.contains(where: { $0.operation.type == "quantize" }) else { return }
    var readers: [String: [Int]] = [:]
    for (index, node) in nodes.enumerated() {
      for name in node.reads { readers[name, default: []].append(index) }
    }
    var narrow: Set<String> = []
    for node in nodes.reversed() {
      for output in node.operation.outputs {
        let own = readers[output.name] ?? []
        let isNarrow = own.allSatisfy { index in
          let type = nodes[index].operation.type
          return type == "quantize"
            || CostModel.fusable.contains(type)
              && nodes[index].operation.outputs.allSatisfy { narrow.contains($0.name) }
        }
        if isNarrow && !own.isEmpty { narrow.insert(output.name) }
      }
    }
    let restored = Set(
      nodes.filter { $0.operation.type == "dequantize" }.flatMap {
        $0.operation.outputs.map(\.name)
      })
    var sizes: [String: Double] = [:]
    for index in nodes.indices {
      let node = nodes[index]
      for (output, type) in zip(node.operation.outputs, node.outputs) {
        sizes[output.name] = type.tensor?.byteCount ?? 0
      }
      let read = node.reads.filter(restored.contains).reduce(0) { $0 + (sizes[$1] ?? 0) }
      let written = node.operation.outputs.filter { narrow.contains($0.name) }
        .reduce(0) { $0 + (sizes[$1.name] ?? 0) }
      nodes[index].work?.activationsRead -= read / 2
      nodes[index].work?.activationsWritten -= written / 2
      nodes[index].isQuantized =
        node.reads.contains(where: restored.contains)
        && node.weights.contains { weight in
          weight.encodings.contains { $0 == .affine || $0 == .blockwise }
        }
    }
  }
}
