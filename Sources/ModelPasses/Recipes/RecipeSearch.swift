import ModelCompression
import ModelFiles
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
  /// - Throws: What reading the weights throws.
  public func measure(_ loaded: LoadedModel) throws -> MeasuredForms {
    let model = loaded.model
    let version = settings.targetVersion ?? max(model.specificationVersion, 9)
    let index = try ConstantIndex(model)
    let filter = CandidateFilter(settings: settings, pass: QuantizePass())
    var jobs: [(candidate: Int, scheme: Int, recipe: any WeightRecipe)] = []
    var candidates: [Candidate] = []
    var sources: [any TensorSource] = []
    for constant in index.constants {
      guard case .candidate(let facts) = filter.classify(constant), facts.encoding.isDense else {
        continue
      }
      for (number, scheme) in menu.enumerated() {
        guard case .encode(let recipe) = scheme.pass.decide(facts, version: version),
          settings.targetVersion.map({ recipe.requirement.version <= $0 }) ?? true
        else { continue }
        jobs.append((candidates.count, number, recipe))
      }
      candidates.append(
        Candidate(
          name: constant.name, functions: facts.functions, parameters: facts.elementCount,
          forms: [Form(scheme: nil, bytes: facts.byteCount, error: 0)]))
      sources.append(constant.source)
    }
    let results = Mutex([Form?](repeating: nil, count: jobs.count))
    let work = jobs
    let tensors = sources
    let names = candidates.map(\.name)
    let strict = settings.isStrict
    try parallel.forEachBalanced(sizes: work.map { tensors[$0.candidate].byteCount }) {
      position, threads in
      let job = work[position]
      let source = tensors[job.candidate]
      let weight: any PreparedWeight
      switch try job.recipe.prepare(source, parallel: threads) {
      case .ready(let prepared): weight = prepared
      case .refused(let reason):
        if strict {
          throw PassError.refusedWeight(
            name: names[job.candidate], reason: reason, hint: "without --strict it is skipped")
        }
        return
      }
      let sums = try weight.encode(parallel: threads) { _, _, _ in }
      let bytes = weight.parts.reduce(0) { $0 + $1.byteCount }
      results.withLock { $0[position] = Form(scheme: job.scheme, bytes: bytes, error: sums.error) }
    }
    let forms = results.withLock { $0 }
    for (position, job) in work.enumerated() {
      if let form = forms[position] { candidates[job.candidate].forms.append(form) }
    }
    // What no scheme can take is no candidate.
    return MeasuredForms(candidates: candidates.filter { $0.forms.count > 1 }, menu: menu)
  }
}

/// The sizes and errors of all forms of all candidates.
public struct MeasuredForms: Sendable {
  let candidates: [RecipeSearch.Candidate]
  let menu: [MenuScheme]

  /// Parameters of all candidates.
  public var parameters: Int { candidates.reduce(0) { $0 + $1.parameters } }
  /// Bytes of all candidates as they are.
  public var denseBytes: Int { candidates.reduce(0) { $0 + ($1.forms.first?.bytes ?? 0) } }

  /// Bytes of the smallest forms of all candidates.
  public var leastBytes: Int {
    candidates.reduce(0) { $0 + ($1.forms.map(\.bytes).min() ?? 0) }
  }

  /// Bytes that a goal leaves to the candidates.
  func budget(_ goal: RecipeSearch.Goal) -> Int {
    switch goal {
    case .bits(let bits):
      let total = (Double(parameters) * bits / 8).rounded(.down)
      return total < Double(denseBytes) ? max(0, Int(total)) : denseBytes
    case .bytes(let bytes): return max(0, bytes)
    }
  }

  /// The recipe that gives every weight the same scheme where it can take it.
  public func uniform(_ scheme: MenuScheme) -> ChosenRecipe? {
    guard let number = menu.firstIndex(where: { $0.name == scheme.name }) else { return nil }
    return recipe(
      candidates.map { candidate in
        candidate.forms.first { $0.scheme == number } ?? candidate.forms[0]
      })
  }

  /// The best choice of forms within a goal; nil when even the smallest forms exceed it.
  public func choose(_ goal: RecipeSearch.Goal) -> ChosenRecipe? {
    let budget = budget(goal)
    var best = greedy(budget)
    for scheme in menu.indices {
      let uniform = candidates.map { candidate in
        candidate.forms.first { $0.scheme == scheme } ?? candidate.forms[0]
      }
      guard uniform.reduce(0, { $0 + $1.bytes }) <= budget else { continue }
      let error = uniform.reduce(0) { $0 + $1.error }
      if best.map({ error < $0.reduce(0) { $0 + $1.error } }) ?? true { best = uniform }
    }
    guard let best else { return nil }
    return recipe(best)
  }

  private func recipe(_ forms: [RecipeSearch.Form]) -> ChosenRecipe {
    ChosenRecipe(
      entries: zip(candidates, forms).map { candidate, form in
        ChosenRecipe.Entry(
          name: candidate.name, functions: candidate.functions,
          scheme: form.scheme.map { menu[$0] }, bytes: form.bytes, error: form.error)
      })
  }

