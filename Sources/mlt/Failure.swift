import ModelBundle
import ModelCache
import ModelFiles
import ModelGraph
import ModelOperations
import ModelPasses
import ModelPlan
import ModelSpec
import ModelTensors

/// An error as the command line reports it.
struct Failure: Error {
  /// The exit code.
  var code: Int32
  /// One word for scripts: `missing`, `malformed`, `unsupported`, `exists`, `system`, `usage` and so on.
  var kind: String
  var message: String
  var path: String
  var hint: String?

  init(code: Int32, kind: String, message: String, path: String, hint: String? = nil) {
    self.code = code
    self.kind = kind
    self.message = message
    self.path = path
    self.hint = hint
  }

  /// What `error`, met while `model` was worked on, means for the user.
  init(_ error: any Error, model: String) {
    switch error {
    case let failure as Failure: self = failure
    case let error as UsageError:
      self.init(code: 64, kind: "usage", message: error.message, path: "", hint: error.hint)
    case let error as FileError:
      let (code, kind): (Int32, String) =
        switch error {
        case .missing: (2, "missing")
        case .malformed: (2, "malformed")
        case .unsupported: (2, "unsupported")
        case .exists: (64, "exists")
        case .place: (64, "output")
        case .system: (74, "system")
        }
      let hint = kind == "exists" ? "--force replaces it" : error.hint
      self.init(code: code, kind: kind, message: error.message, path: error.path, hint: hint)
    case let error as SpecError:
      self.init(
        code: 2, kind: error.kind.rawValue, message: error.description,
        path: error.path.isEmpty ? model : error.path)
    case let error as BundleError:
      self.init(
        code: error.kind == .target ? 64 : 2, kind: error.kind == .target ? "usage" : "unsupported",
        message: error.message, path: model, hint: error.hint)
    case CacheError.unusable(let error):
      self.init(code: 74, kind: "system", message: error.message, path: error.path)
      hint = "name another folder with --cache-dir, or use --no-cache"
    case let error as CacheError:
      let isAbsent = if case .absent = error { true } else { false }
      self.init(
        code: isAbsent ? 1 : 2, kind: isAbsent ? "missing" : "changed", message: error.description,
        path: isAbsent ? "" : model)
    case let error as PlanError:
      self.init(
        code: error.kind == .usage ? 64 : 2,
        kind: error.kind == .usage
          ? "usage" : error.kind == .malformed ? "malformed" : "unsupported",
        message: error.message, path: model, hint: error.hint)
    case let error as MILTextError:
      self.init(code: 2, kind: "unsupported", message: error.description, path: model)
    case let error as UpgradeRefusal:
      self.init(code: 2, kind: "unsupported", message: error.description, path: model)
    case let error as PassError:
      self.init(
        code: error.isUsage ? 64 : 2, kind: error.isUsage ? "usage" : "unsupported",
        message: error.description, path: model, hint: error.hint)
    case let error as TensorError:
      self.init(code: 2, kind: "malformed", message: error.description, path: model)
    default:
      self.init(code: 2, kind: "unsupported", message: "\(error)", path: model)
    }
  }
}
