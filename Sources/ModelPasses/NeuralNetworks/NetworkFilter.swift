import ModelCompression
import ModelGraph
import ModelTensors

/// Which weights of neural networks a pass may touch.
struct NetworkFilter {
  var settings: CompressionSettings
  var support: NeuralNetworkSupport
  /// Whether limits on element count and rank hold.
  var isLimited: Bool

  /// What becomes of a weight.
  enum Outcome {
    /// The weight does not appear in the ledger.
    case unlisted
    case skip(String)
    case encode(NeuralNetworkScheme, note: String?)
  }

  func classify(_ site: NetworkWeightSite, isAmbiguous: Bool) -> Outcome {
    let facts = site.facts
    let outcome =
      fault(facts, site.layer, site.weight, isAmbiguous).map(Outcome.skip)
      ?? decision(on: facts, site.weight)
    if case .skip = outcome, facts.elementCount < CandidateFilter.smallestListed {
      return .unlisted
    }
    return outcome
  }

  /// Why a weight stays whatever the pass wants.
  private func fault(
    _ facts: NetworkWeightFacts, _ layer: NeuralNetworkLayer, _ weight: NeuralNetworkWeight,
    _ isAmbiguous: Bool
  ) -> String? {
    if layer.isUpdatable || weight.isUpdatable { return "its layer is updatable" }
    if layer.type == "custom" { return "is read by the code of a custom layer" }
    if weight.storage == .int8 { return "is int8 for dynamic quantization" }
    if isAmbiguous { return "gives its values in several forms" }
    if let function = settings.function, function != NetworkCompressor.functionName {
      return "function \(function) does not use it"
    }
    let matches = { (pattern: WeightPattern) in
      pattern.matches(name: facts.name, consumers: [(name: layer.name, type: layer.type)])
    }
    if settings.skip.contains(where: matches) { return "picked by --skip" }
    if !settings.only.isEmpty, !settings.only.contains(where: matches) {
      return "not picked by --only"
    }
    guard isLimited else { return nil }
    let minimum = settings.minimumElements ?? CompressionSettings.defaultMinimumElements
    if facts.elementCount <= minimum {
      return "\(facts.elementCount) elements, not more than \(minimum)"
    }
    if settings.minimumElements == nil {
      let rank = facts.rank
      if rank < 2 { return "rank \(rank); --min-elements takes such weights too" }
    }
    return nil
  }

  private func decision(on facts: NetworkWeightFacts, _ weight: NeuralNetworkWeight) -> Outcome {
    switch support.decide(facts) {
    case .skip(let reason): return .skip(reason)
    case .encode(let scheme, let note):
      switch (scheme, weight.storage) {
      case (.float32, .float32): return .skip("is not compressed")
      case (.float32, _): return .encode(scheme, note: note)
      case (_, .linear), (_, .lookup):
        return .skip("is quantized already (\(weight.storage.name))")
      case (.float16, .float16): return .skip("is fp16 already")
      default: break
      }
      guard NetworkWeightEncoder.storedBytes(scheme, facts) < facts.byteCount else {
        return .skip("would not shrink: tables or scales would outweigh what the codes save")
      }
      return .encode(scheme, note: note)
    }
  }
}
