import ModelCompression
import ModelFiles
import ModelGraph
import ModelOperations
import ModelSpec
import ModelTensors

/// Runs a compressing pass on a model: decides per constant, streams the weights into new files,
/// patches the programs, writes the model.
public struct Compressor: Sendable {
  /// Settings that all passes share.
  public var settings: CompressionSettings
  /// The threads to work with.
  public var parallel: Parallel
  /// Called with the share of the work that is done, 0…1.
  public var progress: @Sendable (Double) -> Void = { _ in }

  /// A compressor with these settings.
  public init(
    settings: CompressionSettings = CompressionSettings(), parallel: Parallel = Parallel()
  ) {
    self.settings = settings
    self.parallel = parallel
  }

  /// Compresses `loaded` and commits it to `writer`.
  ///
  /// Without a writer nothing is written and the ledger is the same. When nothing was compressed
  /// the writer is discarded.
  ///
  /// - Throws: ``PassError``, `UpgradeRefusal`, `FileError`, `SpecError`, `TensorError`.
  public func run(
    _ pass: any CompressionPass, on loaded: LoadedModel, to writer: PackageWriter?
  ) throws -> Ledger {
    do {
      return try compress(pass, loaded, writer)
    } catch {
      writer?.discard()
      throw error
    }
  }

  /// Runs several passes in order, each on what the one before it left.
  ///
  /// Between them the model lies in a temporary folder. Errors in the ledger are against the model
  /// as it came.
  ///
  /// - Throws: as ``run(_:on:to:)``.
  public func run(
    _ passes: [any CompressionPass], on loaded: LoadedModel, to writer: PackageWriter?
  ) throws -> Ledger {
    guard passes.count > 1, let last = passes.last else {
      return try run(passes.first ?? DecompressPass(), on: loaded, to: writer)
    }
    do {
      return try PassSequence(compressor: self, first: Array(passes.dropLast()), last: last)
        .run(on: loaded, to: writer)
    } catch {
      writer?.discard()
      throw error
    }
  }

  private func compress(
    _ pass: any CompressionPass, _ loaded: LoadedModel, _ writer: PackageWriter?
  ) throws -> Ledger {
    try check(loaded.model, pass)
    let knownFindings = Compressor.errors(in: loaded.model)
    var state =
      Compressor.hasProgram(loaded.model)
      ? try raised(loaded.model, pass) : try unraised(loaded.model, pass)
    let plan = state.plan
    let index = state.index

    let items = assemblyItems(of: state.model, index, plan)
    // Every byte is looked at and then written; those of networks count once.
    let meter = ProgressMeter(
      total: items.reduce(NetworkCompressor.byteCount(of: state.model)) {
        $0 + $1.source.byteCount * 2
      }, report: progress)
    let networks = try networkCompressor(pass, meter).compress(&state.model)
    if let needed = networks.requirement { state.ledger.version.raise(to: needed) }
    if Compressor.hasNeuralNetwork(loaded.model), let note = pass.neuralNetworks.note {
      state.ledger.notes.append(note)
    }
    let assembly = WeightAssembly(parallel: parallel, progress: meter.add)
    var outcome = WeightAssembly.Outcome()
    var sinks: [any BlobSink] = []
    if !plan.recipes.isEmpty || networks.hasCompressed && !items.isEmpty {
      outcome = try assembly.run(items) { fileName -> any BlobSink in
        let sink: any BlobSink =
          try writer?.weightWriter(fileName: fileName) ?? CountingBlobSink()
        sinks.append(sink)
        return sink
      }
    }
    if let hint = refusalHint(pass),
      let (number, reason) = outcome.refused.min(by: { $0.key < $1.key })
    {
      throw PassError.refusedWeight(
        name: index.constants[number].name, reason: reason, hint: hint)
    }
    let rows = LedgerRows(index: index, plan: plan, outcome: outcome).rows() + networks.rows
    // The places of a model's programs and networks differ, so that their rows stay in order.
    state.ledger.rows = rows.enumerated().sorted {
      $0.element.place == $1.element.place
        ? $0.offset < $1.offset : $0.element.place.lexicographicallyPrecedes($1.element.place)
    }.map(\.element.row)
    guard state.ledger.hasCompressed else {
      writer?.discard()
      state.ledger.version.after = state.ledger.version.before
      state.ledger.version.reason = nil
      return state.ledger
    }
    state.ledger.notes += try apply(outcome, index, to: &state.model)
    try verify(state.model, knownFindings)
    let specification = try ModelEncoder.encode(state.model)
    let replaced = Set(loaded.weightFileNames)
    state.ledger.writtenBytes =
      specification.count + sinks.reduce(0) { $0 + $1.byteCount }
      + loaded.bytesBeside(weightFiles: replaced)
    if let writer {
      try writer.carryOver(from: loaded.container, replacing: replaced)
      try writer.commit(specification: specification)
      state.ledger.synchronizeSeconds = writer.timings.synchronize
    }
    return state.ledger
  }

