import ModelToolchain
import TestSupport
import Testing

/// What is inferred is what converters have declared, for every program at hand.
@Suite struct ShapeInferenceConformanceTests {
  @Test(.enabled(if: !MILTextTests.models.isEmpty, Comment(rawValue: TestData.absence)))
  func inferredTypesAreThoseDeclared() throws {
    var steps = 0
    var withoutRule: [String: Int] = [:]
    var open: [String: Int] = [:]
    for path in MILTextTests.models {
      let loaded = try LoadedModel(path: path, readingWeights: false)
      loaded.model.forEachProgramModel { model, _ in
        for (name, function) in model.program?.functions ?? [:] {
          let inference = ShapeInference(function, name: name)
          #expect(inference.findings == [], "\(path)")
          for step in inference.steps {
            steps += 1
            if let fault = step.fault {
              withoutRule["\(step.operation.type): \(fault)", default: 0] += 1
            }
            // Where the declaration has a number, so has the inference without it.
            for (output, type) in zip(step.operation.outputs, step.outputs) {
              if output.type?.tensor?.shape != nil, type.tensor?.fixedShape == nil {
                open[step.operation.type, default: 0] += 1
              }
            }
          }
        }
      }
    }
    #expect(steps > 1000)
    #expect(withoutRule == [:])
    #expect(open == [:])
  }
}
