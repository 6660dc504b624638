import ModelGraph
import ModelTensors

/// Checks programs against the rules of the format and the table of operations.
public enum Verifier {
  /// Everything worth saying about a program, function by function in the order of the file, at
  /// last about its interface.
  ///
  /// - Parameter description: The model's interface; nil leaves it unchecked.
  public static func findings(
    program: Program, specificationVersion: Int, description: ModelDescription? = nil
  ) -> [Finding] {
    var findings: [Finding] = []
    if program.functions.isEmpty {
      findings.append(
        Finding(.missingFunction, .error, at: "program", "The program has no function."))
    }
    for (name, function) in program.functions {
      findings += check(function, name: name, specificationVersion)
    }
    if let description {
      findings += InterfaceVerifier(program: program, description: description).findings()
    }
    return findings
  }

  /// Everything worth saying about a model, of pipelines about every child; nothing about kinds
  /// that hold no program.
  public static func findings(_ model: Model) -> [Finding] {
    switch model.kind {
    case .program(let program):
      return findings(
        program: program, specificationVersion: model.specificationVersion,
        description: model.description)
    case .pipeline(let pipeline):
      return pipeline.models.enumerated().flatMap { index, child in
        findings(child).map { finding in
          var finding = finding
          finding.place = "\(pipeline.name(of: index))/\(finding.place)"
          return finding
        }
      }
    case .neuralNetwork, .other, .absent:
      return []
    }
  }

  /// The first error of a program, or nil when it has none.
  public static func firstError(
    program: Program, specificationVersion: Int, description: ModelDescription? = nil
  ) -> Finding? {
    findings(
      program: program, specificationVersion: specificationVersion, description: description
    ).first { $0.severity == .error }
  }

  private static func check(
    _ function: Function, name: String, _ version: Int
  ) -> [Finding] {
    var findings: [Finding] = []
    if name.isEmpty {
      findings.append(Finding(.emptyName, .error, at: "program", "A function has no name."))
    }
    let expected = Opset.name(specificationVersion: version)
    if let own = Opset.specificationVersion(function.opset) {
      if own > version {
        findings.append(
          Finding(
            .opset, .error, at: name,
            "The opset \(function.opset) needs specification version \(own), the model has "
              + "\(version)."))
      } else if own < version {
        findings.append(
          Finding(
            .opset, .warning, at: name,
            "The opset is \(function.opset), that of specification version \(version) is "
              + "\(expected)."))
      }
    } else {
      findings.append(
        Finding(
          .opset, .error, at: name, "\"\(function.opset)\" is no opset.",
          hint: "That of specification version \(version) is \(expected)."))
    }
    guard let block = function.activeBlock else {
      findings.append(
        Finding(
          .missingBlock, .error, at: name, "There is no block for the opset \(function.opset).",
          hint: function.specializations.isEmpty
            ? nil : "Blocks: \(function.specializations.keys.joined(separator: ", "))."))
      return findings
    }
    var verifier = BlockVerifier(
      function: name, version: Opset.specificationVersion(function.opset) ?? version)
    verifier.check(function, block)
    return findings + verifier.findings
  }
}

/// Checks the block of one function.
struct BlockVerifier {
  let function: String
  /// The specification version of the function's opset.
  let version: Int
  var findings: [Finding] = []
  var scope = ValueScope()
  private var operationNames: [String: Int] = [:]

  init(function: String, version: Int) {
    self.function = function
    self.version = version
  }

  /// Adds a finding about an operation.
  mutating func report(
    _ code: Finding.Code, _ severity: Finding.Severity, _ operation: GraphOperation,
    _ message: String, hint: String? = nil
  ) {
    let place = "\(function)/\(operation.name)"
    findings.append(Finding(code, severity, at: place, message, hint: hint))
  }

  /// Adds a finding about an input or attribute of an operation.
  mutating func report(
    _ code: Finding.Code, _ severity: Finding.Severity, _ operation: GraphOperation,
    _ input: String, _ message: String, hint: String? = nil
  ) {
    let place = "\(function)/\(operation.name).\(input)"
    findings.append(Finding(code, severity, at: place, message, hint: hint))
  }

