import ModelGraph

/// What names a weight, whatever kind of model it lies in.
public struct WeightSubject: Sendable {
  /// The ledger's name.
  public var name: String
  /// The name without those of a pipeline's children.
  public var ownName: String
  /// The name with the functions before it, which tells apart weights of one name.
  public var key: String
  /// The operations or layers that use it.
  public var consumers: [(name: String, type: String)]
}

extension ConstantFacts {
  /// What names the constant.
  public var subject: WeightSubject {
    WeightSubject(
      name: name, ownName: sites.first?.name ?? name, key: key,
      consumers: consumers.map { ($0.name, $0.type) })
  }
}

extension NetworkWeightFacts {
  /// What names the weight.
  public var subject: WeightSubject {
    WeightSubject(
      name: name, ownName: ownName, key: key, consumers: [(name: layer, type: layerType)])
  }

  /// The name with the function before it.
  var key: String { ConstantFacts.key(name, [NetworkCompressor.functionName]) }
}

extension Compressor {
  /// All weights of the model that a ledger can list.
  static func subjects(of model: Model, _ index: ConstantIndex) -> [WeightSubject] {
    var subjects = index.constants.filter {
      $0.source.elementCount >= CandidateFilter.smallestListed
    }.map { constant in
      WeightSubject(
        name: constant.name, ownName: constant.sites.first?.name ?? constant.name,
        key: ConstantFacts.key(constant.name, constant.functions),
        consumers: constant.consumers.map { ($0.name, $0.type) })
    }
    model.forEachNetwork { network, prefix in
      subjects += network.weightSites(prefix: prefix).map(\.facts.subject)
    }
    return subjects
  }
}
