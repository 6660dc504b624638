import ModelCompression
import ModelFiles
import ModelSpec
import ModelTensors

/// Passes that run one after the other, the model in a temporary folder between them.
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
      let ledger = try compressor.run(
        pass, on: current, to: try PackageWriter(output: path, force: false, form: .package))
      if ledger.hasCompressed { current = try LoadedModel(path: path) }
      ledgers.append(ledger)
    }
    let path = "\(scratch.path)/last.mlpackage"
    let output =
      try writer ?? PackageWriter(output: path, force: false, form: .package)
    var ledger = try compressor.run(last, on: current, to: output)
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
    return ledger
  }

  /// Rows of the whole sequence: schemes in order, sizes and errors from the first form to the last.
  private func rows(
    from original: LoadedModel, to final: LoadedModel, _ ledgers: [Ledger]
  ) throws -> [Ledger.Row] {
    let before = try byName(original)
    let after = try byName(final)
    var rows: [Ledger.Row] = []
    for row in ledgers.first?.rows ?? [] {
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
        of: new.source, against: old.source, parallel: compressor.parallel)
      rows.append(merged)
    }
    return rows
  }

  /// Constants by the names of all values that they are.
  private func byName(_ loaded: LoadedModel) throws -> [String: Constant] {
    var constants: [String: Constant] = [:]
    for constant in try ConstantIndex(loaded.model).constants {
      constants[constant.name] = constants[constant.name] ?? constant
      for site in constant.sites {
        let name = loaded.model.childPrefix(at: site.place) + site.name
        constants[name] = constants[name] ?? constant
      }
    }
    return constants
  }
}
