import ModelFiles
import ModelGraph
import ModelSpec
import ModelTensors

extension ModelReport {
  /// What a report knows of the files of a model.
  public struct ContainerFacts: Sendable {
    /// The path that was opened.
    public var path: String
    /// The form of what was opened.
    public var kind: ContainerKind
    /// Bytes on disk.
    public var sizes: SizeFact

    /// The facts of an open container.
    public init(_ container: ModelContainer) {
      path = container.path
      kind = container.kind
      sizes = SizeFact(
        totalBytes: container.totalBytes, specificationBytes: container.specificationBytes,
        weightBytes: container.weightBytes)
    }

    /// Facts of a model that lies elsewhere.
    public init(path: String, kind: ContainerKind, sizes: SizeFact) {
      self.path = path
      self.kind = kind
      self.sizes = sizes
    }
  }

  /// The facts of a loaded model.
  ///
  /// - Parameters:
  ///   - readingWeights: Whether the values of every weight are read, for statistics.
  ///   - progress: Told the share of the values that are read.
  /// - Throws: ``SpecError`` for a model kind whose message is malformed, ``TensorError`` for
  ///   weights that cannot be read.
  public init(
    _ loaded: LoadedModel, readingWeights: Bool = false, parallel: Parallel = Parallel(),
    progress: (@Sendable (Double) -> Void)? = nil
  ) throws {
    try self.init(
      model: loaded.model, container: ContainerFacts(loaded.container),
      readingWeights: readingWeights, parallel: parallel, progress: progress)
  }

  /// The facts of a model.
  public init(
    model: Model, container: ContainerFacts, readingWeights: Bool = false,
    parallel: Parallel = Parallel(), progress: (@Sendable (Double) -> Void)? = nil
  ) throws {
    var catalog = WeightCatalog(model)
    if readingWeights { try catalog.measure(parallel, progress: progress) }
    let requirements = try VersionRequirements(model)
    path = container.path
    self.container = container.kind
    modelType = model.kind.typeName
    specificationVersion = model.specificationVersion
    minimumOS = MinimumOS(specificationVersion: model.specificationVersion) ?? MinimumOS()
    versionReasons = requirements.reasons
    neededVersion = requirements.needed
    metadata = MetadataFact(model.description?.metadata)
    isUpdatable = model.isUpdatable
    functions = FunctionFact.functions(of: model)
    sizes = container.sizes
    parameters = catalog.totals
    weights = catalog.facts
    children = try ChildFact.children(of: model)
    details = try ModelDetails.details(of: model)
    findings = []
    findings = Findings.findings(of: self, model)
  }
}

extension FunctionFact {
  static func functions(of model: Model) -> [FunctionFact] {
    guard case .program(let program) = model.kind else {
      if let description = model.description, !description.functions.isEmpty {
        return description.functions.map { function in
          FunctionFact(function, isDefault: function.name == description.defaultFunctionName)
        }
      }
      var function = FunctionFact(
        name: "main", isDefault: true, opset: nil, description: model.description)
      if case .neuralNetwork(let network) = model.kind {
        function.count(network.layers.map(\.type))
      }
      return [function]
    }
    let description = model.description
    let only = program.functions.count == 1
    let standard =
      description.flatMap { $0.defaultFunctionName.isEmpty ? nil : $0.defaultFunctionName }
      ?? (only ? program.functions.keys.first : "main")
    var functions = program.functions.map { name, function in
      FunctionFact(
        name: name, function: function, isDefault: name == standard, description: description)
    }
    if let place = functions.firstIndex(where: \.isDefault) {
      functions.insert(functions.remove(at: place), at: 0)
    }
    return functions
  }

  private init(name: String, isDefault: Bool, opset: String?, description: ModelDescription?) {
    self.name = name
    self.isDefault = isDefault
    self.opset = opset
    inputs = description?.inputs.map { FeatureFact($0) } ?? []
    outputs = description?.outputs.map { FeatureFact($0) } ?? []
    states = description?.states.map { FeatureFact($0) } ?? []
    operationCount = 0
    operations = []
  }

  /// A function of which only the interface is known.
  private init(_ description: FunctionDescription, isDefault: Bool) {
    self.init(name: description.name, isDefault: isDefault, opset: nil, description: nil)
    inputs = description.inputs.map { FeatureFact($0) }
    outputs = description.outputs.map { FeatureFact($0) }
    states = description.states.map { FeatureFact($0) }
  }

  private init(
    name: String, function: Function, isDefault: Bool, description: ModelDescription?
  ) {
    self.init(name: name, isDefault: isDefault, opset: function.opset, description: description)
    if let own = description?.functions.first(where: { $0.name == name }) {
      inputs = own.inputs.map { FeatureFact($0) }
      outputs = own.outputs.map { FeatureFact($0) }
      states = own.states.map { FeatureFact($0) }
    } else if inputs.isEmpty && outputs.isEmpty {
      setInterface(of: function)
    }
    guard let block = function.activeBlock else { return }
    var types: [String] = []
    block.forEachOperation { operation, _ in
      if !operation.isConst { types.append(operation.type) }
    }
    count(types)
  }

  /// Takes the interface from the program, for a function that no description tells of.
  private mutating func setInterface(of function: Function) {
    for input in function.inputs {
      let fact = FeatureFact(input)
      if fact.kind == .state { states.append(fact) } else { inputs.append(fact) }
    }
    guard let block = function.activeBlock else { return }
    let types = Dictionary(
      block.operations.flatMap(\.outputs).map { ($0.name, $0.type) }
    ) { _, last in last }
    outputs = block.outputs.map { FeatureFact(NamedValueType($0, types[$0] ?? nil)) }
  }

  private mutating func count(_ types: [String]) {
    var counts: [String: Int] = [:]
    for type in types { counts[type, default: 0] += 1 }
    operationCount = types.count
    operations = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { (type: $0.key, count: $0.value) }
  }
}

extension ChildFact {
  static func children(of model: Model) throws -> [ChildFact] {
    guard case .pipeline(let pipeline) = model.kind else { return [] }
    var producers: [String: Flow.Origin] = [:]
    for input in model.description?.inputs ?? [] { producers[input.name] = .pipeline }
    return try pipeline.models.enumerated().map { index, child in
      let name = pipeline.name(of: index)
      let inputs = child.description?.inputs ?? []
      let sources = inputs.map {
        Flow(feature: $0.name, origin: producers[$0.name] ?? .nothing)
      }
      for output in child.description?.outputs ?? [] { producers[output.name] = .child(name) }
      return ChildFact(
        name: name, modelType: child.kind.typeName,
        specificationVersion: child.specificationVersion, isUpdatable: child.isUpdatable,
        inputs: inputs.map { FeatureFact($0) },
        outputs: child.description?.outputs.map { FeatureFact($0) } ?? [], sources: sources,
        functions: FunctionFact.functions(of: child),
        details: try ModelDetails.details(of: child), children: try children(of: child))
    }
  }
}
