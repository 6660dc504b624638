import ModelGraph
import ModelOperations
import ModelTensors

extension Compressor {
  /// A model at the version that its plan needs.
  struct Planned {
    var model: Model
    var index: ConstantIndex
    var plan: CompressionPlan
    var ledger: Ledger
  }

  /// Plans for the model's version; where a recipe needs a later one, raises the model and plans
  /// again.
  func raised(_ original: Model, _ pass: any CompressionPass) throws -> Planned {
    let first = try planned(original, pass, minimum: pass.requirement)
    guard
      let needed = first.plan.recipes.values.map(\.requirement).max(by: {
        ($0.version, $1.reason) < ($1.version, $0.reason)
      }), needed.version > first.ledger.version.after
    else { return first }
    return try planned(original, pass, minimum: needed)
  }

  func planned(
    _ original: Model, _ pass: any CompressionPass, minimum: VersionRequirement
  ) throws -> Planned {
    var model = original
    var pass = pass
    let (version, raiseNotes) = try VersionRaise.apply(
      to: &model, minimum: minimum, target: settings.targetVersion)
    let notes = raiseNotes + (try pass.rewrite(&model, settings: settings))
    let index = try ConstantIndex(model)
    let plan = CompressionPlan(
      index: index, filter: CandidateFilter(settings: settings, pass: pass),
      version: version.after)
    return Planned(
      model: model, index: index, plan: plan,
      ledger: Ledger(version: version, rows: [], notes: notes))
  }

  /// A model without programs at its own version, or at the one asked for.
  func unraised(_ model: Model, _ pass: any CompressionPass) throws -> Planned {
    var model = model
    let (version, notes) = try VersionRaise.apply(
      to: &model, minimum: VersionRequirement(0, ""), target: settings.targetVersion)
    let index = try ConstantIndex(model)
    return Planned(
      model: model, index: index,
      plan: CompressionPlan(
        index: index, filter: CandidateFilter(settings: settings, pass: pass),
        version: version.after),
      ledger: Ledger(version: version, rows: [], notes: notes))
  }

  /// All weights of the new model in file order, each place once.
  func assemblyItems(
    of model: Model, _ index: ConstantIndex, _ plan: CompressionPlan
  ) -> [AssemblyItem] {
    var items: [AssemblyItem] = []
    var seenConstants: Set<Int> = []
    var seenPlaces: Set<WeightKey> = []
    let defaultFile = Compressor.firstWeightFile(of: model)
    func carry(_ weight: Weight) {
      guard seenPlaces.insert(weight.key).inserted else { return }
      items.append(
        AssemblyItem(
          source: weight.source, fileName: weight.reference.fileName, weights: [weight]))
    }
    forEachOperation(of: model) { site, operation in
      if let number = index.byUpstream[site], plan.recipes[number] != nil { return }
      if let number = index.bySite[site], let recipe = plan.recipes[number] {
        guard seenConstants.insert(number).inserted else { return }
        let constant = index.constants[number]
        items.append(
          AssemblyItem(
            source: constant.source,
            fileName: constant.weights.first?.reference.fileName ?? defaultFile,
            weights: constant.weights, encoding: .init(constant: number, recipe: recipe)))
        return
      }
      operation.forEachValue { $0.forEachWeight(carry) }
    }
    model.forEachProgram { program, _ in program.forEachAttributeWeight(carry) }
    return items
  }

  static func firstWeightFile(of model: Model) -> String {
    var name: String?
    model.forEachWeight { weight in name = name ?? weight.reference.fileName }
    return name ?? "@model_path/weights/weight.bin"
  }
}