  /// A model at the version that its plan needs.
  private struct Planned {
    var model: Model
    var index: ConstantIndex
    var plan: CompressionPlan
    var ledger: Ledger
  }

  /// Plans for the model's version; where a recipe needs a later one, raises the model and plans
  /// again.
  private func raised(_ original: Model, _ pass: any CompressionPass) throws -> Planned {
    let first = try planned(original, pass, minimum: pass.requirement)
    guard
      let needed = first.plan.recipes.values.map(\.requirement).max(by: {
        ($0.version, $1.reason) < ($1.version, $0.reason)
      }), needed.version > first.ledger.version.after
    else { return first }
    return try planned(original, pass, minimum: needed)
  }

  private func planned(
    _ original: Model, _ pass: any CompressionPass, minimum: VersionRequirement
  ) throws -> Planned {
    var model = original
    var pass = pass
    let (version, raiseNotes) = try VersionRaise.apply(
      to: &model, minimum: minimum, target: settings.targetVersion)
    let notes = raiseNotes + (try pass.rewrite(&model, settings: settings))
    let index = try ConstantIndex(model)
    let plan = CompressionPlan(
      index: index, filter: CandidateFilter(settings: settings, pass: pass),
      version: version.after)
    return Planned(
      model: model, index: index, plan: plan,
      ledger: Ledger(version: version, rows: [], notes: notes))
  }

  /// A model without programs at its own version, or at the one asked for.
  private func unraised(_ model: Model, _ pass: any CompressionPass) throws -> Planned {
    var model = model
    let (version, notes) = try VersionRaise.apply(
      to: &model, minimum: VersionRequirement(0, ""), target: settings.targetVersion)
    let index = try ConstantIndex(model)
    return Planned(
      model: model, index: index,
      plan: CompressionPlan(
        index: index, filter: CandidateFilter(settings: settings, pass: pass),
        version: version.after),
      ledger: Ledger(version: version, rows: [], notes: notes))
  }

  /// The hint of the error that a refused weight is, or nil when it is skipped.
  private func refusalHint(_ pass: any CompressionPass) -> String? {
    pass.refusalHint ?? (settings.isStrict ? "without --strict it is skipped" : nil)
  }

  private func networkCompressor(
    _ pass: any CompressionPass, _ meter: ProgressMeter
  ) -> NetworkCompressor {
    var isLimited = false
    if case .limited = pass.selection { isLimited = true }
    return NetworkCompressor(
      filter: NetworkFilter(
        settings: settings, support: pass.neuralNetworks, isLimited: isLimited),
      refusalHint: settings.isStrict ? refusalHint(pass) : nil, parallel: parallel,
      progress: meter.add)
  }

  /// Refuses model kinds that hold weights which this pass does not reach.
  private func check(_ model: Model, _ pass: any CompressionPass) throws {
    let hasProgram = Compressor.hasProgram(model)
    if hasProgram, let refusal = pass.programRefusal { throw PassError.usage(refusal) }
    if !hasProgram, Compressor.hasNeuralNetwork(model),
      case .unsupported(let reason) = pass.neuralNetworks
    {
      throw PassError.unsupported(
        "a \(model.kind.typeName): \(reason)",
        hint: "quantize and palettize compress neural networks")
    }
    if let function = settings.function {
      let names = Compressor.functionNames(model)
      guard names.contains(function) else {
        throw PassError.usage(
          "there is no function \"\(function)\"",
          hint: "functions: \(names.joined(separator: ", "))")
      }
    }
  }

  private static func programs(_ model: Model) -> [(model: Model, program: Program)] {
    switch model.kind {
    case .program(let program): [(model, program)]
    case .pipeline(let pipeline): pipeline.models.flatMap(programs)
    case .neuralNetwork, .other, .absent: []
    }
  }

  private static func hasProgram(_ model: Model) -> Bool { !programs(model).isEmpty }

  private static func hasNeuralNetwork(_ model: Model) -> Bool {
    switch model.kind {
    case .neuralNetwork: true
    case .pipeline(let pipeline): pipeline.models.contains(where: hasNeuralNetwork)
    case .program, .other, .absent: false
    }
  }

  private static func functionNames(_ model: Model) -> [String] {
    programs(model).flatMap { $0.program.functions.keys }
      + (hasNeuralNetwork(model) ? [NetworkCompressor.functionName] : [])
  }

