import ModelGraph
import ModelOperations
import ModelSpec

extension Compressor {
  /// Moves carried weights to their new places and puts the encoded constants in.
  ///
  /// - Returns: Notes on what could not be kept.
  func apply(
    _ outcome: WeightAssembly.Outcome, _ index: ConstantIndex, to model: inout Model
  ) throws -> [String] {
    var notes: [String] = []
    try model.updateEachProgram { model, place in
      guard var program = model.program else { return }
      program.updateEachWeight { weight in
        if let new = outcome.places[weight.key] { weight.reference = new }
      }
      var patches: [Patch] = []
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          var edits: [Patch.Edit] = []
          block.forEachOperation { operation, path in
            let site = ConstantSite(
              place: place, function: name, specialization: key, operation, path)
            if let number = index.byUpstream[site], outcome.encoded[number] != nil {
              edits.append(.replace(path, with: []))
            } else if let number = index.bySite[site], let encoded = outcome.encoded[number] {
              let (operations, dropped) = Compressor.replacement(of: operation, encoded)
              edits.append(.replace(path, with: operations))
              for attribute in dropped {
                notes.append(
                  "\(name)/\(operation.name): the attribute \"\(attribute)\" is dropped, "
                    + "\(operations.last?.type ?? "") takes none")
              }
            }
          }
          if edits.isEmpty { continue }
          patches.append(
            Patch(label: "compress", function: name, specialization: key, edits: edits))
        }
      }
      try program.apply(patches)
      model.program = program
    }
    return notes
  }

  /// The operations for an encoded constant; what a plain constant had beside its value is kept, but
  /// not its extra attributes where an operation reads attributes as parameters.
  static func replacement(
    of constant: GraphOperation, _ encoded: EncodedConstant
  ) -> (operations: [GraphOperation], dropped: [String]) {
    guard let output = constant.outputs.last else { return ([constant], []) }
    var parts = encoded.parts
    if let document = constant.attributes["val"]?.docString, !document.isEmpty, !parts.isEmpty {
      parts[0].docString = document
    }
    var operations = encoded.prepared.operations(
      output: output.name, name: constant.name, parts: parts)
    guard var last = operations.popLast() else { return ([constant], []) }
    if last.outputs.first?.type?.tensor?.dataType == output.type?.tensor?.dataType {
      last.outputs[0] = output
    }
    guard constant.isConst else { return (operations + [last], []) }
    var dropped: [String] = []
    for (name, value) in constant.attributes where name != "val" && name != "name" {
      if last.isConstexpr {
        dropped.append(name)
      } else if last.attributes[name] == nil {
        last.attributes[name] = value
      }
    }
    last.unknownFields = constant.unknownFields
    return (operations + [last], dropped)
  }

  static func errors(in model: Model) -> Set<String> {
    var messages: Set<String> = []
    for (model, program) in programs(model) {
      for finding in Verifier.findings(
        program: program, specificationVersion: model.specificationVersion,
        description: model.description) where finding.severity == .error
      {
        messages.insert("\(finding.place): \(finding.message)")
      }
    }
    return messages
  }

  /// Throws when the graph itself is broken: names that nothing defines, or that two things define.
  static func checkGraph(_ model: Model) throws {
    let structural: Set<Finding.Code> = [
      .undefinedName, .redefinition, .blockOutput, .missingBlock, .missingFunction,
    ]
    for (model, program) in programs(model) {
      let findings = Verifier.findings(
        program: program, specificationVersion: model.specificationVersion,
        description: model.description)
      if let first = findings.first(where: {
        $0.severity == .error && structural.contains($0.code)
      }) {
        throw SpecError(first.message, place: first.place)
      }
    }
  }

  /// Throws when the model has errors that it did not have before.
  func verify(_ model: Model, _ known: Set<String>) throws {
    if let first = Compressor.errors(in: model).subtracting(known).min() {
      throw PassError.invalidResult(first)
    }
  }

  func forEachOperation(
    of model: Model, _ body: (ConstantSite, GraphOperation) -> Void
  ) {
    model.forEachProgram { program, place in
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          block.forEachOperation { operation, path in
            body(
              ConstantSite(
                place: place, function: name, specialization: key, operation, path), operation)
          }
        }
      }
    }
  }
}
