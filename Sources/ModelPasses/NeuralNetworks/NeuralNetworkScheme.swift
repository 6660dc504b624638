import ModelCompression
import ModelGraph
import ModelTensors

/// How the weights of neural networks are stored.
public enum NeuralNetworkScheme: Sendable, Hashable {
  /// Plain fp32.
  case float32
  /// Values beyond ±65504 are refused, or become the nearest that fit.
  case float16(clamps: Bool)
  /// Codes with scale and bias; one pair per output channel, or for the whole weight.
  case linear(LinearScheme, isPerTensor: Bool = false)
  /// Codes of this many bits (of no account for unique entries) into one table per weight.
  case lookup(bits: Int, TableCoding.Entries)

  /// The scheme for the ledger, apart from where channels lie.
  func description(axis: Int?, bits: Int?) -> String {
    switch self {
    case .float32: return "fp32"
    case .float16: return "fp16"
    case .linear(let scheme, _):
      let scope = axis.map { "per channel (axis \($0))" } ?? "per tensor"
      return "linear\(scheme.bits) \(scheme.isSymmetric ? "symmetric" : "affine") \(scope)"
    case .lookup(let asked, let entries):
      return "lut\(bits ?? asked) \(entries.rawValue) per tensor"
    }
  }

  /// The lowest specification version that has the form.
  var requirement: VersionRequirement? {
    switch self {
    case .float32: nil
    case .float16: VersionRequirement(2, "fp16 weights of neural networks need iOS11.2")
    case .linear, .lookup:
      VersionRequirement(3, "quantized weights of neural networks need iOS12")
    }
  }
}

/// What a pass may know of a neural network's weight before its values are read.
public struct NetworkWeightFacts: Sendable {
  /// The ledger's name, `layer.path`, inside a pipeline behind the children's names.
  public var name: String
  /// The name without those of children.
  public var ownName: String
  /// The name of the layer.
  public var layer: String
  /// The kind of the layer, such as `innerProduct`.
  public var layerType: String
  /// The field in the layer's parameters, such as `weights`.
  public var path: String
  /// The sizes of its axes.
  public var shape: [Int]
  /// The axis of the output channels; nil where there is none.
  public var channelAxis: Int?
  /// How it is stored.
  public var storage: NeuralNetworkWeight.Storage
  /// The number of values.
  public var elementCount: Int
  /// Stored bytes.
  public var byteCount: Int

  /// The number of axes; of addends and factors those of length 1 do not count.
  var rank: Int {
    layerType == "bias" || layerType == "scale" ? shape.filter { $0 > 1 }.count : shape.count
  }
}

/// What a pass wants with a weight of a neural network.
public enum NetworkWeightDecision: Sendable {
  /// The note goes to the weight's row of the ledger.
  case encode(NeuralNetworkScheme, note: String? = nil)
  /// The weight stays; the reason is a clause.
  case skip(String)
}

/// What a pass does with neural networks.
public enum NeuralNetworkSupport: Sendable {
  /// Nothing; the reason is a clause, `neural networks have no sparse form`.
  case unsupported(String)
  /// Nothing with these settings; the reason is a clause, `neural networks have no scales per
  /// block`.
  case impossible(String)
  /// One scheme for all weights; the note goes to the ledger.
  case scheme(NeuralNetworkScheme, note: String? = nil)
  /// The pass decides for every candidate.
  case decided(@Sendable (NetworkWeightFacts) -> NetworkWeightDecision)

  /// Why the pass does nothing with neural networks; nil when it does something.
  var refusal: String? {
    switch self {
    case .unsupported(let reason), .impossible(let reason): reason
    case .scheme, .decided: nil
    }
  }

  /// What the ledger says when there are neural networks.
  var note: String? {
    if case .scheme(_, let note) = self { return note }
    return refusal.map { "neural networks are kept: \($0)" }
  }

  /// The error of a pass that is run on neural networks only; nil when it does something.
  func error(typeName: String) -> PassError? {
    switch self {
    case .unsupported(let reason):
      .unsupported(
        "a \(typeName): \(reason)", hint: "quantize and palettize compress neural networks")
    case .impossible(let reason): .usage("a \(typeName): \(reason)")
    case .scheme, .decided: nil
    }
  }

  /// The decision on a candidate.
  func decide(_ facts: NetworkWeightFacts) -> NetworkWeightDecision {
    switch self {
    case .unsupported(let reason), .impossible(let reason): .skip(reason)
    case .scheme(let scheme, _): .encode(scheme)
    case .decided(let decide): decide(facts)
    }
  }
}
