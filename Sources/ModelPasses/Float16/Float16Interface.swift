import ModelGraph

/// Which inputs and outputs of a function become float16.
struct Float16Interface {
  private var names: Set<String> = []

  /// The multi-array features of type float32, when the interface is to change.
  init(_ description: ModelDescription?, _ function: String, isChanged: Bool) {
    guard isChanged, let description else { return }
    let own = description.functions.first { $0.name == function }
    let features =
      own.map { $0.inputs + $0.outputs } ?? (description.inputs + description.outputs)
    for feature in features where Float16Interface.isFloat32Array(feature) {
      names.insert(feature.name)
    }
  }

  /// Whether the input or output becomes float16.
  func isFloat16(_ name: String) -> Bool { names.contains(name) }

  private static func isFloat32Array(_ feature: FeatureDescription) -> Bool {
    if case .multiArray(let type) = feature.type?.kind { return type.dataType == .float32 }
    return false
  }

  /// Declares the float32 arrays of the interface, and the inputs of the functions, as float16.
  ///
  /// - Parameter kept: By function, outputs that stay float32.
  static func change(
    _ model: inout Model, _ program: inout Program, keeping kept: [String: Set<String>]
  ) {
    guard var description = model.description else { return }
    for (name, original) in program.functions {
      let interface = Float16Interface(description, name, isChanged: true)
      var function = original
      for index in function.inputs.indices
      where interface.isFloat16(function.inputs[index].name) {
        guard let tensor = function.inputs[index].type?.tensor, tensor.elementType == .float32
        else { continue }
        function.inputs[index].type?.kind = .tensor(tensor.with(elementType: .float16))
      }
      program.functions[name] = function
    }
    let main = kept.values.reduce(into: Set<String>()) { $0.formUnion($1) }
    description.inputs = description.inputs.map(changed)
    description.outputs = changed(description.outputs, keeping: main)
    for index in description.functions.indices {
      let function = description.functions[index]
      description.functions[index].inputs = function.inputs.map(changed)
      description.functions[index].outputs = changed(
        function.outputs, keeping: kept[function.name] ?? [])
    }
    model.description = description
  }

  private static func changed(
    _ features: [FeatureDescription], keeping kept: Set<String>
  ) -> [FeatureDescription] {
    features.map { kept.contains($0.name) ? $0 : changed($0) }
  }

  private static func changed(_ feature: FeatureDescription) -> FeatureDescription {
    guard case .multiArray(var type) = feature.type?.kind, type.dataType == .float32 else {
      return feature
    }
    var copy = feature
    type.dataType = .float16
    copy.type?.kind = .multiArray(type)
    return copy
  }
}
