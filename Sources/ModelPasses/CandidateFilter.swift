import ModelGraph
import ModelOperations
import ModelTensors

/// Which constants a compressing pass may touch.
struct CandidateFilter {
  /// Smaller constants are not weights and do not appear in a ledger.
  static let smallestListed = 10

  var settings: CompressionSettings
  var pass: any CompressionPass

  /// What the ledger and the pass get to know of a constant.
  enum Outcome {
    /// The constant does not appear in the ledger.
    case unlisted
    case skip(String)
    case candidate(ConstantFacts)
  }

  func classify(_ constant: Constant) -> Outcome {
    let type = constant.source.elementType
    let count = constant.source.elementCount
    guard count >= CandidateFilter.smallestListed else { return .unlisted }
    let minimum = settings.minimumElements ?? CompressionSettings.defaultMinimumElements
    if !type.isFloat {
      // Integers in small or flat tensors are parameters, not weights.
      guard type.isInteger, constant.source.shape.count >= 2, count > minimum,
        !constant.consumers.isEmpty
      else { return .unlisted }
    }
    if constant.consumers.isEmpty {
      return .skip(constant.isBlockOutput ? "is an output of its block" : "no operation uses it")
    }
    if constant.isParameter { return .skip("is a parameter of a compressed weight") }
    if case .own = pass.selection { return .candidate(facts(of: constant)) }
    if let mixed = constant.consumers.first(where: \.mixesTypes) {
      return .skip("\(mixed.name) mixes element types, which takes a plain constant")
    }
    if let function = settings.function, !constant.functions.contains(function) {
      return .skip("function \(function) does not use it")
    }
    let consumers = constant.consumers.map { (name: $0.name, type: $0.type) }
    let matches = { (pattern: WeightPattern) in
      pattern.matches(name: constant.name, consumers: consumers)
    }
    if settings.skip.contains(where: matches) { return .skip("picked by --skip") }
    if !settings.only.isEmpty, !settings.only.contains(where: matches) {
      return .skip("not picked by --only")
    }
    if case .limited = pass.selection {
      if count <= minimum { return .skip("\(count) elements, not more than \(minimum)") }
      let rank = constant.source.shape.count
      if rank < 2, settings.minimumElements == nil {
        return .skip("rank \(rank); --min-elements takes such constants too")
      }
    }
    return .candidate(facts(of: constant))
  }

  private func facts(of constant: Constant) -> ConstantFacts {
    let wanted = constant.consumers.compactMap { consumer in
      consumer.axes.map { (consumer: consumer.name, axes: $0) }
    }
    return ConstantFacts(
      name: constant.name, elementType: constant.source.elementType,
      shape: constant.source.shape, elementCount: constant.source.elementCount,
      byteCount: constant.byteCount, encoding: constant.encoding, source: constant.source,
      axes: WeightAxes.agreedAxes(wanted),
      consumers: constant.consumers.map { ($0.name, $0.type, $0.input) },
      functions: constant.functions, sites: constant.sites)
  }
}
