import CModelSchemas
import ModelGraph
import ModelSpec

/// The shape of a tree ensemble, measured without trust in its links.
struct TreeDetails {
  typealias Node = UnsafeMutablePointer<CoreML__Specification__TreeEnsembleParameters__TreeNode>

  private(set) var trees = 0
  private(set) var nodes = 0
  private(set) var leaves = 0
  /// Edges on the longest way from a root to a node.
  private(set) var maximumDepth = 0
  /// The mean of the trees' depths.
  private(set) var meanDepth = 0.0
  /// Features that some branch tests.
  private(set) var featuresUsed = 0
  /// Children that are named and do not exist.
  private(set) var missingChildren = 0
  /// Nodes that no root leads to, or that are led to twice.
  private(set) var unreachedNodes = 0
  private(set) var revisitedNodes = 0

  private struct Key: Hashable {
    var tree: UInt64
    var node: UInt64
  }

  private static let leaf: UInt32 = 6

  init(_ list: [Node]) {
    nodes = list.count
    var places: [Key: Int] = [:]
    places.reserveCapacity(list.count)
    for (index, node) in list.enumerated() {
      places[Key(tree: node.pointee.treeid, node: node.pointee.nodeid)] = index
    }
    var features = Set<UInt64>()
    var isChild = [Bool](repeating: false, count: list.count)
    var children = [(Int?, Int?)](repeating: (nil, nil), count: list.count)
    for (index, node) in list.enumerated() {
      let message = node.pointee
      if message.nodebehavior.rawValue == TreeDetails.leaf {
        leaves += 1
        continue
      }
      features.insert(message.branchfeatureindex)
      let first = places[Key(tree: message.treeid, node: message.truechildnodeid)]
      let second = places[Key(tree: message.treeid, node: message.falsechildnodeid)]
      children[index] = (first, second)
      for child in [first, second] {
        if let child { isChild[child] = true } else { missingChildren += 1 }
      }
    }
    featuresUsed = features.count
    trees = Set(list.map(\.pointee.treeid)).count
    measure(list, isChild, children)
  }

  /// Goes from every root downwards; each node is entered once, so that loops end.
  private mutating func measure(
    _ list: [Node], _ isChild: [Bool], _ children: [(Int?, Int?)]
  ) {
    var visited = [Bool](repeating: false, count: list.count)
    var depths: [UInt64: Int] = [:]
    for root in list.indices where !isChild[root] {
      var stack = [(index: root, depth: 0)]
      var deepest = 0
      while let (index, depth) = stack.popLast() {
        if visited[index] {
          revisitedNodes += 1
          continue
        }
        visited[index] = true
        deepest = max(deepest, depth)
        for child in [children[index].0, children[index].1] {
          if let child { stack.append((child, depth + 1)) }
        }
      }
      let tree = list[root].pointee.treeid
      depths[tree] = max(depths[tree] ?? 0, deepest)
    }
    unreachedNodes = visited.count { !$0 }
    maximumDepth = depths.values.max() ?? 0
    if !depths.isEmpty {
      meanDepth = Double(depths.values.reduce(0, +)) / Double(depths.count)
    }
  }

  static func details(of model: OpaqueModel) throws -> ModelDetails.Fields {
    if model.typeName == "treeEnsembleRegressor" {
      return try model.withMessage(as: CoreML__Specification__TreeEnsembleRegressor.self) {
        fields($0.pointee.treeensemble, transform: $0.pointee.postevaluationtransform.rawValue)
      }
    }
    return try model.withMessage(as: CoreML__Specification__TreeEnsembleClassifier.self) {
      let message = $0.pointee
      return fields(
        message.treeensemble, transform: message.postevaluationtransform.rawValue)
        + message.labels.fields
    }
  }

  private static func fields(
    _ ensemble: UnsafeMutablePointer<CoreML__Specification__TreeEnsembleParameters>?,
    transform: UInt32
  ) -> ModelDetails.Fields {
    guard let ensemble = ensemble?.pointee else { return [] }
    let facts = TreeDetails(messages(ensemble.n_nodes, ensemble.nodes))
    let transforms = [
      "none", "softmax", "logistic", "softmax with the first class as reference",
    ]
    var fields: ModelDetails.Fields = [
      ("trees", .integer(facts.trees)), ("nodes", .integer(facts.nodes)),
      ("leaves", .integer(facts.leaves)), ("max_depth", .integer(facts.maximumDepth)),
      ("mean_depth", .number(facts.meanDepth)),
      ("features_used", .integer(facts.featuresUsed)),
      ("prediction_dimensions", .unsigned(ensemble.numpredictiondimensions)),
      ("transform", .named(transforms, transform)),
    ]
    for (name, count) in [
      ("missing_children", facts.missingChildren), ("unreached_nodes", facts.unreachedNodes),
      ("revisited_nodes", facts.revisitedNodes),
    ] where count > 0 {
      fields.append((name, .integer(count)))
    }
    return fields
  }
}

extension Detail {
  /// The name of an enumeration's case, else its number.
  static func named(_ names: [String], _ number: UInt32) -> Detail {
    number < names.count ? .text(names[Int(number)]) : .text("unknown(\(number))")
  }
}
