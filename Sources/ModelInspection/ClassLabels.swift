import CModelSchemas
import ModelGraph
import ModelSpec

/// The class labels of a classifier, in the order of its probabilities.
public enum ClassLabels: Sendable, Equatable {
  case strings([String])
  case integers([Int64])

  /// How many labels a report names.
  static let limit = 10

  /// Labels of either kind, or nil when there are none.
  init?(
    strings: UnsafeMutablePointer<CoreML__Specification__StringVector>?,
    numbers: UnsafeMutablePointer<CoreML__Specification__Int64Vector>? = nil
  ) {
    if let vector = strings?.pointee {
      self = .strings(
        UnsafeBufferPointer(start: vector.vector, count: vector.n_vector).map(shown))
    } else if let vector = numbers?.pointee {
      self = .integers(Array(UnsafeBufferPointer(start: vector.vector, count: vector.n_vector)))
    } else {
      return nil
    }
  }

  /// The labels of a `classify` operation, or nil when the value holds none.
  init?(_ value: ImmediateValue) {
    switch value.kind {
    case .tensor(.strings(let texts)): self = .strings(texts)
    case .tensor(.longInts(let numbers)): self = .integers(numbers)
    case .list(let values) where values.contains { $0.stringValue != nil }:
      self = .strings(values.map { $0.stringValue ?? "" })
    case .list(let values): self = .integers(values.map { Int64($0.intValue ?? 0) })
    default: return nil
    }
  }

  /// How many labels there are.
  public var count: Int {
    switch self {
    case .strings(let labels): labels.count
    case .integers(let labels): labels.count
    }
  }

  /// Each label once, where it stands first.
  var distinct: ClassLabels {
    switch self {
    case .strings(let labels): .strings(labels.distinct)
    case .integers(let labels): .integers(labels.distinct)
    }
  }

  /// Number, type and the first few labels.
  var detail: Detail {
    let type: String
    let first: [Detail]
    switch self {
    case .strings(let labels):
      type = "string"
      first = labels.prefix(ClassLabels.limit).map { .text($0) }
    case .integers(let labels):
      type = "int64"
      first = labels.prefix(ClassLabels.limit).map { .integer(Int($0)) }
    }
    return .object(["count": .integer(count), "type": .text(type), "first": .list(first)])
  }
}

extension Array where Element: Hashable {
  fileprivate var distinct: [Element] {
    var seen = Set<Element>()
    return filter { seen.insert($0).inserted }
  }
}

extension ClassLabels? {
  /// The field `labels`, or nothing.
  var fields: ModelDetails.Fields { map { [("labels", $0.detail)] } ?? [] }
}

extension Model {
  /// The class labels that the model holds; of a pipeline those of its last model that has some.
  ///
  /// - Parameter function: The function of a program; nil for the first that classifies.
  /// - Throws: `SpecError` when a kind that is kept whole cannot be unpacked.
  public func classLabels(ofFunction function: String? = nil) throws -> ClassLabels? {
    switch kind {
    case .program(let program):
      return program.functions.lazy
        .filter { function == nil || $0.key == function }
        .compactMap { $0.value.classLabels }.first
    case .neuralNetwork(let network):
      return network.typeName == "neuralNetworkClassifier"
        ? try network.withNetwork { $0.labels } : nil
    case .pipeline(let pipeline):
      for child in pipeline.models.reversed() {
        if let labels = try child.classLabels() { return labels }
      }
      return nil
    case .other(let model): return try model.classLabels
    case .absent: return nil
    }
  }
}

extension Function {
  /// The labels of the first `classify` operation.
  var classLabels: ClassLabels? {
    guard let block = activeBlock,
      let operation = block.operations.first(where: { $0.type == "classify" }),
      let classes = operation.inputs["classes"]
    else { return nil }
    let constant = classes.name.flatMap { name in
      block.operations.first { $0.isConst && $0.outputs.first?.name == name }
    }
    guard case .immediate(let value)? = (classes.value ?? constant?.attributes["val"])?.content
    else { return nil }
    return ClassLabels(value)
  }
}
