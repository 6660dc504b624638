/// Why there is no plan.
public struct PlanError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of reason it is.
  public enum Kind: Sendable, Equatable {
    /// The model has no plan, or not by this library.
    case unsupported
    /// A data file is wrong.
    case malformed
    /// What is asked for does not fit the model.
    case usage
  }

  /// What kind of reason it is.
  public var kind: Kind
  /// What is wrong, in one line.
  public var message: String
  /// What the user can do about it.
  public var hint: String?

  init(_ kind: Kind, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  /// The message.
  public var description: String { message }
}
