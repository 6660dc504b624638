import ModelFiles
import ModelGraph
import ModelInspection
import ModelSpec

/// The Swift classes through which an app uses a model, as Xcode would generate them.
///
/// A class per function: for the inputs, for the outputs, and for loading and prediction.
public struct SwiftInterface: Sendable {
  /// The source of the file.
  public let source: String
  /// The name of the class that loads the model.
  public let className: String

  /// The interface of a model.
  ///
  /// - Parameter name: The model's name, under which its bundle is looked for.
  /// - Throws: ``BundleError`` when the model has no description, `SpecError` when its labels cannot
  ///   be read.
  public init(_ model: Model, name: String) throws {
    guard let description = model.description, description.hasInterface else {
      throw BundleError(
        .unsupported, "the model has no description of inputs and outputs to make an interface of")
    }
    let plan = try InterfacePlan(model, description, name: name)
    var source = SwiftSource()
    source.line("//")
    source.line("// \(plan.classes.first?.name ?? name).swift")
    source.line("//")
    source.line(
      "// The Swift interface of the Core ML model \(SwiftSource.oneLine(name)), written by mlt.")
    source.line("// Generate it again when the model changes; edits in this file are lost then.")
    source.line("//")
    source.line()
    source.line("import CoreML")
    for part in plan.classes { part.write(to: &source) }
    self.source = source.text
    className = plan.classes.first?.name ?? ""
  }
}

extension SwiftInterface {
  /// The interface of the model at `path`, in any form; its weight files need not be there.
  ///
  /// - Throws: As ``init(_:name:)`` does, and `FileError`.
  public init(path: String) throws {
    let container = try ModelContainer.open(path: path, readingWeights: false)
    let model: Model
    if container.contents == .compiled {
      model = try CompiledModel(container, resolvingWeights: false).model
    } else {
      model = try ModelDecoder(weights: UnopenedWeights()).decode(
        container.specification.bytes, path: container.specification.path)
    }
    try self.init(model, name: ModelName.stem(of: path))
  }
}

extension ModelDescription {
  fileprivate var hasInterface: Bool {
    !functions.isEmpty || !inputs.isEmpty || !outputs.isEmpty
  }
}

/// The classes of an interface with their names.
struct InterfacePlan {
  /// The classes, that of the default function first.
  let classes: [InterfaceClass]

  init(_ model: Model, _ description: ModelDescription, name: String) throws {
    var types = SwiftScope(
      reserved: SwiftIdentifier.reserved.union(SwiftIdentifier.keywords))
    let endings = ["Input", "Output", "State", "TrainingInput"]
    let className = types.take(SwiftIdentifier.typeName(name), endings: endings)
    var parts: [(name: String, function: FunctionDescription, isNamed: Bool)] = []
    if description.functions.isEmpty {
      var only = FunctionDescription()
      only.inputs = description.inputs
      only.outputs = description.outputs
      only.states = description.states
      parts.append((className, only, false))
    }
    for (index, function) in InterfacePlan.ordered(description).enumerated() {
      let own =
        index == 0
        ? className
        : types.take(
          SwiftIdentifier.typeName("\(className)_\(function.name)"), endings: endings)
      parts.append((own, function, true))
    }
    let reserved = SwiftIdentifier.reserved
      .union(parts.flatMap { part in ([""] + endings).map { part.name + $0 } })
    let base = InterfacePlan.availability(model, description)
    classes = try parts.map { part in
      InterfaceClass(
        name: part.name, resource: name, functionName: part.isNamed ? part.function.name : nil,
        function: part.function,
        trainingInputs: part.isNamed || !model.isUpdatable ? [] : description.trainingInputs,
        labels: try model.classLabels(ofFunction: part.isNamed ? part.function.name : nil),
        metadata: description.metadata, availability: base, reserved: reserved)
    }
  }

  /// The functions, the default one first.
  private static func ordered(_ description: ModelDescription) -> [FunctionDescription] {
    var seen = Set<String>()
    var functions = description.functions.filter { seen.insert($0.name).inserted }
    let first =
      functions.firstIndex { $0.name == description.defaultFunctionName }
      ?? functions.firstIndex { $0.name == "main" }
    if let first, first > 0 { functions.insert(functions.remove(at: first), at: 0) }
    return functions
  }

  /// The releases that have the model's version and what all its classes use.
  private static func availability(
    _ model: Model, _ description: ModelDescription
  ) -> InterfaceAvailability {
    let base = InterfaceAvailability(specificationVersion: model.specificationVersion)
    if !description.functions.isEmpty { return base.joined(.state) }
    let hasSequence = (description.inputs + description.outputs).contains {
      if case .sequence? = $0.type?.kind { true } else { false }
    }
    return hasSequence ? base.joined(.configuration) : base
  }
}

/// The classes of one function.
struct InterfaceClass {
  /// The name of the class that loads and predicts.
  let name: String
  /// The name of the bundle without its ending.
  let resource: String
  /// The function that is called by its name; nil for a model of one function.
  let functionName: String?
  let inputs: [InterfaceFeature]
  let outputs: [InterfaceFeature]
  let trainingInputs: [InterfaceFeature]
  let states: [InterfaceFeature]
  let labels: ClassLabels?
  let metadata: Metadata?
  let availability: InterfaceAvailability
  /// Names that no member may have.
  let reserved: Set<String>

  init(
    name: String, resource: String, functionName: String?, function: FunctionDescription,
    trainingInputs: [FeatureDescription], labels: ClassLabels?, metadata: Metadata?,
    availability: InterfaceAvailability, reserved: Set<String>
  ) {
    self.name = name
    self.resource = resource
    self.functionName = functionName
    let members = reserved.union(SwiftIdentifier.members)
    func named(_ features: [FeatureDescription]) -> [InterfaceFeature] {
      var scope = SwiftScope(reserved: members)
      return InterfaceFeature.named(features, in: &scope)
    }
    inputs = named(function.inputs)
    outputs = named(function.outputs)
    self.trainingInputs = named(trainingInputs)
    var cases = SwiftScope(
      reserved: reserved.union(["AllCases", "Name", "RawValue", "allCases", "rawValue"]))
    states = InterfaceFeature.named(function.states, in: &cases)
    self.labels = labels
    self.metadata = metadata
    self.availability = availability
    self.reserved = members
  }

  var inputName: String { name + "Input" }
  var outputName: String { name + "Output" }
  var stateName: String { name + "State" }

  func write(to source: inout SwiftSource) {
    writeInput(inputName, inputs, title: "The inputs of \(name).", to: &source)
    if !trainingInputs.isEmpty {
      writeInput(
        name + "TrainingInput", trainingInputs, title: "The inputs of training \(name).",
        to: &source)
    }
    writeOutput(to: &source)
    if !states.isEmpty { writeState(to: &source) }
    writeModel(to: &source)
  }
}
