import ModelFiles
import ModelGraph
import ModelSpec

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Writes the files of a bundle and notes what they rest on.
struct BundleWriter {
  let container: ModelContainer
  var assumptions: Set<BundleAssumption> = []
  private var unprovedText: Set<String> = []
  private var dropped: Set<String> = []

  init(container: ModelContainer) { self.container = container }

  var result: BundleCompiler.Result {
    var result = BundleCompiler.Result()
    let texts = unprovedText.map { "model.mil: \($0)" }
    result.unproved = (assumptions.map(\.rawValue) + texts).sorted()
    result.dropped = dropped.sorted()
    return result
  }

  /// Writes `coremldata.bin` and what belongs to it: the files of a model at the top or in a pipeline.
  ///
  /// - Returns: The engine version of the model.
  @discardableResult
  mutating func write(_ model: Model, into folder: FolderWriter) throws -> BundleData.Version {
    guard let number = ModelKinds.number(of: model.kind.typeName) else {
      throw SpecError(
        "there is no model kind \"\(model.kind.typeName)\"", kind: .unsupported,
        path: container.path)
    }
    let (engine, content): (BundleData.Version, BundleData.Content)
    switch model.kind {
    case .program(let program):
      try write(program, of: model, into: folder)
      engine = programVersion(model.specificationVersion)
      let functions = model.description?.functions.count ?? 0
      if functions > 0 { assumptions.insert(.functionRecords) }
      if model.description?.predictedFeatureName.isEmpty == false {
        assumptions.insert(.classifierProgram)
      }
      content = .compiled(
        description: description(of: model), trailer: .program(records: max(functions, 1)))
    case .pipeline(let pipeline):
      engine = try write(pipeline, into: folder)
      content = .compiled(
        description: description(of: model),
        trailer: .pipeline(models: UInt64(pipeline.models.count)))
    default:
      engine = BundleData.Version(1, variant: "spec")
      if ![300, 400, 602, 2003].contains(number) { assumptions.insert(.specificationForm) }
      content = .specification(try ModelEncoder.encode(model))
    }
    let data = BundleData(
      typeNumber: number, engine: engine,
      specification: UInt64(clamping: model.specificationVersion), content: content)
    try folder.write(data.bytes, to: "coremldata.bin")
    return engine
  }

  /// The engine version of a program: observed for specification versions 7 and 9.
  private mutating func programVersion(_ version: Int) -> BundleData.Version {
    if version != 7 && version != 9 { assumptions.insert(.programVersion) }
    return BundleData.Version(version <= 7 ? 5 : UInt64(version), variant: "generic")
  }

  /// The serialized interface, with metadata even where the model has none.
  private func description(of model: Model) -> [UInt8] {
    var description = model.description ?? ModelDescription()
    if description.metadata == nil { description.metadata = Metadata() }
    return ModelEncoder.encode(description)
  }

  /// Writes `model.mil` and the weight files that it names.
  private mutating func write(
    _ program: Program, of model: Model, into folder: FolderWriter
  ) throws {
    let printer = MILPrinter(
      specificationVersion: model.specificationVersion, description: model.description,
      buildInfo: BundleWriter.buildInfo)
    assumptions.insert(.compilerVersion)
    let report = try folder.write(to: "model.mil") { append in
      try printer.print(program, to: append)
    }
    unprovedText.formUnion(report.unproved)
    dropped.formUnion(report.dropped)
    var names: Set<String> = []
    for (_, function) in program.functions {
      try function.activeBlock?.forEachWeight { weight in
        guard names.insert(weight.reference.relativePath).inserted else { return }
        try folder.copyWeightFile(
          from: container, named: weight.reference.fileName, to: weight.reference.relativePath)
      }
    }
  }

  /// What the folder of a program has beside its weights.
  static let ownNames: Set<String> = [
    "coremldata.bin", "model.mil", "metadata.json", "analytics",
  ]

  /// Some readers of the text refuse one that names no compiler.
  private static let buildInfo = [
    "coremlc-component-MIL": "3600.14.1", "coremlc-version": "3600.25.1",
  ]

  /// Writes the models of a pipeline, `model0`, `model1` and so on, and their names.
  private mutating func write(
    _ pipeline: Pipeline, into folder: FolderWriter
  ) throws -> BundleData.Version {
    assumptions.formUnion([.pipelineVersion, .modelNames])
    if pipeline.models.contains(where: { !$0.programs.isEmpty }) {
      assumptions.insert(.childWeights)
    }
    var variant = "generic"
    for (index, child) in pipeline.models.enumerated() {
      let engine = try write(child, into: try folder.folder("model\(index)"))
      variant += ".model\(index)v\(engine.numbers)\(engine.variant)"
    }
    var names = LittleEndianWriter()
    names.add(pipeline.models.indices.map { pipeline.name(of: $0) })
    try folder.write(names.bytes, to: "modelNames/coremldata.bin")
    return BundleData.Version(1, 0, 1, variant: variant)
  }

  /// Writes what only the top of a bundle has: `metadata.json` and `analytics/coremldata.bin`.
  mutating func writeSummaries(
    of model: Model, className: String, into folder: FolderWriter,
    specification: (digest: [UInt8], name: String)
  ) throws {
    let metadata = BundleMetadata(model, className: className)
    assumptions.formUnion(BundleAssumption.ofMetadata(metadata, model))
    try folder.write(metadata.json, to: "metadata.json")
    assumptions.insert(.modelHash)
    typealias Entry = AnalyticsData.Entry
    var sections: [AnalyticsData.Section] = []
    switch model.kind {
    case .program:
      sections.append(
        AnalyticsData.Section(
          "NeuralNetworkModelDetails",
          [Entry("containsCustomLayer", "0"), Entry("modelDimension", "0")]))
    case .pipeline(let pipeline):
      assumptions.insert(.specificationAnalytics)
      sections.append(
        AnalyticsData.Section(
          "PipelineModelDetails", [Entry("modelDimension", "\(pipeline.models.count)")]))
    default: assumptions.insert(.specificationAnalytics)
    }
    sections.append(
      AnalyticsData.Section(
        "SpecificationDetails",
        [
          Entry("modelHash", Data(specification.digest).base64EncodedString()),
          Entry("modelName", specification.name),
        ]))
    try folder.write(AnalyticsData(sections: sections).bytes, to: "analytics/coremldata.bin")
  }
}