  /// Checks a function and its active block.
  mutating func check(_ function: Function, _ block: Block) {
    for input in function.inputs { check(input, at: self.function) }
    scope.add(function.inputs)
    checkInputs(of: function)
    checkNames(function, block)
    check(block)
    for name in block.outputs {
      if case .state = scope.type(name)?.kind {
        findings.append(
          Finding(.state, .error, at: self.function, "The output \(name) is a state."))
      }
    }
    for (name, count) in operationNames.sorted(by: { $0.key < $1.key }) where count > 1 {
      findings.append(
        Finding(
          .duplicateName, .warning, at: "\(self.function)/\(name)",
          "\(count) operations have this name."))
    }
  }

  private mutating func check(_ block: Block) {
    for operation in block.operations {
      operationNames[operation.name, default: 0] += 1
      check(operation)
      for nested in operation.blocks {
        let outer = scope
        scope.add(nested.inputs)
        for input in nested.inputs { check(input, at: "\(function)/\(operation.name)") }
        check(nested)
        scope = outer
      }
      scope.add(operation)
    }
  }

  /// Checks a definition's name and type.
  mutating func check(_ value: NamedValueType, at place: String) {
    if value.name.isEmpty {
      findings.append(Finding(.emptyName, .error, at: place, "A value has no name."))
    } else if BlockVerifier.reservedNames.contains(value.name) {
      findings.append(
        Finding(
          .reservedName, .warning, at: "\(place).\(value.name)",
          "\"\(value.name)\" is a word of the MIL language."))
    }
    guard let type = value.type else {
      findings.append(
        Finding(.missingType, .error, at: "\(place).\(value.name)", "The value has no type."))
      return
    }
    if let message = type.inconsistency {
      findings.append(Finding(.rank, .error, at: "\(place).\(value.name)", message))
    }
    if let number = type.unknownDataType {
      findings.append(
        Finding(
          .elementType, .warning, at: "\(place).\(value.name)",
          "\(number) is no known element type."))
    }
  }

  private mutating func checkInputs(of function: Function) {
    for input in function.inputs {
      guard case .state(let wrapped) = input.type?.kind else { continue }
      let place = "\(self.function).\(input.name)"
      if version < 9 {
        findings.append(
          Finding(
            .state, .error, at: place,
            "States need specification version 9, the function has \(version)."))
      }
      guard let tensor = wrapped?.tensor else {
        findings.append(Finding(.state, .error, at: place, "The state wraps no tensor."))
        continue
      }
      if tensor.shape == nil {
        findings.append(
          Finding(.state, .error, at: place, "The shape of a state must be fixed."))
      }
    }
  }

  private mutating func checkNames(_ function: Function, _ block: Block) {
    let uses = DefUse(inputs: function.inputs, block: block)
    for undefined in uses.undefined {
      switch undefined.use.consumer {
      case .operation(let path, let input, _):
        guard let operation = block[path] else { continue }
        report(
          .undefinedName, .error, operation, input,
          "\"\(undefined.name)\" is not defined before its use.")
      case .blockOutput(let path, let number, _):
        let owner = path.flatMap { block[$0]?.name }
        findings.append(
          Finding(
            .blockOutput, .error, at: owner.map { "\(self.function)/\($0)" } ?? self.function,
            "The output \"\(undefined.name)\""
              + (owner == nil ? "" : " of block \(number)") + " is not defined."))
      }
    }
    for redefinition in uses.redefinitions {
      switch redefinition.origin {
      case .functionInput:
        findings.append(
          Finding(
            .redefinition, .error, at: self.function,
            "Two inputs are named \"\(redefinition.name)\"."))
      case .operation(let path, _):
        guard let operation = block[path] else { continue }
        // Converters name outputs after the model's, which may be an input's name too.
        let hidesInput = function.inputs.contains { $0.name == redefinition.name }
        report(
          .redefinition, hidesInput ? .warning : .error, operation,
          hidesInput
            ? "The output \"\(redefinition.name)\" hides an input of that name."
            : "\"\(redefinition.name)\" is already defined.")
      case .blockInput(let path, _, _):
        guard let operation = block[path] else { continue }
        report(
          .redefinition, .warning, operation,
          "The block input \"\(redefinition.name)\" hides a value of that name.")
      }
    }
  }

  /// Words that a value may not be named by.
  private static let reservedNames: Set<String> = [
    "any", "bool", "program", "func", "tensor", "list", "dict", "tuple", "true", "false", "string",
    "bf16", "fp16", "fp32", "fp64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "state",
  ]
}
