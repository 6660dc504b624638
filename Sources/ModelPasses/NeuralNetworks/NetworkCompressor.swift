import ModelCompression
import ModelGraph
import ModelSpec
import ModelTensors
import Synchronization

/// Compresses the weights of the neural networks in a model, those of a pipeline's children
/// included.
struct NetworkCompressor {
  /// The function that the ledger names for a network's weights.
  static let functionName = "main"

  var filter: NetworkFilter
  /// Whether a refused weight is an error, and the hint then.
  var refusalHint: String?
  var parallel: Parallel
  var progress: @Sendable (Int) -> Void

  /// What became of the networks of a model.
  struct Outcome {
    /// Rows in the order of the layers, with the places of their networks.
    var rows: [(place: [Int], row: Ledger.Row)] = []
    /// The lowest version for the new forms; nil when nothing was compressed or needs one.
    var requirement: VersionRequirement?
    var hasCompressed: Bool { rows.contains { $0.row.status == .compressed } }
  }

  /// Bytes that ``compress(_:)`` reads.
  static func byteCount(of model: Model) -> Int {
    switch model.kind {
    case .neuralNetwork(let network): network.payload.count
    case .pipeline(let pipeline): pipeline.models.reduce(0) { $0 + byteCount(of: $1) }
    case .program, .other, .absent: 0
    }
  }

  /// Compresses the networks of `model` and raises the versions of the models around them.
  ///
  /// - Throws: ``PassError/refusedWeight(name:reason:hint:)``, ``TensorError``, ``SpecError``.
  func compress(_ model: inout Model) throws -> Outcome {
    var outcome = Outcome()
    try compress(&model, place: [], prefix: "", into: &outcome)
    return outcome
  }

  private func compress(
    _ model: inout Model, place: [Int], prefix: String, into outcome: inout Outcome
  ) throws {
    var own = Outcome()
    switch model.kind {
    case .neuralNetwork(let network):
      let new = try compress(network, place: place, prefix: prefix, into: &own)
      if let new { model.kind = .neuralNetwork(new) }
    case .pipeline(var pipeline):
      for index in pipeline.models.indices {
        try compress(
          &pipeline.models[index], place: place + [index],
          prefix: prefix + pipeline.name(of: index) + "/", into: &own)
      }
      if own.hasCompressed { model.kind = .pipeline(pipeline) }
    case .program, .other, .absent: return
    }
    if let needed = own.requirement {
      model.specificationVersion = max(model.specificationVersion, needed.version)
    }
    outcome.rows += own.rows
    outcome.requirement = [outcome.requirement, own.requirement].compactMap { $0 }
      .max { $0.version < $1.version }
  }

  /// A weight of a network and what is to become of it.
  private struct Item: Sendable {
    var facts: NetworkWeightFacts
    var weight: NeuralNetworkWeight
    var scheme: NeuralNetworkScheme?
    /// Why the weight stays, or a note on its scheme.
    var reason: String?
  }

  private func compress(
    _ network: NeuralNetwork, place: [Int], prefix: String, into outcome: inout Outcome
  ) throws -> NeuralNetwork? {
    let items = try items(of: network, prefix: prefix)
    let work = items.indices.filter { items[$0].scheme != nil }
    let results = Mutex([Int: NetworkWeightEncoder.Outcome]())
    try parallel.forEachBalanced(sizes: work.map { items[$0].facts.byteCount }) { index, parallel in
      let item = items[work[index]]
      guard let scheme = item.scheme else { return }
      let encoder = NetworkWeightEncoder(network: network, parallel: parallel)
      let result = try encoder.encode(item.weight, scheme, name: item.facts.name)
      results.withLock { $0[work[index]] = result }
      progress(item.facts.byteCount)
    }
    var replacements: [WeightReplacement] = []
    for (index, item) in items.enumerated() {
      var row = row(item)
      switch results.withLock({ $0.removeValue(forKey: index) }) {
      case .encoded(let encoded):
        replacements.append(encoded.replacement)
        row.status = .compressed
        row.scheme = encoded.description
        let notes = [encoded.note, item.reason].compactMap { $0 }
        row.reason = notes.isEmpty ? nil : notes.joined(separator: "; ")
        row.afterBytes = encoded.replacement.storedBytes
        row.sums = encoded.sums
        if let needed = item.scheme?.requirement,
          needed.version > outcome.requirement?.version ?? 0
        {
          outcome.requirement = needed
        }
      case .refused(let reason):
        if let refusalHint {
          throw PassError.refusedWeight(name: item.facts.name, reason: reason, hint: refusalHint)
        }
        row.reason = reason
      case nil: break
      }
      outcome.rows.append((place, row))
    }
    return replacements.isEmpty ? nil : try network.replacing(replacements)
  }

  private func items(of network: NeuralNetwork, prefix: String) throws -> [Item] {
    var items: [Item] = []
    for site in network.weightSites(prefix: prefix) {
      var item = Item(facts: site.facts, weight: site.weight)
      switch filter.classify(site, isAmbiguous: try network.isAmbiguous(site.weight)) {
      case .unlisted: continue
      case .skip(let reason): item.reason = reason
      case .encode(let scheme, let note): (item.scheme, item.reason) = (scheme, note)
      }
      items.append(item)
    }
    return items
  }

  private func row(_ item: Item) -> Ledger.Row {
    Ledger.Row(
      name: item.facts.name, functions: [NetworkCompressor.functionName], status: .skipped,
      reason: item.reason, scheme: nil, shape: item.facts.shape, elementType: .float32,
      parameters: item.facts.elementCount, beforeBytes: item.facts.byteCount,
      afterBytes: item.facts.byteCount, sums: nil)
  }
}
