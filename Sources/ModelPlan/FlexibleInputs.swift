import ModelGraph

/// The inputs of a function whose shapes are not fixed.
struct FlexibleInputs {
  private var defaults: [String: [Int]] = [:]
  private var declared: [String: [Int]?] = [:]
  private var flexibilities: [String: ArrayType.Flexibility] = [:]
  private(set) var isFlexible = false
  private(set) var isEnumerated = false

  init(_ function: Function, _ description: ModelDescription?, function name: String) {
    for input in function.inputs { declared[input.name] = input.type?.tensor?.shape }
    let own = description?.functions.first { $0.name == name }
    for feature in own?.inputs ?? description?.inputs ?? [] {
      switch feature.type?.kind {
      case .multiArray(let array):
        flexibilities[feature.name] = array.flexibility
        switch array.flexibility {
        case .fixed: continue
        case .range(let ranges):
          isFlexible = true
          defaults[feature.name] =
            array.shape.isEmpty
            ? ranges.map { Int(clamping: $0.lowerBound) } : array.shape.map { Int(clamping: $0) }
        case .enumerated(let shapes):
          isFlexible = true
          isEnumerated = true
          let shape = array.shape.isEmpty ? shapes.first?.sizes ?? [] : array.shape
          defaults[feature.name] = shape.map { Int(clamping: $0) }
        }
      case .image(let image) where image.flexibility != .fixed:
        isFlexible = true
        guard let type = function.inputs.first(where: { $0.name == feature.name })?.type?.tensor
        else { continue }
        var shape = type.dimensions.map { $0.size ?? 1 }
        if shape.count >= 2 {
          shape[shape.count - 2] = Int(clamping: image.height)
          shape[shape.count - 1] = Int(clamping: image.width)
        }
        defaults[feature.name] = shape
      default: continue
      }
    }
  }

  /// The sizes of inputs: those given, else the defaults of flexible ones.
  func sizes(_ given: [String: [Int]]) throws(PlanError) -> [String: [Int]] {
    for (name, shape) in given.sorted(by: { $0.key < $1.key }) {
      guard let type = declared[name] else {
        throw PlanError(
          .usage, "there is no input \"\(name)\"",
          hint: "inputs: \(declared.keys.sorted().joined(separator: ", "))")
      }
      if let fixed = type, defaults[name] == nil, fixed != shape {
        throw PlanError(.usage, "the input \(name) has the shape \(fixed), not \(shape)")
      }
      if let standard = defaults[name], standard.count != shape.count {
        throw PlanError(.usage, "the input \(name) has rank \(standard.count), not \(shape.count)")
      }
      if let allowed = refusal(of: shape, for: name) {
        throw PlanError(
          .usage, "the input \(name) does not take the shape \(shape)", hint: "it takes \(allowed)")
      }
    }
    return defaults.merging(given) { $1 }
  }

  /// The shapes that an input takes, where this one is not among them.
  private func refusal(of shape: [Int], for name: String) -> String? {
    switch flexibilities[name] {
    case .range(let ranges) where ranges.count == shape.count:
      let fits = zip(shape, ranges).allSatisfy { size, range in
        size >= Int(clamping: range.lowerBound)
          && (range.upperBound < 0 || size <= Int(clamping: range.upperBound))
      }
      let texts = ranges.map { range in
        if range.upperBound < 0 { return "\(range.lowerBound)…" }
        return range.lowerBound == UInt64(range.upperBound)
          ? "\(range.lowerBound)" : "\(range.lowerBound)…\(range.upperBound)"
      }
      return fits ? nil : texts.joined(separator: ",")
    case .enumerated(let shapes):
      let own = shapes.map { $0.sizes.map { Int(clamping: $0) } } + [defaults[name] ?? []]
      if own.contains(shape) { return nil }
      return shapes.prefix(8).map { $0.sizes.map(String.init).joined(separator: ",") }
        .joined(separator: " or ")
    default: return nil
    }
  }

  /// An input whose sizes are not known.
  func open(_ sizes: [String: [Int]]) -> String? {
    declared.filter { $0.value == nil && sizes[$0.key] == nil }.keys.sorted().first
  }
}
