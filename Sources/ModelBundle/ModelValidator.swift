import ModelFiles
import ModelGraph
import ModelInspection
import ModelOperations
import ModelSpec

/// Checks a model of any form: its files, its programs, its references to weights, and what a
/// compiled bundle says of itself.
public struct ModelValidator: Sendable {
  /// The specification version of the oldest system that shall load the model; nil for any.
  public var oldestVersion: Int?

  /// A validator for models of any system.
  public init(oldestVersion: Int? = nil) { self.oldestVersion = oldestVersion }

  /// Everything worth saying about a model, errors first.
  ///
  /// - Throws: `FileError`, `SpecError` for a model that cannot be read at all.
  public func findings(path: String) throws -> [Finding] {
    let container = try ModelContainer.open(path: path)
    var findings = absentItems(container)
    let model: Model
    if container.contents == .compiled {
      let compiled = try CompiledModel(container, resolvingWeights: false)
      model = compiled.model
      findings += BundleVerifier(container: container).findings(compiled)
    } else {
      let bytes = container.specification
      model = try bytes.withBytes {
        try ModelDecoder(weights: UnopenedWeights()).decode($0, path: bytes.path)
      }
    }
    findings += versions(model)
    let faults = Verifier.findings(model)
    findings += faults
    if !faults.contains(where: { $0.severity == .error }) { findings += shapes(model) }
    findings += try weights(model, container, place: "", folder: "")
    return findings.enumerated().sorted {
      ($0.element.severity, $0.offset) < ($1.element.severity, $1.offset)
    }.map(\.element)
  }

  private func absentItems(_ container: ModelContainer) -> [Finding] {
    container.absentItems.map { item in
      Finding(
        .missingFile, .warning, at: "Manifest.json",
        "The item \(item.name) (Data/\(item.path)) is absent.",
        hint: "Core ML refuses a package without it; an empty folder is enough.")
    }
  }

  private func versions(_ model: Model) -> [Finding] {
    let version = model.specificationVersion
    var findings: [Finding] = []
    if MinimumOS(specificationVersion: version) == nil {
      findings.append(
        Finding(
          .specificationVersion, version < 1 ? .error : .warning, at: "model",
          "Specification version \(version) is not known."))
    }
    if let oldestVersion, version > oldestVersion {
      let system = MinimumOS.label(specificationVersion: oldestVersion)
      findings.append(
        Finding(
          .minimumOS, .error, at: "model",
          "\(system) does not load specification version \(version), which needs "
            + "\(MinimumOS.label(specificationVersion: version)).",
          hint: "mlt inspect tells what asks for the version."))
    }
    return findings
  }

  /// Declared types that are not those that the operations yield; asked of sound programs only, as
  /// one fault would be followed by others.
  private func shapes(_ model: Model) -> [Finding] {
    var findings: [Finding] = []
    model.forEachProgramModel { child, place in
      for (name, function) in child.program?.functions ?? [:] {
        findings += ShapeInference(function, name: model.childPrefix(at: place) + name).findings
      }
    }
    return findings
  }

  /// Every reference to a weight file that leads nowhere, or to something else.
  private func weights(
    _ model: Model, _ container: ModelContainer, place: String, folder: String
  ) throws -> [Finding] {
    switch model.kind {
    case .program(let program):
      let resolver = ContainerWeights(container, folder: folder)
      var findings: [Finding] = []
      for (name, function) in program.functions {
        try function.activeBlock?.forEachOperation { operation, _ in
          try operation.forEachValue { value in
            try value.forEachWeight { weight in
              do {
                _ = try resolver.source(
                  for: weight.reference, elementType: weight.source.elementType,
                  shape: weight.source.shape)
              } catch let error as FileError where error.kind == "system" {
                throw error
              } catch {
                findings.append(
                  Finding(
                    .blob, .error, at: "\(place)\(name)/\(operation.name)",
                    "\(weight.reference.fileName) at \(weight.reference.offset): \(error)"))
              }
            }
          }
        }
      }
      return findings
    case .pipeline(let pipeline):
      return try pipeline.models.enumerated().flatMap { index, child in
        try weights(
          child, container, place: "\(place)\(pipeline.name(of: index))/",
          folder: container.contents == .compiled ? "\(folder)model\(index)/" : "")
      }
    case .neuralNetwork, .other, .absent: return []
    }
  }
}
