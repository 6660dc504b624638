import ModelGraph

/// Makes legal Swift identifiers of any names.
enum SwiftIdentifier {
  /// The name of a type: what is no ASCII letter, digit or underscore becomes an underscore.
  static func typeName(_ name: String) -> String {
    legal(name) { $0.isASCII && isContinuing($0) }
  }

  /// The name of a member: letters and digits of all scripts stay.
  static func memberName(_ name: String) -> String { legal(name, isContinuing) }

  private static func legal(_ name: String, _ isKept: (Unicode.Scalar) -> Bool) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in name.unicodeScalars { scalars.append(isKept(scalar) ? scalar : "_") }
    guard let first = scalars.first else { return "__" }
    if first != "_" && !first.properties.isXIDStart { scalars.insert("_", at: scalars.startIndex) }
    return scalars.count == 1 && scalars.first == "_" ? "__" : String(scalars)
  }

  private static func isContinuing(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar.properties.isXIDContinue && scalar.value != 0xB7
  }

  /// The name as it stands in source: in backticks where it is a word of the language.
  static func spelled(_ identifier: String) -> String {
    keywords.contains(identifier) ? "`\(identifier)`" : identifier
  }

  /// The name with its first letter in upper case, for what follows a verb.
  static func capitalized(_ identifier: String) -> String {
    identifier.prefix(1).uppercased() + identifier.dropFirst()
  }

  /// Words of the language; members take them in backticks, types with an underscore behind.
  static let keywords: Set<String> = [
    "any", "as", "associatedtype", "async", "await", "borrowing", "break", "case", "catch", "class",
    "consume", "consuming", "continue", "copy", "default", "defer", "deinit", "didSet", "discard",
    "do", "each", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "final",
    "for", "func", "get", "guard", "if", "import", "in", "internal", "is", "isolated",
    "lazy", "macro", "mutating", "nil", "nonisolated", "open", "operator", "package",
    "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "sending",
    "set", "some", "static", "struct", "subscript", "super", "switch", "then", "throw", "throws",
    "true", "try", "typealias", "unowned", "unsafe", "weak", "where", "while", "willSet",
    "yield",
  ]

  /// Names that mean something else in an interface: types, modules, constants, and words that
  /// backticks do not make a name or a label.
  static let reserved: Set<String> = [
    "Any", "AnyHashable", "AnyObject", "Array", "Bool", "Bundle", "CGImage", "CVPixelBuffer",
    "CoreGraphics", "CoreML", "CoreVideo", "Data", "Dictionary", "Double", "Error", "Float",
    "Float16", "Foundation", "Int", "Int32", "Int64", "Int8", "MLArrayBatchProvider",
    "MLBatchProvider", "MLDictionaryFeatureProvider", "MLFeatureProvider", "MLFeatureValue",
    "MLModel", "MLModelConfiguration", "MLMultiArray", "MLPredictionOptions", "MLSequence",
    "MLShapedArray", "MLState", "NSNumber", "NSObject", "Never", "Optional", "Protocol", "Result",
    "Self", "Set", "String", "Swift", "Type", "URL", "Void", "dynamicType", "init", "inout", "let",
    "self", "type", "var",
    ImageType.bgra, ImageType.gray, ImageType.gray16Half,
  ]

  /// Members that every class of the interface has.
  static let members: Set<String> = ["featureNames", "featureValue", "provider"]
}

/// The names of one scope, each given out once.
struct SwiftScope {
  private var taken: Set<String>

  init(reserved: Set<String>) { taken = reserved }

  /// The name, with underscores behind it until it is free; it is taken then.
  mutating func take(_ name: String) -> String {
    let name = free(name)
    taken.insert(name)
    return name
  }

  /// The first free name of a class for which the names with these endings are free too.
  mutating func take(_ name: String, endings: [String]) -> String {
    var name = name
    while taken.contains(name) || endings.contains(where: { taken.contains(name + $0) }) {
      name += "_"
    }
    taken.insert(name)
    for ending in endings { taken.insert(name + ending) }
    return name
  }

  /// The name, with underscores behind it until it is free.
  func free(_ name: String) -> String {
    var name = name
    while taken.contains(name) { name += "_" }
    return name
  }
}
