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
  /// The form in which the result is to be written, for the count of its bytes; nil for that of the
  /// source.
  public var outputForm: OutputForm?
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
      try check(loaded.model, [pass])
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
      try check(loaded.model, passes)
      return try PassSequence(compressor: self, first: Array(passes.dropLast()), last: last)
        .run(on: loaded, to: writer)
    } catch {
      writer?.discard()
      throw error
    }
  }

  /// Compresses a model that ``check(_:_:)`` has passed.
  func compress(
    _ pass: any CompressionPass, _ loaded: LoadedModel, _ writer: PackageWriter?
  ) throws -> Ledger {
    try Compressor.checkGraph(loaded.model)
    let knownFindings = Compressor.errors(in: loaded.model)
    var state =
      Compressor.hasProgram(loaded.model)
      ? try raised(loaded.model, pass) : try unraised(loaded.model, pass)
    let plan = state.plan
    let index = state.index
    state.ledger.warnings = pass.warnings(about: Compressor.subjects(of: loaded.model, index))

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
    if let function = settings.function {
      for number in outcome.encoded.keys.sorted() where index.constants[number].functions.count > 1
      {
        let others = index.constants[number].functions.filter { $0 != function }
        state.ledger.notes.append(
          "\(index.constants[number].name) changes for \(others.joined(separator: ", ")) too, "
            + "which share it")
      }
    }
    state.ledger.notes += try apply(outcome, index, to: &state.model)
    try verify(state.model, knownFindings)
    let specification = try ModelEncoder.encode(state.model)
    let replaced = Set(loaded.weightFileNames)
    state.ledger.writtenBytes =
      specification.count + sinks.reduce(0) { $0 + $1.byteCount }
      + (outputForm.map { loaded.bytesBeside(weightFiles: replaced, in: $0) }
        ?? loaded.bytesBeside(weightFiles: replaced))
    if let writer {
      try writer.carryOver(from: loaded.container, replacing: replaced)
      try writer.commit(specification: specification)
      state.ledger.synchronizeSeconds = writer.timings.synchronize
    }
    return state.ledger
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

  /// Refuses passes that none of the model's weights can take, and functions that are not there.
  private func check(_ model: Model, _ passes: [any CompressionPass]) throws {
    let hasProgram = Compressor.hasProgram(model)
    let hasNetwork = Compressor.hasNeuralNetwork(model)
    if hasProgram, !hasNetwork, let refusal = passes.lazy.compactMap(\.programRefusal).first {
      throw PassError.usage(refusal)
    }
    if hasNetwork, !hasProgram {
      let errors = passes.compactMap { $0.neuralNetworks.error(typeName: model.kind.typeName) }
      if errors.count == passes.count, let error = errors.first { throw error }
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
}
