import ModelCompression
import ModelGraph
import ModelTensors

/// Weights and arithmetic in float16, with casts where float32 remains: at the interface and around
/// operations that do not take float16.
public struct Float16Pass: CompressionPass {
  /// Whether multi-array inputs and outputs become float16 as well.
  public var changesInterface: Bool
  /// Whether weights beyond ±65504 are clamped instead of refused.
  public var clamps: Bool
  /// Constants whose consumers all take float16; true where values beyond the range saturate.
  private var selected: [Key: Bool] = [:]

  private struct Key: Hashable {
    var place: [Int]
    var function: String
    var specialization: String
    var name: String
  }

  /// A pass with these settings.
  public init(changesInterface: Bool = false, clamps: Bool = false) {
    self.changesInterface = changesInterface
    self.clamps = clamps
  }

  /// 6; 7 for float16 inputs and outputs.
  public var requirement: VersionRequirement {
    changesInterface
      ? VersionRequirement(7, "float16 inputs and outputs need iOS16") : .program
  }

  /// Which constants the pass is asked about.
  public var selection: CandidateSelection { .own }
  /// The hint when a refusal is an error; nil where it is a skip.
  public var refusalHint: String? { "--clamp stores the nearest float16 values" }

  /// Changes the model before its constants are looked at; returns notes.
  public mutating func rewrite(
    _ model: inout Model, settings: CompressionSettings
  ) throws -> [String] {
    var kept: Set<BlobReference> = []
    forEachAnalysis(of: model, settings, kept: []) { analysis, _, _, _ in
      kept.formUnion(analysis.constantsNeededInFloat32)
    }
    var notes: [String] = []
    var chosen: [Key: Bool] = [:]
    var patches: [[Int]: [Patch]] = [:]
    var keptOutputs: [[Int]: [String: Set<String>]] = [:]
    forEachAnalysis(of: model, settings, kept: kept) { analysis, place, function, key in
      let rewrite = Float16Rewrite(analysis)
      notes += rewrite.notes
      for name in analysis.keptOutputs.sorted() {
        notes.append("\(function)/\(name): the output stays fp32, what yields it needs fp32")
        keptOutputs[place, default: [:]][function, default: []].insert(name)
      }
      for (name, saturates) in rewrite.constants {
        let constant = Key(
          place: place, function: function, specialization: key, name: name)
        chosen[constant] = saturates
      }
      if !rewrite.edits.isEmpty {
        patches[place, default: []].append(
          Patch(
            label: "float16", function: function, specialization: key, edits: rewrite.edits))
      }
    }
    let changesInterface = changesInterface
    try model.updateEachProgram { model, place in
      guard var program = model.program else { return }
      try program.apply(patches[place] ?? [])
      if changesInterface {
        Float16Interface.change(&model, &program, keeping: keptOutputs[place] ?? [:])
      }
      model.program = program
    }
    selected = chosen
    return notes
  }

  private func forEachAnalysis(
    of model: Model, _ settings: CompressionSettings, kept: Set<BlobReference>,
    _ body: (Float16Analysis, _ place: [Int], _ function: String, _ specialization: String) -> Void
  ) {
    model.forEachProgramModel { model, place in
      guard let program = model.program else { return }
      for (name, function) in program.functions {
        for (key, block) in function.specializations {
          let analysis = Float16Analysis(
            function: function, name: name, block: block,
            version: Opset.specificationVersion(key) ?? model.specificationVersion,
            settings: settings,
            interface: Float16Interface(model.description, name, isChanged: changesInterface),
            kept: kept)
          body(analysis, place, name, key)
        }
      }
    }
  }

  /// Decides on a candidate.
  public func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    guard constant.elementType == .float32 else {
      return .skip("is \(constant.elementType.rawValue), not fp32")
    }
    guard constant.encoding.isDense else {
      return .skip("is compressed (\(constant.encoding.name)); casts follow it")
    }
    let modes = constant.sites.map { site in
      selected[
        Key(
          place: site.place, function: site.function, specialization: site.specialization,
          name: site.name)]
    }
    guard modes.allSatisfy({ $0 != nil }) else {
      return .skip("an operation needs it in fp32")
    }
    let saturates = modes.allSatisfy { $0 == true }
    return .encode(HalfRecipe(clamps: clamps || saturates, form: .dense))
  }
}

/// Weights stored in float16 and cast back when the model is loaded; arithmetic as before.
public struct Float16StoragePass: CompressionPass {
  /// Whether weights beyond ±65504 are clamped instead of refused.
  public var clamps: Bool

  /// A pass with this setting.
  public init(clamps: Bool = false) { self.clamps = clamps }

  /// Which constants the pass is asked about.
  public var selection: CandidateSelection { .anySize }
  /// The hint when a refusal is an error; nil where it is a skip.
  public var refusalHint: String? { "--clamp stores the nearest float16 values" }

  /// Decides on a candidate.
  public func decide(_ constant: ConstantFacts, version: Int) -> RecipeDecision {
    guard constant.elementType == .float32 else {
      return .skip("is \(constant.elementType.rawValue), not fp32")
    }
    guard constant.encoding.isDense else {
      return .skip("is compressed already (\(constant.encoding.name))")
    }
    return .encode(HalfRecipe(clamps: clamps, form: .cast(version: version)))
  }
}
