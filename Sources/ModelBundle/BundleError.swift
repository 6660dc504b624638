/// Why a model cannot be compiled.
public struct BundleError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of reason it is.
  public enum Kind: Sendable, Equatable {
    /// The model cannot become a bundle, or not by this library.
    case unsupported
    /// The target does not load a bundle of the model's specification version.
    case target
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
