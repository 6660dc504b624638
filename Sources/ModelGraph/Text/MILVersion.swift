/// The version in the first line of a MIL text, `program(1.3)`.
public struct MILVersion: Sendable, Hashable {
  /// The number before the point.
  public var major: Int
  /// The number behind the point.
  public var minor: Int

  /// A version of these numbers.
  public init(major: Int, minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// The version that a model of this specification version is written in: 1.3 from 9 on.
  public init(specificationVersion: Int) {
    self.init(major: 1, minor: specificationVersion >= 9 ? 3 : 0)
  }

  /// Whether a scalar's type is spelled `int32`, else `tensor<int32, []>`.
  var hasBareScalars: Bool { major > 1 || minor >= 3 }
}

/// The spelling of opsets between `<` and `>` of a function.
enum MILOpset {
  /// The text of an opset of a program: `CoreML7` is `ios17`.
  static func text(_ opset: String) -> String {
    guard let version = Opset.specificationVersion(opset), version <= 10 else { return opset }
    return "ios\(version + 9)"
  }

  /// The opset of a text; one that is not known is kept as it is.
  static func opset(_ text: String) -> String {
    if text == "ios26" { return "CoreML9" }
    guard text.hasPrefix("ios"), let number = Int(text.dropFirst(3)), (15...19).contains(number),
      text.utf8.count == 5
    else { return text }
    return "CoreML\(number - 10)"
  }
}
