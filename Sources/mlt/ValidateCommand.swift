import ModelBundle
import ModelOperations

/// What is wrong with a model.
enum ValidateCommand: Command {
  static let name = "validate"
  static let summary = "check structure, references, types and names of a model or bundle"
  static let options: [Option] = [
    .value("min-os", TargetSystem.choices, "the oldest system that shall load the model")
  ]
  static let discussion = """
    Checks the files of a package or compiled bundle, the operations of its programs with their
    inputs, types and names, the interface, and that every reference to a weight file leads to a
    blob of the right type and size. Exit code 1 when there are errors; warnings and notes alone
    give 0. A model that cannot be read at all is exit code 2.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let path = try arguments.operand("MODEL")
    let validator = ModelValidator(
      oldestVersion: arguments.string("min-os").flatMap(TargetSystem.version))
    let findings = try validator.findings(path: path)
    if console.isJSON {
      try console.print(json(findings, path: path))
    } else {
      for finding in findings {
        let place = "\(finding.severity.rawValue) \(finding.place)"
        try console.print("\(place): \(finding.message)".onOneLine)
        if let hint = finding.hint { try console.print("  hint: \(hint.onOneLine)") }
      }
      try console.print(summary(findings))
    }
    return findings.contains { $0.severity == .error } ? 1 : 0
  }

  private static func summary(_ findings: [Finding]) -> String {
    if findings.isEmpty { return "nothing is wrong" }
    let parts = [Finding.Severity.error, .warning, .note].compactMap { severity -> String? in
      let count = findings.count { $0.severity == severity }
      return count == 0 ? nil : Human.counted(count, severity.rawValue)
    }
    return parts.joined(separator: ", ")
  }

  private static func json(_ findings: [Finding], path: String) -> JSONValue {
    .object([
      ("schema", .integer(1)), ("path", .string(path)),
      (
        "findings",
        .array(
          findings.map { finding in
            .object([
              ("code", .string(finding.code.rawValue)),
              ("severity", .string(finding.severity.rawValue)),
              ("place", .string(finding.place)), ("message", .string(finding.message)),
              ("hint", .optional(finding.hint)),
            ])
          })
      ),
    ])
  }
}
