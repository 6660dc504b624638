import ModelToolchain
import TestSupport
import Testing

@testable import ModelPasses

/// Schemes chosen by measured errors.
@Suite struct RecipeTests {
  /// Random forms: for every candidate a size and an error per scheme, sizes below the dense one.
  private func forms(_ random: inout RandomNumbers) -> MeasuredForms {
    let schemes = Int.random(in: 1...5, using: &random)
    let candidates = (0..<Int.random(in: 1...12, using: &random)).map { number in
      let parameters = Int.random(in: 100...5000, using: &random)
      var forms = [RecipeSearch.Form(scheme: nil, bytes: parameters * 2, error: 0)]
      for scheme in 0..<schemes where Int.random(in: 0..<8, using: &random) > 0 {
        forms.append(
          RecipeSearch.Form(
            scheme: scheme, bytes: Int.random(in: parameters / 8...parameters * 2, using: &random),
            error: Int.random(in: 0..<10, using: &random) == 0
              ? 0 : Double.random(in: 0...100, using: &random)))
      }
      return RecipeSearch.Candidate(
        name: "w\(number)", functions: ["main"], parameters: parameters, forms: forms)
    }
    return MeasuredForms(candidates: candidates, menu: Array(MenuScheme.all.prefix(schemes)))
  }

  private func error(_ recipe: ChosenRecipe, _ forms: MeasuredForms) throws -> Double {
    try zip(recipe.entries, forms.candidates).reduce(0) { sum, pair in
      let scheme = pair.0.scheme.flatMap { chosen in
        forms.menu.firstIndex { $0.name == chosen.name }
      }
      return sum + (try #require(pair.1.forms.first { $0.scheme == scheme })).error
    }
  }

  /// At every target the recipe keeps to it, and no single scheme that does has less error.
  @Test func noSingleSchemeIsBetter() throws {
    var random = RandomNumbers(seed: 20)
    for _ in 0..<400 {
      let forms = forms(&random)
      for _ in 0..<8 {
        let budget = Int.random(in: forms.leastBytes...forms.denseBytes, using: &random)
        let recipe = try #require(forms.choose(.bytes(budget)))
        let chosen = try error(recipe, forms)
        #expect(recipe.bytes <= budget)
        for scheme in forms.menu.indices {
          let single = forms.candidates.map { candidate in
            candidate.forms.first { $0.scheme == scheme } ?? candidate.forms[0]
          }
          guard single.reduce(0, { $0 + $1.bytes }) <= budget else { continue }
          #expect(chosen <= single.reduce(0) { $0 + $1.error } * (1 + 1e-12))
        }
      }
    }
  }

  @Test func goalsAtTheEnds() throws {
    var random = RandomNumbers(seed: 21)
    for _ in 0..<100 {
      let forms = forms(&random)
      #expect(forms.choose(.bytes(forms.leastBytes - 1)) == nil)
      #expect(forms.choose(.bytes(forms.leastBytes))?.bytes == forms.leastBytes)
      let all = try #require(forms.choose(.bits(64)))
      #expect(try error(all, forms) == 0)
      #expect(forms.choose(.bits(1e-9)) == nil)
    }
    let empty = MeasuredForms(candidates: [], menu: MenuScheme.all)
    #expect(empty.choose(.bytes(0))?.entries.isEmpty == true)
    #expect(empty.choose(.bits(4))?.entries.isEmpty == true)
  }

  /// Four weights of different sort.
  private func model() throws -> Model {
    var weights = WeightMaker()
    var operations: [GraphOperation] = []
    var input = "x"
    for index in 0..<4 {
      let values = RandomNumbers.floats(4096, seed: UInt64(index + 1)).map {
        index == 1 ? $0 * $0 * $0 : index == 2 ? ($0 * 4).rounded() : $0
      }
      operations.append(Make.const("w\(index)", try weights.value(.float16, [64, 64], values)))
      operations.append(
        Make.operation(
          "linear", ["x": input, "weight": "w\(index)"], Make.tensor("y\(index)", [2, 64])))
      input = "y\(index)"
    }
    return Make.model(
      9, [Make.tensor("x", [2, 64])], operations, outputs: [Make.tensor("y3", [2, 64])])
  }

  /// Measured on a model: the recipe as written has the bytes and the error that it promised, and at
  /// the size of every single scheme at most its error; the saved configuration gives the same files.
  @Test func recipesOfAModel() throws {
    let folder = try TestFolder()
    try TestPackage.write(try model(), to: folder("in.mlpackage"))
    let loaded = try LoadedModel(path: folder("in.mlpackage"))
    let search = RecipeSearch(
      menu: MenuScheme.all, settings: CompressionSettings(), parallel: Parallel(threads: 2))
    let forms = try search.measure(loaded)
    #expect(forms.parameters == 4 * 4096)
    for scheme in MenuScheme.all {
      let single = try PassRun(folder: folder, scheme.pass)
      let bytes = single.ledger.totals.afterBytes
      let recipe = try #require(forms.choose(.bytes(bytes)))
      #expect(recipe.bytes <= bytes)
      let run = try PassRun(folder: folder, recipe.pass)
      #expect(run.ledger.totals.afterBytes == recipe.bytes)
      let error = run.ledger.totals.sums.error
      #expect(error <= single.ledger.totals.sums.error * (1 + 1e-12), "\(scheme.name)")
      #expect(abs(try self.error(recipe, forms) - error) <= 1e-9 * max(1, error))

      let configs = try CompressionConfig.documents(Array(recipe.configuration.utf8))
      let again = try PassRun(folder: folder, ConfigPass(try #require(configs.first)))
      #expect(try again.files() == run.files(), "\(recipe.configuration)")
    }
  }

  @Test func namesAreQuotedInConfigurations() throws {
    let odd = "a \"b\" \\ c: *#\n\u{2028}é"
    let scheme = MenuScheme.all[0]
    let recipe = ChosenRecipe(entries: [
      .init(name: odd, functions: ["main"], scheme: scheme, bytes: 1, error: 0),
      .init(name: "n", functions: ["main"], scheme: nil, bytes: 1, error: 0),
      .init(name: "twice", functions: ["a"], scheme: scheme, bytes: 1, error: 0),
      .init(name: "twice", functions: ["b"], scheme: nil, bytes: 1, error: 0),
    ])
    let configs = try CompressionConfig.documents(Array(recipe.configuration.utf8))
    #expect(configs.first?.byName.exact(odd) != nil)
    #expect(configs.first?.byName["n"] != nil)
    #expect(configs.first?.byName["a/twice"] != nil && configs.first?.byName["b/twice"] != nil)
  }

  /// Names that would be patterns, beside names that these patterns would match.
  @Test func namesThatLookLikePatterns() throws {
    let names = ["/w/", "w*", "v?", "\\w", "/", "//", "\\/w/"]
    let others = ["w", "now", "wide", "vi"]
    let recipe = ChosenRecipe(
      entries: names.map {
        .init(name: $0, functions: ["main"], scheme: MenuScheme.all[0], bytes: 1, error: 0)
      })
    let config = try #require(
      try CompressionConfig.documents(Array(recipe.configuration.utf8)).first)
    for name in names { #expect(config.byName[name] != nil, "\(name)") }
    for name in others { #expect(config.byName[name] == nil, "\(name)") }
  }

  @Test func unknownNamesOfTheMenu() throws {
    #expect(try MenuScheme.menu(["lut4", "int8"]).map(\.name) == ["lut4", "int8"])
    #expect(throws: PassError.self) { try MenuScheme.menu(["lut9"]) }
  }
}
