import ModelCompression
import ModelGraph
import ModelTensors

/// Stores one fp32 weight as fp16.
struct HalfRecipe: WeightRecipe {
  /// What takes the constant's place.
  enum Form: Sendable {
    /// A constant of type fp16.
    case dense
    /// `constexpr_cast` back to fp32: parameters are attributes before version 9, then inputs.
    case cast(version: Int)
  }

  var clamps: Bool
  var form: Form

  var description: String {
    switch form {
    case .dense: "fp16"
    case .cast: "fp16 storage (constexpr_cast)"
    }
  }

  var requirement: VersionRequirement {
    switch form {
    case .dense: .program
    case .cast: VersionRequirement(7, "float16 storage needs constexpr_cast (iOS16)")
    }
  }

  var identity: String { clamps ? description + " clamped" : description }

  func prepare(_ source: any TensorSource, parallel: Parallel) throws -> RecipePreparation {
    switch try HalfConversion.prepare(source: source, clamp: clamps, parallel: parallel) {
    case .refused(let reason): .refused(reason: reason)
    case .ready(let conversion): .ready(HalfWeight(conversion: conversion, form: form))
    }
  }
}

/// A weight that is about to be stored as fp16.
struct HalfWeight: PreparedWeight {
  var conversion: HalfConversion
  var form: HalfRecipe.Form

  private var shape: [Int] { conversion.source.shape }

  var parts: [WeightPart] { [WeightPart(.float16, shape)] }

  var note: String? {
    var notes: [String] = []
    if conversion.beyondCount > 0 {
      notes.append("\(conversion.beyondCount) values beyond ±65504 were clamped")
    }
    if conversion.vanishingCount > 0 {
      notes.append("\(conversion.vanishingCount) values too small for fp16 became zero")
    }
    return notes.isEmpty ? nil : notes.joined(separator: "; ")
  }

  func encode(parallel: Parallel, write: @escaping PartWriter) throws -> ErrorSums {
    try conversion.encode(parallel: parallel) { offset, bytes in try write(0, offset, bytes) }
  }

  func operations(output: String, name: String, parts: [Value]) -> [GraphOperation] {
    switch form {
    case .dense:
      var constant = GraphOperation.const(output, parts[0])
      constant.attributes["name"] = .string(name)
      return [constant]
    case .cast(let version):
      let result = [NamedValueType(output, .tensor(.float32, shape))]
      if version >= 9 {
        return [
          GraphOperation(
            type: "constexpr_cast",
            inputs: [
              "source_val": .value(parts[0]), "output_dtype": .value(.string("fp32")),
            ], outputs: result, attributes: ["name": .string(name)])
        ]
      }
      return [
        GraphOperation(
          type: "constexpr_cast", outputs: result,
          attributes: [
            "name": .string(name), "source_val": parts[0], "output_dtype": .string("fp32"),
          ])
      ]
    }
  }
}
