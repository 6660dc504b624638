import ModelGraph
import Testing

@testable import ModelInspection

@Suite struct TreeTests {
  struct Node {
    var tree = 0
    var id: Int
    var children: (Int, Int)?
    var feature = 0
  }

  /// A regressor of these nodes.
  private func facts(_ nodes: [Node]) throws -> ModelReport {
    let ensemble = Wire.message { wire in
      for node in nodes {
        wire.add(
          1,
          Wire.message {
            $0.add(1, node.tree)
            $0.add(2, node.id)
            $0.add(3, node.children == nil ? 6 : 0)
            if let (yes, no) = node.children {
              $0.add(10, node.feature)
              $0.add(12, yes)
              $0.add(13, no)
            }
          })
      }
      wire.add(2, 1)
    }
    return try report("treeEnsembleRegressor", Wire.message { $0.add(1, ensemble) })
  }

  private func number(_ facts: ModelReport, _ key: String) -> Int? { facts.details[key]?.integer }

  @Test func countsNodesAndDepth() throws {
    let facts = try facts([
      Node(id: 0, children: (1, 2), feature: 3), Node(id: 1), Node(id: 2, children: (3, 4)),
      Node(id: 3), Node(id: 4), Node(tree: 1, id: 0),
    ])
    #expect(number(facts, "trees") == 2)
    #expect(number(facts, "nodes") == 6)
    #expect(number(facts, "leaves") == 4)
    #expect(number(facts, "max_depth") == 2)
    #expect(facts.details["mean_depth"] == .number(1))
    #expect(number(facts, "features_used") == 2)
    #expect(facts.details["transform"]?.text == "none")
    #expect(facts.findings.isEmpty)
  }

  @Test func loopsEnd() throws {
    // A root whose child leads back to its sibling, and a ring that no root leads to.
    let looped = try facts([
      Node(id: 0, children: (1, 2)), Node(id: 1, children: (2, 1)), Node(id: 2),
      Node(tree: 1, id: 0, children: (1, 1)), Node(tree: 1, id: 1, children: (0, 0)),
    ])
    #expect(number(looped, "unreached_nodes") == 2)
    #expect((number(looped, "revisited_nodes") ?? 0) > 0)
    #expect(!looped.findings.isEmpty)
    let own = try facts([Node(id: 0, children: (0, 0))])
    #expect(number(own, "unreached_nodes") == 1)
    #expect(number(own, "max_depth") == 0)
  }

  @Test func missingChildrenAreCounted() throws {
    let facts = try facts([Node(id: 0, children: (7, -1))])
    #expect(number(facts, "missing_children") == 2)
    #expect(facts.findings.contains { $0.contains("2 missing children") })
  }

  @Test func aLongChainNeedsNoStack() throws {
    let length = 100_000
    var nodes = (0..<length).map { Node(id: $0, children: ($0 + 1, $0 + 1)) }
    nodes.append(Node(id: length))
    #expect(number(try facts(nodes), "max_depth") == length)
  }

  @Test func emptyAndDamagedMessages() throws {
    #expect(try report("treeEnsembleRegressor", Wire()).details["trees"] == nil)
    #expect(number(try facts([]), "nodes") == 0)
    var damaged = Wire()
    damaged.add(1, [0x0A, 0x7F])
    #expect(throws: (any Error).self) { try report("treeEnsembleRegressor", damaged) }
  }
}
