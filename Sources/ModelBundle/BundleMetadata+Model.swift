import ModelGraph
import ModelInspection
import ModelTensors

extension BundleMetadata {
  /// The metadata of a model.
  ///
  /// - Parameter className: The name of the class that Xcode would generate.
  init(_ model: Model, className: String) {
    let description = model.description ?? ModelDescription()
    specificationVersion = model.specificationVersion
    isUpdatable = model.isUpdatable ? "1" : "0"
    generatedClassName = className
    modelType = Kind(model)
    availability = BundleMetadata.availability(model.specificationVersion)
    let standard = description.functions.first { $0.name == description.defaultFunctionName }
    inputSchema = (standard?.inputs ?? description.inputs).map(FeatureSchema.init)
    outputSchema = (standard?.outputs ?? description.outputs).map(FeatureSchema.init)
    stateSchema = (standard?.states ?? description.states).map(FeatureSchema.init)
    let metadata = description.metadata ?? Metadata()
    func present(_ text: String) -> String? { text.isEmpty ? nil : text }
    shortDescription = present(metadata.shortDescription)
    author = present(metadata.author)
    license = present(metadata.license)
    version = present(metadata.version)
    userDefinedMetadata = Dictionary(metadata.userDefined.map { ($0, $1) }) { _, last in last }
    let programs = model.programs
    if programs.isEmpty { return }
    storagePrecision = BundleMetadata.precision(of: BundleMetadata.stored(programs))
    if description.functions.isEmpty {
      let functions = programs.flatMap { $0.functions.map { $1 } }
      computePrecision = BundleMetadata.computePrecision(functions)
      mlProgramOperationTypeHistogram = BundleMetadata.histogram(functions)
      return
    }
    defaultFunctionName = description.defaultFunctionName
    functions = description.functions.map { function in
      let own = model.program?.functions[function.name].map { [$0] } ?? []
      return FunctionSchema(
        name: function.name, computePrecision: BundleMetadata.computePrecision(own),
        inputSchema: function.inputs.map(FeatureSchema.init),
        outputSchema: function.outputs.map(FeatureSchema.init),
        stateSchema: function.states.map(FeatureSchema.init),
        mlProgramOperationTypeHistogram: BundleMetadata.histogram(own))
    }
    let main = model.program?.functions[description.defaultFunctionName].map { [$0] } ?? []
    computePrecision = BundleMetadata.computePrecision(main)
    mlProgramOperationTypeHistogram = BundleMetadata.histogram(main)
  }

  /// The first releases that load a specification version, by the names that Apple uses.
  private static func availability(_ version: Int) -> [String: String] {
    guard let systems = MinimumOS(specificationVersion: version) else { return [:] }
    let names = [
      ("macOS", systems.macos), ("iOS", systems.ios), ("macCatalyst", systems.ios),
      ("tvOS", systems.tvos), ("watchOS", systems.watchos), ("visionOS", systems.visionos),
    ]
    return Dictionary(names.compactMap { name, version in version.map { (name, $0) } }) { $1 }
  }

  /// Element types as Apple names them: one name, or `Mixed (…)`, sorted; nil without any.
  private static func precision(of types: Set<ElementType>) -> String? {
    let names = types.compactMap(\.precisionName).sorted()
    return names.count > 1 ? "Mixed (\(names.joined(separator: ", ")))" : names.first
  }

  private static func stored(_ programs: [Program]) -> Set<ElementType> {
    var types: Set<ElementType> = []
    for program in programs {
      program.forEachWeight { types.insert($0.source.elementType) }
    }
    return types
  }

  /// The element types that the operations of functions yield.
  private static func computePrecision(_ functions: [Function]) -> String? {
    var types: Set<ElementType> = []
    for function in functions {
      function.activeBlock?.forEachOperation { operation, _ in
        if operation.isConst { return }
        for output in operation.outputs {
          if let type = output.type?.tensor?.elementType { types.insert(type) }
        }
      }
    }
    return precision(of: types)
  }

  private static func histogram(_ functions: [Function]) -> [String: Int] {
    var counts: [String: Int] = [:]
    for function in functions {
      function.activeBlock?.forEachOperation { operation, _ in
        if operation.isConst { return }
        counts[OperationNames.name(of: operation.type, opset: function.opset).name, default: 0] += 1
      }
    }
    return counts
  }
}

extension BundleMetadata.Kind {
  init(_ model: Model) {
    name = "MLModelType_\(model.kind.typeName)"
    if case .pipeline(let pipeline) = model.kind {
      structure = pipeline.models.map(BundleMetadata.Kind.init)
    }
  }
}

extension Model {
  /// The programs of the model and of the models in it.
  var programs: [Program] {
    switch kind {
    case .program(let program): [program]
    case .pipeline(let pipeline): pipeline.models.flatMap(\.programs)
    default: []
    }
  }
}

extension ElementType {
  /// The name in `metadata.json`; nil for types that are not numbers.
  fileprivate var precisionName: String? {
    switch self {
    case .bool, .string: nil
    case .float16: "Float16"
    case .float32: "Float32"
    case .float64: "Double"
    case .bfloat16: "BFloat16"
    case .float8E4M3FN: "Float8E4M3FN"
    case .float8E5M2: "Float8E5M2"
    case .int4, .int8, .int16, .int32, .int64: "Int\(bitWidth)"
    default: "UInt\(bitWidth)"
    }
  }
}
