import ModelCompression
import ModelGraph
import ModelTensors

/// The candidates of a model, and the trials of a recipe search on them.
struct RecipeJobs {
  /// What a scheme makes of a weight.
  enum Outcome {
    case form(bytes: Int, error: Double)
    /// The weight cannot take the scheme; the reason is a clause.
    case refused(String)
  }

  /// A scheme on a candidate.
  struct Job: Sendable {
    var candidate: Int
    /// The place in the menu.
    var scheme: Int
    /// Bytes that are read.
    var byteCount: Int
    var measure: @Sendable (Parallel) throws -> Outcome
  }

  let search: RecipeSearch
  private(set) var candidates: [RecipeSearch.Candidate] = []
  private(set) var jobs: [Job] = []

  init(search: RecipeSearch) { self.search = search }

  /// Adds the plain constants of programs.
  mutating func addConstants(of model: Model) throws {
    let filter = CandidateFilter(settings: search.settings, pass: QuantizePass())
    for constant in try ConstantIndex(model).constants {
      guard case .candidate(let facts) = filter.classify(constant), facts.encoding.isDense else {
        continue
      }
      for (number, scheme) in search.menu.enumerated() {
        guard let recipe = recipe(scheme, facts, model.specificationVersion) else { continue }
        let source = constant.source
        add(number, source.byteCount) { parallel in
          switch try recipe.prepare(source, parallel: parallel) {
          case .refused(let reason): return .refused(reason)
          case .ready(let weight):
            let sums = try weight.encode(parallel: parallel) { _, _, _ in }
            return .form(
              bytes: weight.parts.reduce(0) { $0 + $1.byteCount }, error: sums.error)
          }
        }
      }
      addCandidate(constant.name, facts.functions, facts.elementCount, facts.byteCount)
    }
  }

  /// The recipe of a scheme for the lowest version that can hold it, whose form is never the smaller
  /// one; nil where the weight or the version asked for cannot have it.
  private func recipe(
    _ scheme: MenuScheme, _ constant: ConstantFacts, _ modelVersion: Int
  ) -> (any WeightRecipe)? {
    let target = search.settings.targetVersion
    guard
      case .encode(let latest) = scheme.pass.decide(
        constant, version: target ?? max(modelVersion, 9))
    else { return nil }
    let needed = latest.requirement.version
    if let target { return needed <= target ? latest : nil }
    guard
      case .encode(let lowest) = scheme.pass.decide(
        constant, version: max(modelVersion, needed)), lowest.requirement.version <= needed
    else { return latest }
    return lowest
  }

  /// Adds the weights of neural networks that some scheme can take.
  mutating func addNetworks(of model: Model) throws {
    let filters = search.menu.map { scheme in
      NetworkFilter(
        settings: search.settings, support: scheme.pass.neuralNetworks, isLimited: true)
    }
    try model.forEachNetwork { network, prefix in
      for site in network.weightSites(prefix: prefix) {
        let isAmbiguous = try network.isAmbiguous(site.weight)
        for (number, filter) in filters.enumerated() {
          guard case .encode(let form, _) = filter.classify(site, isAmbiguous: isAmbiguous) else {
            continue
          }
          let weight = site.weight
          let name = site.facts.name
          add(number, site.facts.byteCount) { parallel in
            let encoder = NetworkWeightEncoder(network: network, parallel: parallel)
            switch try encoder.encode(weight, form, name: name) {
            case .refused(let reason): return .refused(reason)
            case .encoded(let encoded):
              return .form(bytes: encoded.replacement.storedBytes, error: encoded.sums.error)
            }
          }
        }
        addCandidate(
          site.facts.name, [NetworkCompressor.functionName], site.facts.elementCount,
          site.facts.byteCount)
      }
    }
  }

  /// Adds a trial on the candidate that is added next.
  private mutating func add(
    _ scheme: Int, _ byteCount: Int,
    _ measure: @escaping @Sendable (Parallel) throws -> Outcome
  ) {
    jobs.append(
      Job(candidate: candidates.count, scheme: scheme, byteCount: byteCount, measure: measure))
  }

  private mutating func addCandidate(
    _ name: String, _ functions: [String], _ parameters: Int, _ byteCount: Int
  ) {
    candidates.append(
      RecipeSearch.Candidate(
        name: name, functions: functions, parameters: parameters,
        forms: [RecipeSearch.Form(scheme: nil, bytes: byteCount, error: 0)]))
  }
}
