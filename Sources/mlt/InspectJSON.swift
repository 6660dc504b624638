import ModelGraph
import ModelInspection
import ModelTensors

/// A report as the JSON of the contract.
enum InspectJSON {
  static func document(_ report: ModelReport, operations: [OperationFact]?) -> JSONValue {
    .object([
      ("schema", .integer(1)), ("path", .string(report.path)),
      ("container", .string(report.container.rawValue)),
      ("model_type", .string(report.modelType)),
      ("specification_version", .integer(report.specificationVersion)),
      ("needed_specification_version", .integer(report.neededVersion)),
      (
        "minimum_os",
        .object(report.minimumOS.systems.map { ($0.name, .optional($0.version)) })
      ),
      (
        "version_reasons",
        .array(
          report.versionReasons.map {
            .object([("version", .integer($0.version)), ("reason", .string($0.reason))])
          })
      ), ("metadata", metadata(report.metadata)), ("updatable", .bool(report.isUpdatable)),
      ("functions", .array(report.functions.map { function($0, operations) })),
      (
        "sizes",
        .object([
          ("total_bytes", .integer(report.sizes.totalBytes)),
          ("specification_bytes", .integer(report.sizes.specificationBytes)),
          ("weight_bytes", .integer(report.sizes.weightBytes)),
        ])
      ),
      (
        "parameters",
        .object([
          ("count", .integer(report.parameters.count)),
          ("stored_bytes", .integer(report.parameters.storedBytes)),
          ("bits_per_parameter", .optional(report.parameters.bitsPerParameter)),
        ])
      ), ("weights", .array(report.weights.map(weight))),
      ("children", .array(report.children.map(child))), ("details", fields(report.details)),
      ("findings", .strings(report.findings)),
    ])
  }

  private static func metadata(_ metadata: MetadataFact) -> JSONValue {
    .object([
      ("author", .string(metadata.author)),
      ("short_description", .string(metadata.shortDescription)),
      ("license", .string(metadata.license)), ("version", .string(metadata.version)),
      (
        "user_defined",
        .object(metadata.userDefined.map { ($0.key, .string($0.value)) })
      ),
    ])
  }

  private static func function(
    _ function: FunctionFact, _ operations: [OperationFact]?
  ) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("name", .string(function.name)), ("default", .bool(function.isDefault)),
      ("opset", .optional(function.opset)), ("inputs", .array(function.inputs.map(feature))),
      ("outputs", .array(function.outputs.map(feature))),
      ("states", .array(function.states.map(feature))),
      ("operation_count", .integer(function.operationCount)),
      ("operations", .object(function.operations.map { ($0.type, .integer($0.count)) })),
    ]
    if let operations {
      members.append(
        (
          "operation_list",
          .array(operations.filter { $0.function == function.name }.map(operation))
        ))
    }
    return .object(members)
  }

  private static func operation(_ fact: OperationFact) -> JSONValue {
    .object([
      ("name", .string(fact.name)), ("type", .string(fact.type)), ("depth", .integer(fact.depth)),
      (
        "inputs",
        .array(
          fact.inputs.map {
            .object([("name", .string($0.name)), ("value", .string($0.value))])
          })
      ),
      (
        "outputs",
        .array(
          fact.outputs.map {
            .object([
              ("name", .string($0.name)), ("dtype", .optional($0.dtype)),
              ("shape", .array($0.shape.map { .optional($0) })),
            ])
          })
      ),
    ])
  }

  static func feature(_ feature: FeatureFact) -> JSONValue {
    let flexibility: JSONValue =
      switch feature.flexibility {
      case nil: .null
      case .range(let bounds):
        .object([
          ("range", .array(bounds.map { .array([.integer($0.low), .optional($0.high)]) }))
        ])
      case .enumerated(let shapes):
        .object([("enumerated", .array(shapes.map(JSONValue.integers)))])
      }
    return .object([
      ("name", .string(feature.name)), ("kind", .string(feature.kind.rawValue)),
      ("dtype", .string(feature.dtype)), ("shape", .array(feature.shape.map { .optional($0) })),
      ("flexibility", flexibility), ("optional", .bool(feature.isOptional)),
      ("description", .string(feature.description)),
    ])
  }

  static func weight(_ weight: WeightFact) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("name", .string(weight.name)), ("functions", .strings(weight.functions)),
      (
        "consumers",
        .array(
          weight.consumers.map {
            .object([
              ("function", .string($0.function)), ("operation", .string($0.operation)),
              ("type", .string($0.type)), ("input", .string($0.input)),
            ])
          })
      ), ("shape", .integers(weight.shape)), ("dtype", .string(weight.dtype)),
      ("encoding", .string(weight.encoding)), ("parameters", .integer(weight.parameters)),
      ("stored_bytes", .integer(weight.storedBytes)),
      ("dense_bytes", .integer(weight.denseBytes)),
      ("bits_per_parameter", .optional(weight.bitsPerParameter)),
    ]
    if let statistics = weight.statistics {
      members += [
        ("min", .optional(statistics.min)), ("max", .optional(statistics.max)),
        ("mean", .optional(statistics.mean)), ("std", .optional(statistics.std)),
        ("sparsity", .number(statistics.sparsity)),
        ("unique_values", .integer(statistics.uniqueValues)),
        ("finite", .bool(statistics.finite)),
      ]
    }
    return .object(members)
  }

  private static func child(_ child: ChildFact) -> JSONValue {
    .object([
      ("name", .string(child.name)), ("model_type", .string(child.modelType)),
      ("specification_version", .integer(child.specificationVersion)),
      ("updatable", .bool(child.isUpdatable)),
      ("inputs", .array(child.inputs.map(feature))),
      ("outputs", .array(child.outputs.map(feature))),
      (
        "sources",
        .array(
          child.sources.map { source in
            let origin: JSONValue =
              switch source.origin {
              case .pipeline: .string("pipeline")
              case .child(let name): .string(name)
              case .nothing: .null
              }
            return .object([
              ("input", .string(source.feature)), ("from", origin),
              ("child", .bool({ if case .child = source.origin { true } else { false } }())),
            ])
          })
      ), ("functions", .array(child.functions.map { function($0, nil) })),
      ("details", fields(child.details)), ("children", .array(child.children.map(self.child))),
    ])
  }

  private static func fields(_ fields: NamedList<Detail>) -> JSONValue {
    .object(fields.map { ($0.key, detail($0.value)) })
  }

  private static func detail(_ detail: Detail) -> JSONValue {
    switch detail {
    case .text(let text): .string(text)
    case .integer(let number): .integer(number)
    case .number(let number): .number(number)
    case .bool(let flag): .bool(flag)
    case .list(let elements): .array(elements.map(self.detail))
    case .object(let members): fields(members)
    case .none: .null
    }
  }
}
