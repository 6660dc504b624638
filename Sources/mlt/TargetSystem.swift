/// Systems by the releases that `--target-os` takes, with the specification versions that they load.
enum TargetSystem {
  private static let versions = [
    ("iOS15", 6), ("iOS16", 7), ("iOS17", 8), ("iOS18", 9), ("iOS26", 10),
  ]

  /// The names as an option's placeholder lists them.
  static var choices: String { versions.map(\.0).joined(separator: "|") }

  /// The newest specification version that a system loads, or nil for an unknown one.
  static func version(_ name: String) -> Int? { versions.first { $0.0 == name }?.1 }
}

extension Option {
  /// The option that names the system a command works for.
  static func targetSystem(_ help: String) -> Option {
    .value("target-os", TargetSystem.choices, help)
  }
}

extension Arguments {
  /// The specification version of `--target-os`, or nil when it is not given.
  var targetVersion: Int? { string("target-os").flatMap(TargetSystem.version) }
}
