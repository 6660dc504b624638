/// Something that is wrong, doubtful or worth knowing in a model.
public struct Finding: Sendable, Hashable {
  /// How much it matters.
  public enum Severity: String, Sendable, Hashable, Comparable {
    /// Core ML does not load the model, or computes something else.
    case error
    /// The model may work; it breaks a convention or a rule that not all versions enforce.
    case warning
    /// Nothing is wrong.
    case note

    private var order: Int {
      switch self {
      case .error: 0
      case .warning: 1
      case .note: 2
      }
    }

    /// Whether `left` matters more.
    public static func < (left: Severity, right: Severity) -> Bool { left.order < right.order }
  }

  /// What kind of thing it is; the raw value is the name in output.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    case binding
    case blob
    case blobType = "blob-type"
    case blockCount = "block-count"
    case blockOutput = "block-output"
    case bundle
    case constexprShape = "constexpr-shape"
    case duplicateName = "duplicate-name"
    case elementType = "element-type"
    case emptyName = "empty-name"
    case interface
    case literalCount = "literal-count"
    case minimumOS = "minimum-os"
    case missingBlock = "missing-block"
    case missingFile = "missing-file"
    case missingFunction = "missing-function"
    case missingInput = "missing-input"
    case missingType = "missing-type"
    case notConstant = "not-constant"
    case operationVersion = "operation-version"
    case opset
    case outputType = "output-type"
    case rank
    case redefinition
    case reservedName = "reserved-name"
    case shape
    case specificationVersion = "specification-version"
    case state
    case typeVariable = "type-variable"
    case undefinedName = "undefined-name"
    case unknownInput = "unknown-input"
    case unknownOperation = "unknown-operation"
  }

  /// The kind of finding.
  public var code: Code
  /// How much it matters.
  public var severity: Severity
  /// Where: `main`, `main/conv_1`, `main/conv_1.weight`.
  public var place: String
  /// What is the matter, in one sentence.
  public var message: String
  /// What to do about it.
  public var hint: String?

  /// A finding.
  public init(
    _ code: Code, _ severity: Severity, at place: String, _ message: String, hint: String? = nil
  ) {
    self.code = code
    self.severity = severity
    self.place = place
    self.message = message
    self.hint = hint
  }
}
