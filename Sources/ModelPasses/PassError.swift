/// Why a pass cannot be run on a model.
public enum PassError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The model's kind or content is not handled by the pass.
  case unsupported(String, hint: String? = nil)
  /// The settings contradict each other or the model.
  case usage(String, hint: String? = nil)
  /// Under `strict`, a weight that would have been skipped for its values.
  case refusedWeight(name: String, reason: String, hint: String? = nil)
  /// The changed program breaks a rule that it kept before.
  case invalidResult(String)

  /// Whether the fault lies in the settings.
  public var isUsage: Bool {
    if case .usage = self { return true }
    return false
  }

  /// What the user can do, where that is known.
  public var hint: String? {
    switch self {
    case .unsupported(_, let hint), .usage(_, let hint), .refusedWeight(_, _, let hint): hint
    case .invalidResult: nil
    }
  }

  /// The message in one line.
  public var description: String {
    switch self {
    case .unsupported(let text, _), .usage(let text, _): text
    case .refusedWeight(let name, let reason, _): "weight \"\(name)\": \(reason)"
    case .invalidResult(let text): "the changed program would be invalid: \(text)"
    }
  }
}
