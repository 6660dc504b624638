import ModelGraph
import ModelTensors

/// Checks a model's interface against the functions of its program.
struct InterfaceVerifier {
  let program: Program
  let description: ModelDescription
  private var found: [Finding] = []

  init(program: Program, description: ModelDescription) {
    self.program = program
    self.description = description
  }

  /// All findings, by function.
  func findings() -> [Finding] {
    var verifier = self
    if description.functions.isEmpty {
      verifier.checkSingleFunction()
    } else {
      verifier.checkFunctions()
    }
    return verifier.found
  }

  private mutating func report(
    _ severity: Finding.Severity, _ place: String, _ message: String, hint: String? = nil
  ) {
    found.append(Finding(.interface, severity, at: place, message, hint: hint))
  }

  private mutating func checkSingleFunction() {
    let name = description.defaultFunctionName.isEmpty ? "main" : description.defaultFunctionName
    let function = program.functions[name] ?? program.functions.first?.value
    guard let function else { return }
    let place = program.functions[name] == nil ? program.functions.first?.key ?? name : name
    if program.functions[name] == nil {
      found.append(
        Finding(
          .missingFunction, .error, at: "interface", "The program has no function \"\(name)\"."))
    }
    check(
      function, at: place, inputs: description.inputs, outputs: description.outputs,
      states: description.states)
    check(
      label: description.predictedFeatureName,
      probabilities: description.predictedProbabilitiesName, outputs: description.outputs,
      at: place)
  }

  private mutating func checkFunctions() {
    var described: Set<String> = []
    for entry in description.functions {
      if !described.insert(entry.name).inserted {
        report(.error, entry.name, "The function is described twice.")
      }
      guard let function = program.functions[entry.name] else {
        found.append(
          Finding(
            .missingFunction, .error, at: "interface",
            "The program has no function \"\(entry.name)\"."))
        continue
      }
      check(
        function, at: entry.name, inputs: entry.inputs, outputs: entry.outputs,
        states: entry.states)
      check(
        label: entry.predictedFeatureName, probabilities: entry.predictedProbabilitiesName,
        outputs: entry.outputs, at: entry.name)
    }
    for name in program.functions.keys where !described.contains(name) {
      report(.warning, name, "The interface does not describe the function.")
    }
    if !described.contains(description.defaultFunctionName) {
      found.append(
        Finding(
          .missingFunction, .error, at: "interface",
          "The default function \"\(description.defaultFunctionName)\" is not described."))
    }
  }

  private mutating func check(
    label: String, probabilities: String, outputs: [FeatureDescription], at place: String
  ) {
    for name in [label, probabilities]
    where !name.isEmpty && !outputs.contains(where: { $0.name == name }) {
      report(.error, place, "The predicted feature \"\(name)\" is no output.")
    }
  }

  private mutating func check(
    _ function: Function, at place: String, inputs: [FeatureDescription],
    outputs: [FeatureDescription], states: [FeatureDescription]
  ) {
    for list in [inputs + states, outputs] {
      var names: Set<String> = []
      for feature in list where !names.insert(feature.name).inserted {
        report(.error, "\(place).\(feature.name)", "The feature is described twice.")
      }
    }
    var described: Set<String> = []
    for feature in inputs {
      described.insert(feature.name)
      guard let input = function.inputs.first(where: { $0.name == feature.name }) else {
        report(.error, "\(place).\(feature.name)", "The function has no such input.")
        continue
      }
      if case .state = input.type?.kind {
        report(.error, "\(place).\(feature.name)", "The input is a state in the function.")
      } else {
        compare(feature, input.type, at: place)
      }
    }
    for feature in states {
      described.insert(feature.name)
      guard let input = function.inputs.first(where: { $0.name == feature.name }) else {
        report(.error, "\(place).\(feature.name)", "The function has no such state.")
        continue
      }
      guard case .state = input.type?.kind else {
        report(.error, "\(place).\(feature.name)", "The state is no state in the function.")
        continue
      }
      compare(feature, input.type, at: place)
    }
    for input in function.inputs where !described.contains(input.name) {
      report(
        .error, "\(place).\(input.name)", "The interface does not describe the function's input.")
    }
    checkOutputs(function, at: place, outputs)
  }

  private mutating func checkOutputs(
    _ function: Function, at place: String, _ outputs: [FeatureDescription]
  ) {
    guard let block = function.activeBlock else { return }
    var types: [String: ValueType] = [:]
    for input in function.inputs { types[input.name] = input.type }
    for operation in block.operations {
      for output in operation.outputs { types[output.name] = output.type }
    }
    for feature in outputs {
      if block.outputs.contains(feature.name) {
        compare(feature, types[feature.name], at: place)
      } else {
        report(.error, "\(place).\(feature.name)", "The function has no such output.")
      }
    }
    for name in block.outputs where !outputs.contains(where: { $0.name == name }) {
      report(
        .warning, "\(place).\(name)", "The interface does not describe the function's output.")
    }
  }

  /// Compares element type and rank of a multi-array with those of the value behind it.
  private mutating func compare(
    _ feature: FeatureDescription, _ type: ValueType?, at place: String
  ) {
    let array: ArrayType
    switch feature.type?.kind {
    case .multiArray(let type): array = type
    case .state(let type?): array = type
    case .absent, nil:
      report(.error, "\(place).\(feature.name)", "The feature has no type.")
      return
    default: return
    }
    guard let tensor = type?.tensorOrStateTensor, let element = tensor.elementType else { return }
    if array.dataType.elementType != element {
      report(
        .error, "\(place).\(feature.name)",
        "The interface says \(array.dataType.name), the function \(element.rawValue).")
    }
    // Outputs may be described without a shape.
    if !array.shape.isEmpty, tensor.hasFixedRank, array.shape.count != tensor.dimensions.count,
      !(tensor.dimensions.isEmpty && array.shape == [1])
    {
      report(
        .warning, "\(place).\(feature.name)",
        "The interface says rank \(array.shape.count), the function \(tensor.dimensions.count).")
    }
  }
}

extension ArrayType.DataType {
  /// The element type of the same name, or nil for an unknown number.
  fileprivate var elementType: ElementType? { ElementType(rawValue: name) }
}
