import ModelGraph

/// One input, output or state as `metadata.json` describes it; all values are texts.
public struct FeatureSchema: Codable, Sendable, Equatable {
  /// The name.
  public var name: String
  /// `MultiArray`, `Image`, `State`, `Dictionary`, `Sequence`, `String`, `Int64` or `Double`.
  public var type: String
  /// The type for readers, `MultiArray (Float16 1 × 10)`.
  public var formattedType: String
  /// What the author says about it.
  public var shortDescription: String
  /// `1` for an input that may be left out, else `0`.
  public var isOptional: String
  /// `Float32`, `Float16`, `Double`, `Int32`, `Int8`.
  public var dataType: String?
  /// The default shape, `[1, 10]`.
  public var shape: String?
  /// `1` for an array of several shapes, else `0`.
  public var hasShapeFlexibility: String?
  /// The shapes for readers, `1...4 × 4` or `1 | 2 | 4`.
  public var shapeFlexibility: String?
  /// Least and greatest sizes, `[[1, 4], [4, 4]]`; −1 for no bound.
  public var shapeRange: String?
  /// All shapes, `[[1], [2], [4]]`.
  public var enumeratedShapes: String?
  /// Pixels of an image.
  public var width: String?
  /// Pixels of an image.
  public var height: String?
  /// `RGB`, `BGR`, `Grayscale`.
  public var colorspace: String?
  /// `0` for grayscale, else `1`.
  public var isColor: String?
  /// `1` for an image of several sizes, else `0`.
  public var hasSizeFlexibility: String?
  /// The sizes for readers, `299 × 299 | 600 × 375`.
  public var sizeFlexibility: String?
  /// Least and greatest width and height; −1 for no bound.
  public var sizeRange: String?
  /// All sizes, `[[299, 299], [600, 375]]`.
  public var enumeratedSizes: String?
  /// `String` or `Int64`, of a dictionary.
  public var keyType: String?

  /// The schema of a feature.
  public init(_ feature: FeatureDescription) {
    self.init(
      name: feature.name, description: feature.shortDescription,
      isOptional: feature.type?.isOptional ?? false)
    switch feature.type?.kind {
    case .multiArray(let array): set(array, as: "MultiArray")
    case .state(let array):
      type = "State"
      if let array { set(array, as: "State") } else { formattedType = "State" }
    case .image(let image): set(image)
    case .dictionary(let key):
      type = "Dictionary"
      keyType = FeatureSchema.name(of: key)
      formattedType = "Dictionary (\(FeatureSchema.name(of: key)) → Double)"
    case .sequence(let element, _):
      type = "Sequence"
      formattedType = "Sequence (\(FeatureSchema.name(of: element)))"
    case .int64: (type, formattedType) = ("Int64", "Int64")
    case .double: (type, formattedType) = ("Double", "Double")
    case .string: (type, formattedType) = ("String", "String")
    case .absent, nil: break
    }
  }

  private init(name: String, description: String, isOptional: Bool) {
    self.name = name
    type = ""
    formattedType = ""
    shortDescription = description
    self.isOptional = FeatureSchema.flag(isOptional)
  }

  private mutating func set(_ array: ArrayType, as type: String) {
    self.type = type
    let element = array.dataType.schemaName
    dataType = element
    var sizes = array.shape
    hasShapeFlexibility = FeatureSchema.flag(array.flexibility != .fixed)
    switch array.flexibility {
    case .fixed: break
    case .range(let ranges):
      let bounds = ranges.map { [Int64(clamping: $0.lowerBound), max($0.upperBound, -1)] }
      if sizes.isEmpty { sizes = bounds.map { $0[0] } }
      shapeRange = FeatureSchema.list(bounds)
      shapeFlexibility = bounds.map(FeatureSchema.span).joined(separator: " × ")
    case .enumerated(let shapes):
      if sizes.isEmpty { sizes = shapes.first?.sizes ?? [] }
      enumeratedShapes = FeatureSchema.list(shapes.map(\.sizes))
      shapeFlexibility = shapes.map { FeatureSchema.product($0.sizes) }.joined(separator: " | ")
    }
    shape = "\(sizes)"
    let product = sizes.isEmpty ? "" : " " + FeatureSchema.product(sizes)
    formattedType = "\(type) (\(element)\(product))"
  }

  private mutating func set(_ image: ImageType) {
    type = "Image"
    let isGray = image.colorSpace.name.hasPrefix("grayscale")
    let size = [image.width, image.height]
    (width, height) = ("\(image.width)", "\(image.height)")
    colorspace = isGray ? "Grayscale" : image.colorSpace.name.uppercased()
    isColor = FeatureSchema.flag(!isGray)
    formattedType = "Image (\(isGray ? "Grayscale" : "Color") \(FeatureSchema.product(size)))"
    hasSizeFlexibility = FeatureSchema.flag(image.flexibility != .fixed)
    switch image.flexibility {
    case .fixed: break
    case .enumerated(let sizes):
      let sizes = sizes.map { [Int64(clamping: $0.width), Int64(clamping: $0.height)] }
      enumeratedSizes = FeatureSchema.list(sizes)
      sizeFlexibility = sizes.map(FeatureSchema.product).joined(separator: " | ")
    case .range(let width, let height):
      let bounds = zip([width, height], size).map { range, fixed in
        range.map { [Int64(clamping: $0.lowerBound), max($0.upperBound, -1)] } ?? [fixed, fixed]
      }
      sizeRange = FeatureSchema.list(bounds)
      sizeFlexibility = bounds.map(FeatureSchema.span).joined(separator: " × ")
    }
  }

  private static func flag(_ value: Bool) -> String { value ? "1" : "0" }

  /// `1 × 3 × 224 × 224`.
  private static func product(_ sizes: [Int64]) -> String {
    sizes.map(String.init).joined(separator: " × ")
  }

  /// `1...4`, `4` where both bounds agree, `1...` without an upper one.
  private static func span(_ bounds: [Int64]) -> String {
    if bounds[0] == bounds[1] { return "\(bounds[0])" }
    return bounds[1] < 0 ? "\(bounds[0])..." : "\(bounds[0])...\(bounds[1])"
  }

  private static func list(_ rows: [[Int64]]) -> String {
    "[" + rows.map { "\($0)" }.joined(separator: ", ") + "]"
  }

  private static func name(of key: FeatureType.KeyType) -> String {
    switch key {
    case .int64: "Int64"
    case .string: "String"
    case .absent: ""
    }
  }
}

extension ArrayType.DataType {
  /// The name in `metadata.json`.
  fileprivate var schemaName: String {
    switch self {
    case .float32: "Float32"
    case .float64: "Double"
    case .float16: "Float16"
    case .int32: "Int32"
    case .int8: "Int8"
    default: "Unknown"
    }
  }
}
