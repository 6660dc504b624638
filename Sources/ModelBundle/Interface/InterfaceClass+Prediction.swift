// Predictions.
extension InterfaceClass {
  func writePredictions(to source: inout SwiftSource) {
    write(
      "Predicts.", "func prediction(input: \(inputName)) throws -> \(outputName)",
      ["try self.prediction(input: input, options: MLPredictionOptions())"], to: &source)
    write(
      "Predicts with options.",
      "func prediction(input: \(inputName), options: MLPredictionOptions) throws -> \(outputName)",
      ["\(outputName)(features: try model.prediction(from: input, options: options))"],
      to: &source)
    write(
      "Predicts without blocking the caller.",
      "func prediction(input: \(inputName), "
        + "options: MLPredictionOptions = MLPredictionOptions()) async throws -> \(outputName)",
      ["\(outputName)(features: try await model.prediction(from: input, options: options))"],
      .suspendingPrediction, to: &source)
    // No local variables here: any name may be that of a parameter.
    let parameters = inputs.map(\.parameter)
    let arguments = inputs.map(\.argument).joined(separator: ", ")
    write(
      "Predicts from the inputs one by one.",
      "func prediction(\(parameters.joined(separator: ", "))) throws -> \(outputName)",
      ["try self.prediction(input: \(inputName)(\(arguments)))"], to: &source)
    if hasStates { writeStateful(parameters, arguments, to: &source) }
    write(
      "Predicts from each of the inputs.",
      "func predictions(inputs: [\(inputName)], "
        + "options: MLPredictionOptions = MLPredictionOptions()) throws -> [\(outputName)]",
      [
        "let batch = MLArrayBatchProvider(array: inputs)",
        "let outputs = try model.predictions(from: batch, options: options)",
        "return (0..<outputs.count).map { index in "
          + "\(outputName)(features: outputs.features(at: index)) }",
      ], .configuration, to: &source)
  }

  private func writeStateful(
    _ parameters: [String], _ arguments: String, to source: inout SwiftSource
  ) {
    write(
      "A new state, all zeros.", "func makeState() -> MLState", ["model.makeState()"], .state,
      to: &source)
    write(
      "Predicts and changes the state.",
      "func prediction(input: \(inputName), using state: MLState) throws -> \(outputName)",
      ["\(outputName)(features: try model.prediction(from: input, using: state))"], .state,
      to: &source)
    write(
      "Predicts with options and changes the state.",
      "func prediction(input: \(inputName), using state: MLState, options: MLPredictionOptions) "
        + "throws -> \(outputName)",
      [
        "\(outputName)(features: "
          + "try model.prediction(from: input, using: state, options: options))"
      ], .state, to: &source)
    write(
      "Predicts without blocking the caller and changes the state.",
      "func prediction(input: \(inputName), using state: MLState, "
        + "options: MLPredictionOptions = MLPredictionOptions()) async throws -> \(outputName)",
      [
        "\(outputName)(features: "
          + "try await model.prediction(from: input, using: state, options: options))"
      ], .state, to: &source)
    let state = SwiftScope(reserved: Set(inputs.map(\.identifier))).free("state")
    write(
      "Predicts from the inputs one by one and changes the state.",
      "func prediction(\((parameters + ["using \(state): MLState"]).joined(separator: ", "))) "
        + "throws -> \(outputName)",
      ["try self.prediction(input: \(inputName)(\(arguments)), using: \(state))"], .state,
      to: &source)
  }

  private func write(
    _ documentation: String, _ declaration: String, _ lines: [String],
    _ need: InterfaceAvailability? = nil, to source: inout SwiftSource
  ) {
    source.line()
    source.document(documentation)
    source.attribute(need.flatMap { availability.attribute(ofMember: $0) })
    source.block(declaration) { source in
      for line in lines { source.line(line) }
    }
  }
}
