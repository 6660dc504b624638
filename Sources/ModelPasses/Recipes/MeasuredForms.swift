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
