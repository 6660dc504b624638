import ModelTensors

/// Makes the rows of a ledger, in the order of the model.
struct LedgerRows {
  var index: ConstantIndex
  var plan: CompressionPlan
  var outcome: WeightAssembly.Outcome

  /// One row per listed constant.
  func rows() -> [Ledger.Row] { index.constants.indices.compactMap(row) }

  private func row(_ number: Int) -> Ledger.Row? {
    let constant = index.constants[number]
    var row = Ledger.Row(
      name: constant.name, functions: constant.functions, status: .skipped, reason: nil,
      scheme: nil, shape: constant.source.shape, elementType: constant.source.elementType,
      parameters: constant.source.elementCount, beforeBytes: constant.byteCount,
      afterBytes: constant.byteCount, sums: nil)
    if let encoded = outcome.encoded[number], let recipe = plan.recipes[number] {
      row.status = .compressed
      row.scheme = recipe.description
      row.reason = encoded.prepared.note
      row.afterBytes = encoded.afterBytes
      row.sums = encoded.sums
    } else if let reason = outcome.refused[number] ?? plan.skipped[number] {
      row.reason = reason
    } else {
      return nil
    }
    return row
  }
}