  /// All weights of the new model in file order, each place once.
  private func assemblyItems(
    of model: Model, _ index: ConstantIndex, _ plan: CompressionPlan
  ) -> [AssemblyItem] {
    var items: [AssemblyItem] = []
    var seenConstants: Set<Int> = []
    var seenPlaces: Set<WeightKey> = []
    let defaultFile = Compressor.firstWeightFile(of: model)
    func carry(_ weight: Weight) {
      guard seenPlaces.insert(weight.key).inserted else { return }
      items.append(
        AssemblyItem(
          source: weight.source, fileName: weight.reference.fileName, weights: [weight]))
    }
    forEachOperation(of: model) { site, operation in
      if let number = index.byUpstream[site], plan.recipes[number] != nil { return }
      if let number = index.bySite[site], let recipe = plan.recipes[number] {
        guard seenConstants.insert(number).inserted else { return }
        let constant = index.constants[number]
        items.append(
          AssemblyItem(
            source: constant.source,
            fileName: constant.weights.first?.reference.fileName ?? defaultFile,
            weights: constant.weights, encoding: .init(constant: number, recipe: recipe)))
        return
      }
      operation.forEachValue { $0.forEachWeight(carry) }
    }
    model.forEachProgram { program, _ in program.forEachAttributeWeight(carry) }
    return items
  }

  private static func firstWeightFile(of model: Model) -> String {
    var name: String?
    model.forEachWeight { weight in name = name ?? weight.reference.fileName }
    return name ?? "@model_path/weights/weight.bin"
  }

  /// Moves carried weights to their new places and puts the encoded constants in.
  ///
  /// - Returns: Notes on what could not be kept.
  private func apply(
    _ outcome: WeightAssembly.Outcome, _ index: ConstantIndex, to model: inout Model
  ) throws -> [String] {
    var notes: [String] = []
    try model.updateEachProgram { model, place in
      guard var program = model.program else { return }
      program.updateEachWeight { weight in
        if let new = outcome.places[weight.key] { weight.reference = new }
      }
      var patches: [Patch] = []
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          var edits: [Patch.Edit] = []
          block.forEachOperation { operation, path in
            let site = ConstantSite(
              place: place, function: name, specialization: key, operation, path)
            if let number = index.byUpstream[site], outcome.encoded[number] != nil {
              edits.append(.replace(path, with: []))
            } else if let number = index.bySite[site], let encoded = outcome.encoded[number] {
              let (operations, dropped) = Compressor.replacement(of: operation, encoded)
              edits.append(.replace(path, with: operations))
              for attribute in dropped {
                notes.append(
                  "\(name)/\(operation.name): the attribute \"\(attribute)\" is dropped, "
                    + "\(operations.last?.type ?? "") takes none")
              }
            }
          }
          if edits.isEmpty { continue }
          patches.append(
            Patch(label: "compress", function: name, specialization: key, edits: edits))
        }
      }
      try program.apply(patches)
      model.program = program
    }
    return notes
  }

  /// The operations for an encoded constant; what a plain constant had beside its value is kept, but
  /// not its extra attributes where an operation reads attributes as parameters.
  private static func replacement(
    of constant: GraphOperation, _ encoded: EncodedConstant
  ) -> (operations: [GraphOperation], dropped: [String]) {
    guard let output = constant.outputs.last else { return ([constant], []) }
    var parts = encoded.parts
    if let document = constant.attributes["val"]?.docString, !document.isEmpty, !parts.isEmpty {
      parts[0].docString = document
    }
    var operations = encoded.prepared.operations(
      output: output.name, name: constant.name, parts: parts)
    guard var last = operations.popLast() else { return ([constant], []) }
    if last.outputs.first?.type?.tensor?.dataType == output.type?.tensor?.dataType {
      last.outputs[0] = output
    }
    guard constant.isConst else { return (operations + [last], []) }
    var dropped: [String] = []
    for (name, value) in constant.attributes where name != "val" && name != "name" {
      if last.isConstexpr {
        dropped.append(name)
      } else if last.attributes[name] == nil {
        last.attributes[name] = value
      }
    }
    last.unknownFields = constant.unknownFields
    return (operations + [last], dropped)
  }

  private static func errors(in model: Model) -> Set<String> {
    var messages: Set<String> = []
    for (model, program) in programs(model) {
      for finding in Verifier.findings(
        program: program, specificationVersion: model.specificationVersion,
        description: model.description) where finding.severity == .error
      {
        messages.insert("\(finding.place): \(finding.message)")
      }
    }
    return messages
  }

  /// Throws when the model has errors that it did not have before.
  private func verify(_ model: Model, _ known: Set<String>) throws {
    if let first = Compressor.errors(in: model).subtracting(known).min() {
      throw PassError.invalidResult(first)
    }
  }

  private func forEachOperation(
    of model: Model, _ body: (ConstantSite, GraphOperation) -> Void
  ) {
    model.forEachProgram { program, place in
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          block.forEachOperation { operation, path in
            body(
              ConstantSite(
                place: place, function: name, specialization: key, operation, path), operation)
          }
        }
      }
    }
  }
}
