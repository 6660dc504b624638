import ModelGraph
import ModelTensors

/// Makes the rows of a ledger, in the order of the model.
struct LedgerRows {
  var index: ConstantIndex
  var plan: CompressionPlan
  var outcome: WeightAssembly.Outcome

  /// One row per listed constant and per weight that is compressed already.
  func rows(of model: Model) -> [Ledger.Row] {
    var rows: [Ledger.Row] = []
    var seen: Set<Int> = []
    var compressed: [String: Int] = [:]
    model.forEachProgram { program, place in
      let prefix = model.childPrefix(at: place)
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          let defUse = DefUse(inputs: function.inputs, block: block)
          block.forEachOperation { operation, path in
            let site = ConstantSite(
              place: place, function: name, specialization: key,
              name: operation.outputs.first?.name ?? "", path: path)
            if let number = index.bySite[site] {
              if seen.insert(number).inserted, let row = row(number) { rows.append(row) }
            } else if operation.isConstexpr {
              add(
                operation, path, block, defUse, function: name, prefix: prefix, to: &rows,
                &compressed)
            }
          }
        }
      }
    }
    return rows
  }

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

  /// Adds a row for a constexpr result that an ordinary operation uses; of a chain that is the
  /// last one.
  ///
  /// - Parameter known: The rows that this has added, by place, else by name.
  private func add(
    _ operation: GraphOperation, _ path: OperationPath, _ block: Block, _ defUse: DefUse,
    function: String, prefix: String, to rows: inout [Ledger.Row],
    _ known: inout [String: Int]
  ) {
    guard let output = operation.outputs.last, let type = output.type?.tensor,
      let elementType = type.elementType, let shape = type.shape
    else { return }
    let isUsed = operation.outputs.indices.contains { position in
      defUse.uses(of: path, output: position).contains { use in
        guard case .operation(let consumer, _, _) = use.consumer else { return true }
        return block[consumer]?.isConstexpr == false
      }
    }
    guard isUsed else { return }
    // One weight may have other names in other functions, and other weights the same name.
    var key = ""
    operation.forEachValue { value in
      value.forEachWeight { key += "\($0.reference.fileName) \($0.reference.offset) " }
    }
    key = key.isEmpty ? prefix + output.name : "\(shape) \(key)"
    if let same = known[key] {
      if !rows[same].functions.contains(function) { rows[same].functions.append(function) }
      return
    }
    known[key] = rows.count
    var bytes = 0
    operation.forEachValue { bytes += $0.tensorSource?.byteCount ?? 0 }
    rows.append(
      Ledger.Row(
        name: prefix + output.name, functions: [function], status: .skipped,
        reason: "is compressed already (\(operation.type))", scheme: nil, shape: shape,
        elementType: elementType, parameters: Shape.elementCount(shape) ?? 0, beforeBytes: bytes,
        afterBytes: bytes, sums: nil))
  }
}
