import ModelGraph
import ModelSpec

/// What in a model asks for which specification version.
struct VersionRequirements {
  /// Where something was found: how often, and the first of the places that have a name.
  private struct Places {
    var order: Int
    var count: Int
    var first: String?
  }

  /// What was found, each thing once.
  private var found: [VersionReason: Places] = [:]

  init(_ model: Model) throws { try add(model, child: "") }

  /// The highest version asked for, at least 1.
  var needed: Int { found.keys.map(\.version).max() ?? 1 }

  /// The reasons, the highest version first, those of one version in file order.
  var reasons: [VersionReason] {
    found.sorted { ($1.key.version, $0.value.order) < ($0.key.version, $1.value.order) }
      .map { reason, places in
        let note: String =
          switch (places.count, places.first) {
          case (1, let first?): " (\(first))"
          case (1, nil): ""
          case (let count, let first?): " (\(count)×, first \(first))"
          case (let count, nil): " (\(count)×)"
          }
        return VersionReason(version: reason.version, reason: reason.reason + note)
      }
  }

  /// Notes that `reason` asks for `version`, at `place` where that has a name.
  mutating func require(_ version: Int, _ reason: String, at place: String? = nil, times: Int = 1) {
    let key = VersionReason(version: version, reason: reason)
    var places = found[key] ?? Places(order: found.count, count: 0, first: place)
    places.count += times
    found[key] = places
  }

  private mutating func add(_ model: Model, child: String) throws {
    let prefix = child.isEmpty ? "" : child + ": "
    var own = VersionRequirements()
    own.addInterface(of: model)
    switch model.kind {
    case .program(let program): own.add(program)
    case .neuralNetwork(let network): try own.add(network)
    case .other(let opaque): try own.add(opaque, of: model)
    case .pipeline(let pipeline):
      for (index, inner) in pipeline.models.enumerated() {
        let name = pipeline.name(of: index)
        try add(inner, child: child.isEmpty ? name : "\(child)/\(name)")
      }
    case .absent: break
    }
    // What every model of the kind satisfies explains nothing.
    let base = if case .program = model.kind { 6 } else { 1 }
    for (reason, places) in own.sorted where reason.version >= base && reason.version > 1 {
      require(
        reason.version, prefix + reason.reason, at: places.first, times: places.count)
    }
  }

  private init() {}

  private var sorted: [(reason: VersionReason, places: Places)] {
    found.sorted { $0.value.order < $1.value.order }.map { ($0.key, $0.value) }
  }

  private mutating func addInterface(of model: Model) {
    if model.isUpdatable { require(4, "updatable model") }
    guard let description = model.description else { return }
    if !description.functions.isEmpty { require(9, "functions with interfaces of their own") }
    let functions = description.functions
    for input in description.inputs + functions.flatMap(\.inputs) { add(input, isInput: true) }
    for output in description.outputs + functions.flatMap(\.outputs) {
      add(output, isInput: false)
    }
    let hasState = !description.states.isEmpty || functions.contains { !$0.states.isEmpty }
    // A program says so itself.
    if hasState && model.program == nil { require(9, "state") }
  }

  private mutating func add(_ feature: FeatureDescription, isInput: Bool) {
    let role = isInput ? "input" : "output"
    switch feature.type?.kind {
    case .multiArray(let type):
      if type.dataType == .float16 { require(7, "\(role) of type fp16", at: feature.name) }
      if type.dataType == .int8 { require(10, "\(role) of type int8", at: feature.name) }
      if type.flexibility != .fixed && isInput {
        require(3, "flexible shape of an input", at: feature.name)
      }
      if type.defaultValue != .none && feature.type?.isOptional == true && isInput {
        require(5, "default value of an optional input", at: feature.name)
      }
    case .image(let type):
      if type.colorSpace.rawValue == 40 {
        require(7, "\(role) of colour space grayscale_fp16", at: feature.name)
      }
      if type.flexibility != .fixed && isInput {
        require(3, "flexible size of an image", at: feature.name)
      }
    case .sequence: require(3, "\(role) of type sequence", at: feature.name)
    default: break
    }
  }

  private mutating func add(_ model: OpaqueModel, of whole: Model) throws {
    let type = model.typeName
    switch type {
    case "customModel", "bayesianProbitRegressor": require(3, type)
    case "kNearestNeighborsClassifier", "itemSimilarityRecommender", "linkedModel", "gazetteer",
      "wordEmbedding", "soundAnalysisPreprocessing":
      require(4, type)
    case "serializedModel": require(5, type)
    case "audioFeaturePrint": require(6, type)
    case "classConfidenceThresholding": require(8, type)
    case "nonMaximumSuppression":
      let features = (whole.description?.inputs ?? []) + (whole.description?.outputs ?? [])
      let isSingle = features.contains { feature in
        if case .multiArray(let array) = feature.type?.kind { return array.dataType == .float32 }
        return false
      }
      require(isSingle ? 5 : 3, isSingle ? "\(type) on fp32 arrays" : type)
    case "textClassifier", "wordTagger", "visionFeaturePrint": try addRevision(of: model)
    default: break
    }
  }

  private mutating func addRevision(of model: OpaqueModel) throws {
    let details = NamedList(
      model.typeName == "visionFeaturePrint"
        ? try ModelDetails.featurePrint(model) : try ModelDetails.language(model))
    let revision = details["revision"]?.integer ?? 0
    let version: Int
    switch (model.typeName, details["type"]?.text) {
    case ("visionFeaturePrint", "objects"): version = 5
    case ("visionFeaturePrint", _): version = revision >= 2 ? 8 : 3
    case ("textClassifier", _): version = [2: 4, 3: 4, 4: 8, 5: 9][revision] ?? 3
    default: version = [3: 5, 4: 8, 5: 9][revision] ?? 3
    }
    require(version, "\(model.typeName) revision \(revision)")
  }
}
