import ModelGraph
import ModelTensors

/// An input, output or state as its users see it.
public struct FeatureFact: Sendable, Equatable {
  /// The kinds of feature; the raw value is the name in text and JSON output.
  public enum Kind: String, Sendable {
    case array
    case image
    case int64
    case double
    case string
    case dictionary
    case sequence
    case state
    /// The file gives no type.
    case unknown
  }

  /// Which shapes are allowed beside the default one.
  public enum Flexibility: Sendable, Equatable {
    /// Bounds of each axis; no upper bound is nil.
    case range([(low: Int, high: Int?)])
    case enumerated([[Int]])

    /// Compares bounds and shapes.
    public static func == (left: Flexibility, right: Flexibility) -> Bool {
      switch (left, right) {
      case (.range(let left), .range(let right)): left.elementsEqual(right) { $0 == $1 }
      case (.enumerated(let left), .enumerated(let right)): left == right
      default: false
      }
    }
  }

  /// The name of the feature.
  public var name: String
  /// The kind of its values.
  public var kind: Kind
  /// `fp16`, `fp32` …; the colour space of an image; the type of a dictionary's keys or of a
  /// sequence's elements.
  public var dtype: String
  /// The default shape, nil for a size that is not known; height and width of an image; empty for
  /// scalars, dictionaries and sequences.
  public var shape: [Int?]
  /// Other shapes that are allowed; nil for a fixed one.
  public var flexibility: Flexibility?
  /// Whether it may be left out.
  public var isOptional: Bool
  /// What the author says about it.
  public var description: String

  init(_ feature: FeatureDescription) {
    name = feature.name
    description = feature.shortDescription
    isOptional = feature.type?.isOptional ?? false
    (kind, dtype, shape, flexibility) = (.unknown, "", [], nil)
    switch feature.type?.kind {
    case .int64: (kind, dtype) = (.int64, "int64")
    case .double: (kind, dtype) = (.double, "fp64")
    case .string: (kind, dtype) = (.string, "string")
    case .multiArray(let type): set(type, .array)
    case .state(let type):
      kind = .state
      if let type { set(type, .state) }
    case .image(let type): set(type)
    case .dictionary(let key): (kind, dtype) = (.dictionary, FeatureFact.name(of: key))
    case .sequence(let element, let size):
      (kind, dtype) = (.sequence, FeatureFact.name(of: element))
      if let size { flexibility = .range([FeatureFact.bounds(size)]) }
    case .absent, nil: break
    }
  }

  /// A feature of which only the program knows.
  init(_ value: NamedValueType) {
    name = value.name
    description = ""
    isOptional = false
    flexibility = nil
    if case .state = value.type?.kind { kind = .state } else { kind = .array }
    let tensor = value.type?.tensorOrStateTensor
    dtype = tensor?.elementType?.rawValue ?? ""
    shape = tensor?.dimensions.map(\.size) ?? []
  }

  private mutating func set(_ type: ArrayType, _ kind: Kind) {
    self.kind = kind
    dtype = type.dataType.name
    shape = type.shape.map(FeatureFact.size)
    switch type.flexibility {
    case .fixed: break
    case .enumerated(let shapes):
      flexibility = .enumerated(shapes.map { $0.sizes.map { Int($0) } })
      if shape.isEmpty, let first = shapes.first { shape = first.sizes.map(FeatureFact.size) }
    case .range(let ranges):
      let bounds = ranges.map(FeatureFact.bounds)
      flexibility = .range(bounds)
      if shape.isEmpty { shape = bounds.map { $0.high == $0.low ? $0.low : nil } }
    }
  }

  private mutating func set(_ type: ImageType) {
    kind = .image
    dtype = type.colorSpace.name
    shape = [type.height, type.width].map(FeatureFact.size)
    switch type.flexibility {
    case .fixed: break
    case .enumerated(let sizes):
      flexibility = .enumerated(
        sizes.map { [Int(clamping: $0.height), Int(clamping: $0.width)] })
    case .range(let width, let height):
      let fixed = shape.map { (low: $0 ?? 0, high: $0) }
      flexibility = .range([
        height.map(FeatureFact.bounds) ?? fixed[0], width.map(FeatureFact.bounds) ?? fixed[1],
      ])
    }
  }

  private static func size(_ size: Int64) -> Int? { size < 0 ? nil : Int(size) }

  private static func bounds(_ range: SizeRange) -> (low: Int, high: Int?) {
    (Int(clamping: range.lowerBound), range.upperBound < 0 ? nil : Int(range.upperBound))
  }

  private static func name(of type: FeatureType.KeyType) -> String {
    switch type {
    case .int64: "int64"
    case .string: "string"
    case .absent: ""
    }
  }
}
