import ModelToolchain
import Foundation
for path in CommandLine.arguments.dropFirst() {
  let loaded = try LoadedModel(path: path, readingWeights: false)
  guard let program = loaded.model.program, let function = program.functions["main"] else { continue }
  let graph = PlanGraph(function, name: "main")
  print("MODEL", path, graph.nodes.count, graph.hasUnknownShapes)
  for node in graph.nodes {
    let w = node.work ?? OperationWork()
    print("OP", node.operation.type, w.multiplyAdds, w.elementOperations, w.activationsRead, w.activationsWritten, node.storedBytes, w.channelsPerGroup ?? 0, node.elementType?.rawValue ?? "?", node.rank, node.largestSize)
  }
}
