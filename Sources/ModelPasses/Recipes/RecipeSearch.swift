import ModelGraph
import ModelSpec
import ModelTensors
import Synchronization

/// Chooses a scheme per weight by its measured error.
///
/// Every scheme of the menu is tried on every candidate. From all weights as they are, steps to
/// smaller forms are taken in the order of error per byte saved (along the lower convex hull of
/// each weight's forms) until the goal is met; the result is compared with every single scheme of
/// the menu, and the one of least error is taken.
public struct RecipeSearch: Sendable {
  /// What the written model must keep to.
  public enum Goal: Sendable {
    /// Stored bits per parameter over the candidates.
    case bits(Double)
    /// Stored bytes over the candidates.
    case bytes(Int)
  }

  /// One form of one weight.
  struct Form: Sendable {
    /// The place in the menu; nil for the weight as it is.
    var scheme: Int?
    var bytes: Int
    var error: Double
  }

  /// A weight with its forms.
  struct Candidate: Sendable {
    var name: String
    /// The functions that use it.
    var functions: [String]
    var parameters: Int
    var forms: [Form]

    /// The name that tells the weight from those of other functions.
    var key: String { ConstantFacts.key(name, functions) }
  }

  let menu: [MenuScheme]
  let settings: CompressionSettings
  let parallel: Parallel

  /// A search over these schemes.
  public init(menu: [MenuScheme], settings: CompressionSettings, parallel: Parallel) {
    self.menu = menu
    self.settings = settings
    self.parallel = parallel
  }

  /// Measures all forms of all candidates.
  ///
  /// - Throws: ``PassError/usage(_:hint:)`` when the model can hold no scheme of the menu, and what
  ///   reading the weights throws.
  public func measure(_ loaded: LoadedModel) throws -> MeasuredForms {
    try check(loaded.model)
    var list = RecipeJobs(search: self)
    try list.addConstants(of: loaded.model)
    try list.addNetworks(of: loaded.model)
    let jobs = list.jobs
    let names = list.candidates.map(\.name)
    let results = Mutex([Form?](repeating: nil, count: jobs.count))
    let strict = settings.isStrict
    try parallel.forEachBalanced(sizes: jobs.map(\.byteCount)) { position, threads in
      let job = jobs[position]
      switch try job.measure(threads) {
      case .form(let bytes, let error):
        let form = Form(scheme: job.scheme, bytes: bytes, error: error)
        results.withLock { $0[position] = form }
      case .refused(let reason):
        if strict {
          throw PassError.refusedWeight(
            name: names[job.candidate], reason: reason, hint: "without --strict it is skipped")
        }
      }
    }
    var candidates = list.candidates
    let forms = results.withLock { $0 }
    for (position, job) in jobs.enumerated() {
      if let form = forms[position] { candidates[job.candidate].forms.append(form) }
    }
    // What no scheme can take is no candidate, nor what a recipe could not tell apart by its name.
    let keys = Dictionary(grouping: candidates, by: \.key)
    return MeasuredForms(
      candidates: candidates.filter { $0.forms.count > 1 && keys[$0.key]?.count == 1 }, menu: menu)
  }

  /// Refuses a menu of which the model can hold nothing.
  private func check(_ model: Model) throws(PassError) {
    let hasProgram = Compressor.hasProgram(model)
    let hasNetwork = Compressor.hasNeuralNetwork(model)
    guard hasProgram || hasNetwork else { return }
    let isOfUse = menu.contains { scheme in
      hasProgram && scheme.pass.programRefusal == nil
        || hasNetwork && scheme.pass.neuralNetworks.refusal == nil
    }
    guard isOfUse else {
      let reason = menu.lazy.compactMap {
        hasProgram ? $0.pass.programRefusal : $0.pass.neuralNetworks.refusal
      }.first
      throw .usage(
        "a \(model.kind.typeName) can hold no scheme of the menu: \(reason ?? "it is empty")",
        hint: hasProgram
          ? nil : "for neural networks: \(MenuScheme.forNetworks.joined(separator: ", "))")
    }
  }
}
