import ModelCompression
import ModelFiles
import ModelGraph
import ModelSpec
import ModelTensors

/// Passes that run one after the other, the model in a temporary folder between them; the
/// compressor has checked that they may.
struct PassSequence {
  var compressor: Compressor
  var first: [any CompressionPass]
  var last: any CompressionPass

  func run(on loaded: LoadedModel, to writer: PackageWriter?) throws -> Ledger {
    let scratch = try ScratchFolder()
    var current = loaded
    var ledgers: [Ledger] = []
    for (number, pass) in first.enumerated() {
      let path = "\(scratch.path)/step\(number).mlpackage"
      let ledger = try compressor.compress(
        pass, current, try PackageWriter(output: path, force: false, form: .package))
      if ledger.hasCompressed { current = try LoadedModel(path: path) }
      ledgers.append(ledger)
    }
    let path = "\(scratch.path)/last.mlpackage"
    let output =
      try writer ?? PackageWriter(output: path, force: false, form: .package)
    var ledger = try compressor.compress(last, current, output)
    ledgers.append(ledger)
    if !ledger.hasCompressed, ledgers.contains(where: \.hasCompressed) {
      // The last pass had nothing to do: what stands is the result.
      if let writer {
        let again = try PackageWriter(output: writer.output, force: true, form: writer.form)
        try current.write(to: again)
      }
    }
    let final =
      ledger.hasCompressed ? try LoadedModel(path: writer?.output ?? path) : current
    ledger.rows = try rows(from: loaded, to: final, ledgers)
    ledger.version.before = loaded.model.specificationVersion
    ledger.version.after = final.model.specificationVersion
    ledger.version.reason = ledgers.compactMap(\.version.reason).last
    ledger.notes = ledgers.flatMap(\.notes)
    ledger.warnings = []
    for warning in ledgers.flatMap(\.warnings) where !ledger.warnings.contains(warning) {
      ledger.warnings.append(warning)
    }
    return ledger
  }

  /// Rows of the whole sequence: schemes in order, sizes and errors from the first form to the last.
  private func rows(
    from original: LoadedModel, to final: LoadedModel, _ ledgers: [Ledger]
  ) throws -> [Ledger.Row] {
    let before = try byName(original)
    let after = try byName(final)
    var rows: [Ledger.Row] = []
    var listed: Set<String> = []
    let all = (ledgers.first?.rows ?? []) + ledgers.dropFirst().flatMap(\.rows)
    for row in all where before[row.name] != nil && listed.insert(row.name).inserted {
      var merged = row
      // Equal weights are one constant from the second pass on.
      let names = [row.name, after[row.name]?.name]
      let steps = ledgers.compactMap { ledger in
        ledger.rows.first { $0.name == names[0] } ?? ledger.rows.first { $0.name == names[1] }
      }
      let compressed = steps.filter { $0.status == .compressed }
      guard !compressed.isEmpty, let old = before[row.name], let new = after[row.name] else {
        merged.reason = steps.last?.reason
        rows.append(merged)
        continue
      }
      merged.status = .compressed
      merged.scheme = compressed.compactMap(\.scheme).joined(separator: ", then ")
      let remarks = steps.compactMap { step in
        step.status == .skipped ? step.reason.map { "a step was skipped: \($0)" } : step.reason
      }
      merged.reason = remarks.isEmpty ? nil : remarks.joined(separator: "; ")
      merged.beforeBytes = old.byteCount
      merged.afterBytes = new.byteCount
      merged.sums = try errorSums(
        of: new.source(), against: old.source(), parallel: compressor.parallel)
      rows.append(merged)
    }
    return rows
  }

  /// A weight as one of the models has it.
  private struct Form {
    var name: String
    var byteCount: Int
    var source: () throws -> any TensorSource
  }

  /// Constants by the names of all values that they are, and the weights of networks.
  private func byName(_ loaded: LoadedModel) throws -> [String: Form] {
    var forms: [String: Form] = [:]
    for constant in try ConstantIndex(loaded.model).constants {
      let form = Form(
        name: constant.name, byteCount: constant.byteCount, source: { constant.source })
      forms[constant.name] = forms[constant.name] ?? form
      for site in constant.sites {
        let name = loaded.model.childPrefix(at: site.place) + site.name
        forms[name] = forms[name] ?? form
      }
    }
    loaded.model.forEachNetwork { network, prefix in
      for site in network.weightSites(prefix: prefix) {
        let form = Form(
          name: site.facts.name, byteCount: site.facts.byteCount,
          source: {
            try FloatTensor(
              shape: site.weight.shape, values: try network.values(of: site.weight))
          })
        forms[form.name] = forms[form.name] ?? form
      }
    }
    return forms
  }
}
