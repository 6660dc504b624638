import ModelFiles
import ModelGraph
import ModelOperations
import ModelSpec

/// Checks that the files of a bundle agree with one another and with the model's kind.
struct BundleVerifier {
  let container: ModelContainer
  /// The most bytes of a file that only describes.
  private static let maximumSummary = 64 << 20

  /// What is wrong with a bundle beside its programs and weights.
  func findings(_ compiled: CompiledModel) -> [Finding] {
    check(compiled, folder: "") + summaries(compiled)
  }

  private func check(_ compiled: CompiledModel, folder: String) -> [Finding] {
    let place = folder + "coremldata.bin"
    var findings: [Finding] = []
    func report(_ severity: Finding.Severity, _ message: String) {
      findings.append(Finding(.bundle, severity, at: place, message))
    }
    let data = compiled.data
    let variant = data.engine.variant
    if case .specification = data.content {
      let inner = ModelKinds.number(of: compiled.model.kind.typeName)
      if inner != data.typeNumber {
        report(
          .error,
          "The header says \(name(data.typeNumber)), the model is "
            + "\(compiled.model.kind.typeName).")
      }
      if data.specification.major != UInt64(clamping: compiled.model.specificationVersion) {
        report(
          .error,
          "The header says specification version \(data.specification.major), the model "
            + "\(compiled.model.specificationVersion).")
      }
    } else if !variant.hasPrefix("generic") {
      report(.warning, "The engine's variant \"\(variant)\" is not known.")
    }
    if case .compiled(_, let trailer) = data.content {
      findings += check(trailer, compiled, at: place)
    }
    if let version = compiled.textVersion {
      let expected = MILVersion(specificationVersion: compiled.model.specificationVersion)
      if version != expected {
        report(
          .warning,
          "model.mil is of version \(version.major).\(version.minor), the specification version "
            + "\(compiled.model.specificationVersion) of \(expected.major).\(expected.minor).")
      }
    }
    if !compiled.children.isEmpty { findings += variants(compiled, at: place) }
    for (index, child) in compiled.children.enumerated() {
      findings += check(child, folder: "\(folder)model\(index)/")
    }
    return findings
  }

  private func name(_ number: UInt32) -> String { ModelKinds.name(of: number) ?? "\(number)" }

  private func check(
    _ trailer: BundleData.Trailer, _ compiled: CompiledModel, at place: String
  ) -> [Finding] {
    switch trailer {
    case .program(let records):
      let expected = max(compiled.model.description?.functions.count ?? 0, 1)
      if records == expected { return [] }
      return [
        Finding(
          .bundle, .error, at: place,
          "The trailer has \(records) records for \(expected) functions.",
          hint: "Core ML does not load a program without them.")
      ]
    case .neuralNetwork(let outputs), .classifier(_, _, let outputs):
      let described = Set(compiled.model.description?.outputs.map(\.name) ?? [])
      return outputs.filter { !described.contains($0) }.map {
        Finding(
          .bundle, .note, at: place, "The interface has no output \"\($0)\" of the network.")
      }
    case .pipeline: return []
    case .unknown:
      return [
        Finding(
          .bundle, .note, at: place, "What follows the interface is of a form that is not known.")
      ]
    }
  }

  /// Whether a pipeline's variant names the engines of its models.
  private func variants(_ compiled: CompiledModel, at place: String) -> [Finding] {
    let engines = compiled.children.enumerated().map { index, child in
      ".model\(index)v\(child.data.engine.numbers)\(child.data.engine.variant)"
    }
    let expected = "generic" + engines.joined()
    let found = compiled.data.engine.variant
    if found == expected { return [] }
    return [
      Finding(
        .bundle, .error, at: place,
        "The engine's variant is \"\(found)\", that of the models \"\(expected)\".")
    ]
  }

  /// The files that only the top of a bundle has; both may be absent.
  private func summaries(_ compiled: CompiledModel) -> [Finding] {
    var findings: [Finding] = []
    let names = Set(container.files.map(\.path))
    let version = compiled.model.specificationVersion
    if names.contains("metadata.json") {
      let metadata =
        (try? container.file(
          at: "metadata.json", maximum: BundleVerifier.maximumSummary)).flatMap { file in
          BundleMetadata(json: file.withBytes { Array($0) })
        }
      if let metadata, metadata.specificationVersion != version {
        findings.append(
          Finding(
            .bundle, .warning, at: "metadata.json",
            "The specification version is \(metadata.specificationVersion), in coremldata.bin "
              + "\(version)."))
      } else if metadata == nil {
        findings.append(
          Finding(.bundle, .warning, at: "metadata.json", "The file cannot be read."))
      }
    }
    let analytics = "analytics/coremldata.bin"
    if names.contains(analytics) {
      do {
        let file = try container.file(at: analytics, maximum: BundleVerifier.maximumSummary)
        _ = try file.withBytes { try AnalyticsData($0, path: file.path) }
      } catch {
        findings.append(
          Finding(.bundle, .warning, at: analytics, "The file is malformed: \(error)"))
      }
    }
    return findings
  }
}
