import ModelPlan

/// A plan as JSON.
enum PlanJSON {
  static func document(_ plan: Plan, path: String) -> JSONValue {
    .object([("schema", .integer(1)), ("model", .string(path))] + members(plan))
  }

  private static func members(_ plan: Plan) -> [(String, JSONValue)] {
    [
      ("function", .string(plan.function)), ("device", .string(plan.device)),
      ("chip", .string(plan.chip)), ("os", .string(plan.os)), ("units", .string(plan.units)),
      ("estimated_latency_ms", .number(plan.latency)),
      ("latency_range_ms", .array([.number(plan.range.low), .number(plan.range.high)])),
      ("macs", integer(plan.multiplyAdds)),
      (
        "memory",
        .object([
          ("weight_bytes", integer(plan.weightBytes)),
          ("peak_activation_bytes", integer(plan.peakActivationBytes)),
        ])
      ), ("operations", .array(plan.operations.map(operation))),
      ("transfers", .array(plan.transfers.map(transfer))),
      ("findings", .array(plan.advice.map(finding))), ("notes", .strings(plan.notes)),
      (
        "children",
        .array(plan.children.map { .object([("name", .string($0.name))] + members($0.plan)) })
      ),
    ]
  }

  private static func operation(_ operation: Plan.Operation) -> JSONValue {
    .object([
      ("name", .string(operation.name)), ("type", .string(operation.type)),
      ("preferred", .string(operation.preferred.rawValue)),
      ("supported", .strings(operation.supported.map(\.rawValue))),
      ("cost", .number(operation.cost)), ("time_ms", .number(operation.milliseconds)),
      ("macs", integer(operation.multiplyAdds)), ("bytes_read", integer(operation.bytesRead)),
      ("bytes_written", integer(operation.bytesWritten)), ("bound", .string(operation.bound)),
      ("reason", .string(operation.reason)), ("source", .string(operation.source)),
      ("confidence", .string(operation.confidence.rawValue)),
    ])
  }

  private static func transfer(_ transfer: Plan.Transfer) -> JSONValue {
    .object([
      ("from", .string(transfer.from.rawValue)), ("to", .string(transfer.to.rawValue)),
      ("bytes", integer(transfer.bytes)), ("time_ms", .number(transfer.milliseconds)),
      ("after", .string(transfer.after)),
    ])
  }

  private static func finding(_ advice: Plan.Advice) -> JSONValue {
    .object([
      ("rule", .string(advice.rule)), ("message", .string(advice.message)),
      ("operations", .strings(advice.operations)), ("cost", .number(advice.cost)),
      ("hint", .optional(advice.hint)), ("source", .string(advice.source)),
      ("confidence", .string(advice.confidence.rawValue)),
    ])
  }

  /// A count; one beyond the range of `Int` as the largest.
  private static func integer(_ value: Double) -> JSONValue {
    .integer(value < 9e18 ? Int(value.rounded()) : Int.max)
  }
}
