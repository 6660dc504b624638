import ModelCompression
import ModelPasses

/// A ledger as text and as the JSON of the contract.
enum LedgerText {
  static func json(
    _ ledger: Ledger, command: String, input: String, output: String?, settings: JSONValue
  ) -> JSONValue {
    let totals = ledger.totals
    return .object([
      ("schema", .integer(1)), ("command", .string(command)), ("input", .string(input)),
      ("output", .optional(output)), ("settings", settings),
      (
        "specification_version",
        .object([
          ("before", .integer(ledger.version.before)), ("after", .integer(ledger.version.after)),
          ("reason", .optional(ledger.version.reason)),
        ])
      ),
      (
        "totals",
        .object([
          ("weights", .integer(totals.weights)), ("compressed", .integer(totals.compressed)),
          ("skipped", .integer(totals.skipped)), ("parameters", .integer(totals.parameters)),
          ("before_bytes", .integer(totals.beforeBytes)),
          ("after_bytes", .integer(totals.afterBytes)), ("ratio", .optional(totals.ratio)),
          ("bits_per_parameter_before", .optional(totals.bitsBefore)),
          ("bits_per_parameter_after", .optional(totals.bitsAfter)),
          ("snr_db", .optional(totals.sums.snr)),
        ])
      ), ("weights", .array(ledger.rows.map(json))),
      ("notes", .strings(ledger.notes + ledger.warnings)),
      ("synchronize_seconds", .number(ledger.synchronizeSeconds)),
    ])
  }

  private static func json(_ row: Ledger.Row) -> JSONValue {
    .object([
      ("name", .string(row.name)), ("functions", .strings(row.functions)),
      ("status", .string(row.status.rawValue)), ("reason", .optional(row.reason)),
      ("scheme", .optional(row.scheme)), ("shape", .integers(row.shape)),
      ("dtype", .string(row.elementType.rawValue)), ("parameters", .integer(row.parameters)),
      ("before_bytes", .integer(row.beforeBytes)), ("after_bytes", .integer(row.afterBytes)),
      ("snr_db", .optional(row.sums?.snr)), ("psnr_db", .optional(row.sums?.psnr)),
      ("max_abs_error", .optional(row.sums?.maxAbsError)),
    ])
  }

  /// The ledger for a person: compressed weights, skipped ones with their reasons, the sum.
  static func lines(_ ledger: Ledger, output: String?, isDry: Bool) -> [String] {
    var lines: [String] = []
    let compressed = ledger.rows.filter { $0.status == .compressed }
    let skipped = ledger.rows.filter { $0.status == .skipped }
    if !compressed.isEmpty {
      var table = Table(
        ["compressed", "shape", "scheme", "before", "after", "SNR dB", "max error"],
        alignments: [.left, .left, .left, .right, .right, .right, .right])
      for row in compressed {
        table.add([
          row.name, shape(row), "\(row.elementType.rawValue) → \(row.scheme ?? "")",
          Human.bytes(row.beforeBytes), Human.bytes(row.afterBytes), decibel(row.sums),
          row.sums.map { Human.significant($0.maxAbsError) } ?? "",
        ])
      }
      lines += table.lines(indent: 0) + [""]
      for row in compressed {
        if let note = row.reason { lines.append("note: \(row.name): \(note)") }
      }
    }
    if !skipped.isEmpty {
      var table = Table(
        ["skipped", "shape", "dtype", "bytes", "reason"],
        alignments: [.left, .left, .left, .right, .left])
      for row in skipped {
        table.add([
          row.name, shape(row), row.elementType.rawValue, Human.bytes(row.beforeBytes),
          row.reason ?? "",
        ])
      }
      lines += table.lines(indent: 0) + [""]
    }
    lines += ledger.notes.map { "note: \($0)" }
    return lines + summary(ledger, output: output, isDry: isDry)
  }

  private static func summary(_ ledger: Ledger, output: String?, isDry: Bool) -> [String] {
    let totals = ledger.totals
    var lines: [String] = []
    if let reason = ledger.version.reason {
      lines.append(
        "specification version \(ledger.version.before) → \(ledger.version.after): \(reason)")
    }
    guard ledger.hasCompressed else {
      let why =
        ledger.rows.isEmpty ? "the model holds no weights that can be compressed" : "see above"
      return lines + ["nothing was compressed: \(why)"]
    }
    var line = "\(totals.compressed) of \(totals.weights) weights compressed, "
    line += "\(Human.bytes(totals.beforeBytes)) → \(Human.bytes(totals.afterBytes))"
    if let ratio = totals.ratio {
      line +=
        ratio < 1
        ? " (\(Human.fixed(1 / ratio, 2)) times larger)"
        : " (\(Human.fixed(ratio, 2)) times smaller)"
    }
    if let before = totals.bitsBefore, let after = totals.bitsAfter {
      line += ", \(Human.fixed(before, 2)) → \(Human.fixed(after, 2)) bits per parameter"
    }
    lines.append("\(line), SNR \(decibel(totals.sums)) dB")
    if let output { lines.append("wrote \(output)") }
    if isDry { lines.append("dry run: nothing was written") }
    return lines
  }

  private static func decibel(_ sums: ErrorSums?) -> String {
    guard let sums else { return "" }
    return sums.snr.map { Human.fixed($0, 2) } ?? (sums.error == 0 ? "exact" : "-")
  }

  private static func shape(_ row: Ledger.Row) -> String {
    "[" + row.shape.map(String.init).joined(separator: ", ") + "]"
  }
}