  /// Steps along the hulls in the order of error per byte saved, then back where room is left.
  private func greedy(_ budget: Int) -> [RecipeSearch.Form]? {
    let hulls = candidates.map { MeasuredForms.hull($0.forms) }
    var steps: [(slope: Double, candidate: Int, form: RecipeSearch.Form)] = []
    for (number, hull) in hulls.enumerated() {
      for (form, next) in zip(hull, hull.dropFirst()) {
        let slope = (next.error - form.error) / Double(form.bytes - next.bytes)
        steps.append((slope, number, next))
      }
    }
    // Equal slopes keep the order of the model.
    let order = steps.indices.sorted { (steps[$0].slope, $0) < (steps[$1].slope, $1) }
    var chosen = hulls.compactMap(\.first)
    var bytes = chosen.reduce(0) { $0 + $1.bytes }
    for index in order where bytes > budget {
      let step = steps[index]
      bytes += step.form.bytes - chosen[step.candidate].bytes
      chosen[step.candidate] = step.form
    }
    guard bytes <= budget else { return nil }
    refill(&chosen, room: budget - bytes)
    return chosen
  }

  /// Spends what is left on the forms that win the most per byte.
  private func refill(_ chosen: inout [RecipeSearch.Form], room: Int) {
    var room = room
    while true {
      var best: (gain: Double, candidate: Int, form: RecipeSearch.Form)?
      for (number, candidate) in candidates.enumerated() {
        for form in candidate.forms {
          let cost = form.bytes - chosen[number].bytes
          let gain = chosen[number].error - form.error
          guard gain > 0, cost <= room else { continue }
          let rate = gain / Double(max(cost, 1))
          if best.map({ rate > $0.gain }) ?? true { best = (rate, number, form) }
        }
      }
      guard let step = best else { return }
      room -= step.form.bytes - chosen[step.candidate].bytes
      chosen[step.candidate] = step.form
    }
  }

  /// The lower convex hull of forms by size: largest first, errors rising ever faster.
  private static func hull(_ forms: [RecipeSearch.Form]) -> [RecipeSearch.Form] {
    let sorted = forms.enumerated().sorted {
      ($1.element.bytes, $0.element.error, $0.offset) < (
        $0.element.bytes, $1.element.error, $1.offset
      )
    }.map(\.element)
    // From the smallest up, only forms with less error than all smaller ones are of use.
    var useful: [RecipeSearch.Form] = []
    for form in sorted.reversed() {
      if let last = useful.last, form.error >= last.error || form.bytes == last.bytes {
        if form.bytes == last.bytes, form.error < last.error { useful[useful.count - 1] = form }
        continue
      }
      useful.append(form)
    }
    var hull: [RecipeSearch.Form] = []
    for form in useful.reversed() {
      while hull.count >= 2 {
        let a = hull[hull.count - 2]
        let b = hull[hull.count - 1]
        let first = (b.error - a.error) * Double(b.bytes - form.bytes)
        let second = (form.error - b.error) * Double(a.bytes - b.bytes)
        if first < second { break }
        hull.removeLast()
      }
      hull.append(form)
    }
    return hull
  }
}

/// A scheme per weight.
public struct ChosenRecipe: Sendable {
  /// One weight.
  public struct Entry: Sendable {
    /// The name of the weight.
    public var name: String
    /// The functions that use it.
    public var functions: [String]
    /// Nil for a weight that stays as it is.
    public var scheme: MenuScheme?
    /// Stored bytes in this form.
    public var bytes: Int
    /// The squared error of this form.
    public var error: Double

    /// The name that tells the weight from those of other functions.
    var key: String { ConstantFacts.key(name, functions) }
  }

  /// One entry per weight.
  public var entries: [Entry]

  /// Bytes of all entries.
  public var bytes: Int { entries.reduce(0) { $0 + $1.bytes } }
  /// The squared error of all entries.
  public var error: Double { entries.reduce(0) { $0 + $1.error } }

  /// The recipe as a pass.
  public var pass: any CompressionPass { RecipePass(self) }

  /// A configuration file that reproduces the recipe.
  public var configuration: String {
    var lines = ["# Schemes chosen per weight by their measured error."]
    lines += ["config_type: OpLinearQuantizerConfig", "op_name_configs:"]
    let shared = Dictionary(grouping: entries, by: \.name)
    for entry in entries {
      let name = (shared[entry.name]?.count ?? 0) > 1 ? entry.key : entry.name
      guard let scheme = entry.scheme else {
        lines.append("  \(ChosenRecipe.quoted(name)): null")
        continue
      }
      lines.append("  \(ChosenRecipe.quoted(name)):")
      lines += (scheme.options + [("weight_threshold", "0")]).map { "    \($0.key): \($0.value)" }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ name: String) -> String {
    var text = "\""
    for scalar in name.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { text += "\\" }
      if (0x20..<0x7F).contains(scalar.value) {
        text.unicodeScalars.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16)
        text += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
      }
    }
    return text + "\""
  }
}

/// A recipe as a pass.
private struct RecipePass: CompressionPass {
  private let schemes: [String: MenuScheme]

  init(_ recipe: ChosenRecipe) {
    schemes = Dictionary(
      recipe.entries.compactMap { entry in entry.scheme.map { (entry.key, $0) } },
      uniquingKeysWith: { first, _ in first })
  }

  func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    guard let scheme = schemes[constant.key] else { return .skip("the recipe leaves it") }
    return scheme.pass.decide(constant, version: version)
  }
}
