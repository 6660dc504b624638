import ModelGraph
import ModelOperations

/// Raises the programs of a model to a specification version.
enum VersionRaise {
  /// Upgrades every program, and the models around them, to the version that a pass needs.
  ///
  /// - Parameters:
  ///   - minimum: The lowest version that can hold the result, and why.
  ///   - target: The version asked for, or nil.
  /// - Returns: The change and notes on what was rewritten.
  /// - Throws: ``PassError/usage(_:hint:)`` for a target below the model's version or the
  ///   minimum; `UpgradeRefusal`.
  static func apply(
    to model: inout Model, minimum: VersionRequirement, target: Int?
  ) throws -> (change: Ledger.VersionChange, notes: [String]) {
    let before = model.specificationVersion
    if let target {
      guard target >= before else {
        throw PassError.usage(
          "--target-os \(Opset.system(specificationVersion: target)) reads specification version "
            + "\(target), the model has \(before)")
      }
      guard target >= minimum.version else {
        throw PassError.usage(
          "--target-os \(Opset.system(specificationVersion: target)) is too early: "
            + minimum.reason)
      }
    }
    let after = max(before, minimum.version, target ?? 0)
    var notes: [String] = []
    if after > before {
      try model.updateEachProgram { model, _ in
        guard var program = model.program else { return }
        notes += try Upgrader.upgrade(&program, from: model.specificationVersion, to: after)
        model.program = program
        model.specificationVersion = after
      }
      model.specificationVersion = after
    }
    let reason = after == before ? nil : target == after ? "--target-os" : minimum.reason
    return (Ledger.VersionChange(before: before, after: after, reason: reason), notes)
  }
}
