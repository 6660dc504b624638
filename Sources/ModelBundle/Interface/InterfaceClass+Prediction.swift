// Predictions.
extension InterfaceClass {
  /// The predictions; those of a model with states all take a state, and there are none in batches.
  func writePredictions(to source: inout SwiftSource) {
    if !states.isEmpty {
      write(
        "New states, all zeros.", "func makeState() -> \(stateName)",
        "\(stateName)(handle: model.makeState())", .state, to: &source)
    }
    let options = "options: MLPredictionOptions"
    let from = "from: input\(states.isEmpty ? "" : ", using: state.handle"), options: options"
    write(
      "Predicts.", "func prediction(input: \(inputName)\(state)) throws -> \(outputName)",
      "try self.prediction(input: input\(given("state")), options: MLPredictionOptions())",
      to: &source)
    write(
      "Predicts with options.",
      "func prediction(input: \(inputName)\(state), \(options)) throws -> \(outputName)",
      "\(outputName)(features: try model.prediction(\(from)))", to: &source)
    write(
      "Predicts without blocking the caller.",
      "func prediction(input: \(inputName)\(state), \(options) = MLPredictionOptions()) "
        + "async throws -> \(outputName)",
      "\(outputName)(features: try await model.prediction(\(from)))", .suspendingPrediction,
      to: &source)
    writeConvenience(to: &source)
    if states.isEmpty { writeBatch(to: &source) }
  }

  /// The parameter of the states behind that of the inputs.
  private var state: String { states.isEmpty ? "" : ", using state: \(stateName)" }
  /// The argument of the states.
  private func given(_ name: String) -> String { states.isEmpty ? "" : ", using: \(name)" }

  /// Predictions that take the inputs one by one.
  private func writeConvenience(to source: inout SwiftSource) {
    // No local variables here: any name may be that of a parameter.
    let name = SwiftScope(reserved: Set(inputs.map(\.identifier))).free("state")
    let last = states.isEmpty ? [] : ["using \(name): \(stateName)"]
    let arguments = inputs.map(\.argument).joined(separator: ", ")
    let body = "try self.prediction(input: \(inputName)(\(arguments))\(given(name)))"
    func declaration(_ parameters: [String]) -> String {
      "func prediction(\((parameters + last).joined(separator: ", "))) throws -> \(outputName)"
    }
    write(
      "Predicts from the inputs one by one.", declaration(inputs.map(\.parameter)), body,
      to: &source)
    guard let shaped = ShapedParameters(inputs) else { return }
    write(
      "Predicts from the inputs one by one, arrays as shaped arrays.", declaration(shaped.list),
      body, shaped.availability, condition: shaped.condition, to: &source)
  }

  private func writeBatch(to source: inout SwiftSource) {
    source.line()
    source.document("Predicts from each of the inputs.")
    source.attribute(availability.attribute(ofMember: .configuration))
    source.block(
      "func predictions(inputs: [\(inputName)], "
        + "options: MLPredictionOptions = MLPredictionOptions()) throws -> [\(outputName)]"
    ) { source in
      source.line("let batch = MLArrayBatchProvider(array: inputs)")
      source.line("let outputs = try model.predictions(from: batch, options: options)")
      source.line(
        "return (0..<outputs.count).map { index in "
          + "\(outputName)(features: outputs.features(at: index)) }")
    }
  }

  /// A method of one line.
  private func write(
    _ documentation: String, _ declaration: String, _ body: String,
    _ need: InterfaceAvailability? = nil, condition: String? = nil, to source: inout SwiftSource
  ) {
    let needs = [need, states.isEmpty ? nil : .state].compactMap { $0 }
    source.line()
    source.conditional(condition) { source in
      source.document(documentation)
      source.attribute(
        availability.attribute(ofMember: needs.reduce(availability) { $0.joined($1) }))
      source.block(declaration) { source in source.line(body) }
    }
  }
}
