/// The form in which a model is written.
public enum OutputForm: Sendable, Equatable {
  /// A package folder.
  case package
  /// A single specification file, without weight files.
  case specification
  /// A zip archive that holds a package.
  case archive

  /// The form that an output's name asks for; a package where it asks for none.
  public init(path: String) {
    let name = PathNames.trimmed(path)
    if PathNames.hasSuffix(name, ".mlmodel") {
      self = .specification
    } else if PathNames.hasSuffix(name, ".zip") || PathNames.hasSuffix(name, ".pkg") {
      self = .archive
    } else {
      self = .package
    }
  }
}

/// How long parts of a write took.
public struct WriteTimings: Sendable, Equatable {
  /// Seconds in which the system made the files durable.
  public var synchronize = 0.0
  /// Seconds in which an archive was packed.
  public var pack = 0.0
}
