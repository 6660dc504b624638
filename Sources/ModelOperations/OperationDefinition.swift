import ModelTensors

/// What one version of an operation takes.
public struct OperationDefinition: Sendable, Equatable {
  /// What an input is bound to.
  public enum Kind: String, Sendable, Hashable {
    case tensor
    case tuple
    case list
    case state
    /// A value of any type.
    case any
    /// Not an input but an attribute, of any type.
    case attribute
    /// Not an input but a nested block.
    case block
  }

  /// One input.
  public struct Input: Sendable, Equatable {
    /// The input's name.
    public var name: String
    /// What it is bound to.
    public var kind: Kind
    /// Whether an operation without it is invalid.
    public var isRequired: Bool
    /// Whether only a constant may be bound.
    public var isConst: Bool
    /// The type variable, `T`, `U` …; inputs of one variable have equal element types.
    public var typeVariable: String?
    /// The element types accepted of a tensor; empty when any is.
    public var elementTypes: [ElementType]

    /// Whether a tensor of `type` may be bound.
    public func accepts(_ type: ElementType) -> Bool {
      elementTypes.isEmpty || elementTypes.contains(type)
    }
  }

  /// The operation's type, `conv`.
  public var type: String
  /// The specification version that brought this form of the operation.
  public var version: Int
  /// The inputs in the order of the operation's documentation.
  public var inputs: [Input]

  /// The input of this name, or nil.
  public func input(_ name: String) -> Input? { inputs.first { $0.name == name } }

  /// The number of nested blocks.
  public var blockCount: Int { inputs.count { $0.kind == .block } }

  /// Whether the parameters are attributes of the operation, as those of `constexpr` operations
  /// were before specification version 9.
  public var hasAttributeParameters: Bool { type.hasPrefix("constexpr_") && version < 9 }
}
