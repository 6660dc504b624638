import ModelTensors

/// What a pass wants with every constant of a model.
struct CompressionPlan: Sendable {
  /// Recipes by constant.
  private(set) var recipes: [Int: any WeightRecipe] = [:]
  /// Reasons of listed constants that stay.
  private(set) var skipped: [Int: String] = [:]

  /// Asks the pass about every candidate of the index.
  init(index: ConstantIndex, filter: CandidateFilter, version: Int) {
    for (number, constant) in index.constants.enumerated() {
      switch filter.classify(constant) {
      case .unlisted: break
      case .skip(let reason): skipped[number] = reason
      case .candidate(let facts):
        switch filter.pass.decide(facts, version: version) {
        case .skip(let reason): skipped[number] = reason
        case .encode(let recipe): recipes[number] = recipe
        }
      }
    }
  }
}
