import ModelGraph

/// A feature as the interface names and types it.
struct InterfaceFeature {
  /// The name in the model.
  let name: String
  /// The name in Swift, without backticks.
  let identifier: String
  let isOptional: Bool
  let kind: FeatureType.Kind
  /// What the author says.
  let summary: String

  /// The features of a class, named in its scope; one that repeats a name is left out.
  static func named(
    _ features: [FeatureDescription], in scope: inout SwiftScope
  ) -> [InterfaceFeature] {
    var seen = Set<[UInt8]>()
    return features.filter { seen.insert(Array($0.name.utf8)).inserted }.map {
      InterfaceFeature(
        name: $0.name, identifier: scope.take(SwiftIdentifier.memberName($0.name)),
        isOptional: $0.type?.isOptional ?? false, kind: $0.type?.kind ?? .absent,
        summary: $0.shortDescription)
    }
  }

  /// The name as it stands in source.
  var spelled: String { SwiftIdentifier.spelled(identifier) }
  /// The name in the model as a literal.
  var literal: String { SwiftSource.literal(name) }
  /// The type, with a question mark where the feature may be left out.
  var type: String { plainType + (isOptional ? "?" : "") }
  /// The parameter of an initializer.
  var parameter: String { "\(spelled): \(type)" + (isOptional ? " = nil" : "") }
  /// The argument that hands the parameter on; a label needs no backticks.
  var argument: String { "\(identifier): \(spelled)" }

  private var plainType: String {
    switch kind {
    case .int64: "Int64"
    case .double: "Double"
    case .string: "String"
    case .image: "CVPixelBuffer"
    case .multiArray: "MLMultiArray"
    case .dictionary(.string): "[String: Double]"
    case .dictionary(.int64): "[Int64: Double]"
    case .dictionary(.absent): "[AnyHashable: NSNumber]"
    case .sequence: "MLSequence"
    case .state, .absent: "MLFeatureValue"
    }
  }

  /// An `MLFeatureValue` of the expression `content`, which is no optional.
  private func plainValue(_ content: String) -> String {
    switch kind {
    case .int64: "MLFeatureValue(int64: \(content))"
    case .double: "MLFeatureValue(double: \(content))"
    case .string: "MLFeatureValue(string: \(content))"
    case .image: "MLFeatureValue(pixelBuffer: \(content))"
    case .multiArray: "MLFeatureValue(multiArray: \(content))"
    case .dictionary(.absent): "try! MLFeatureValue(dictionary: \(content))"
    case .dictionary:
      "try! MLFeatureValue(dictionary: Dictionary(uniqueKeysWithValues: \(content).map { "
        + "(AnyHashable($0.key), NSNumber(value: $0.value)) }))"
    case .sequence: "MLFeatureValue(sequence: \(content))"
    case .state, .absent: content
    }
  }

  /// An `MLFeatureValue`, or an optional one, of the expression `content`.
  func value(_ content: String) -> String {
    isOptional ? "\(content).map { content in \(plainValue("content")) }" : plainValue(content)
  }

  /// The content of the feature in an `MLFeatureProvider`.
  func content(in provider: String) -> String {
    let access =
      switch kind {
      case .int64: ".int64Value"
      case .double: ".doubleValue"
      case .string: ".stringValue"
      case .image: ".imageBufferValue!"
      case .multiArray: ".multiArrayValue!"
      case .dictionary(.string): ".dictionaryValue as! [String: Double]"
      case .dictionary(.int64): ".dictionaryValue as! [Int64: Double]"
      case .dictionary(.absent): ".dictionaryValue"
      case .sequence: ".sequenceValue!"
      case .state, .absent: ""
      }
    let value = "\(provider).featureValue(for: \(literal))"
    return isOptional ? "\(value).map { value in value\(access) }" : "\(value)!\(access)"
  }

  /// What the author says, and what the type does not tell.
  var documentation: [String] {
    [summary, isOptional ? sentence + " May be left out." : sentence]
  }

  private var sentence: String {
    let title = identifier == name ? "" : ", the feature \(literal)"
    switch kind {
    case .int64: return "A whole number\(title)."
    case .double: return "A number\(title)."
    case .string: return "A text\(title)."
    case .image(let image):
      return "\(image.title), \(image.width) by \(image.height) pixels"
        + "\(image.flexibility == .fixed ? "" : " or another size that the model takes")\(title)."
    case .multiArray(let array):
      let shape = array.shape.map { "\($0)" }.joined(separator: " × ")
      let others = array.flexibility == .fixed ? "" : " or another shape that the model takes"
      let type = array.scalar?.name ?? "elements of type \(array.dataType.name)"
      return "An array of \(type)" + (shape.isEmpty ? "" : ", \(shape)") + "\(others)\(title)."
    case .dictionary: return "Numbers by key\(title)."
    case .sequence(let element, _):
      let elements =
        switch element {
        case .int64: "whole numbers"
        case .string: "texts"
        case .absent: "values"
        }
      return "A sequence of \(elements)\(title)."
    case .state, .absent: return "A value of a type that the model does not tell\(title)."
    }
  }
}

extension ImageType {
  static let bgra = "kCVPixelFormatType_32BGRA"
  static let gray = "kCVPixelFormatType_OneComponent8"
  static let gray16Half = "kCVPixelFormatType_OneComponent16Half"

  /// The constant of the pixel format; nil for an unknown colour space.
  var pixelFormat: String? {
    switch colorSpace.rawValue {
    case 10: ImageType.gray
    case 20, 30: ImageType.bgra
    case 40: ImageType.gray16Half
    default: nil
    }
  }

  fileprivate var title: String {
    let title =
      switch pixelFormat {
      case ImageType.bgra: "A colour image"
      case nil: "An image"
      default: "A grayscale image"
      }
    return title + (pixelFormat.map { " (\($0))" } ?? "")
  }
}

extension ArrayType {
  /// The element of an `MLShapedArray`.
  struct Scalar {
    var name: String
    var availability = InterfaceAvailability.concurrency
    /// The condition of compilation under which the type exists.
    var condition: String?
  }

  /// The Swift type of the elements; nil where Core ML has none.
  var scalar: Scalar? {
    switch dataType {
    case .float32: Scalar(name: "Float")
    case .float64: Scalar(name: "Double")
    case .int32: Scalar(name: "Int32")
    case .int8: Scalar(name: "Int8", availability: .shapedByte)
    case .float16:
      Scalar(
        name: "Float16", availability: .shapedHalf,
        condition: "!((os(macOS) || targetEnvironment(macCatalyst)) && arch(x86_64))")
    default: nil
    }
  }
}
