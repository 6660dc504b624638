/// Why a specification cannot be read or written.
public struct SpecError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Whether the file is broken or asks for something that we do not do.
  public enum Kind: String, Sendable {
    case malformed
    case unsupported
  }

  /// Which alternative it is.
  public var kind: Kind
  /// The specification or weight file, where known.
  public var path: String
  /// What is wrong, in one line.
  public var message: String
  /// The byte in the file where it was seen.
  public var offset: Int?
  /// The operation or value that it concerns, `main/conv_1`.
  public var place: String?

  /// An error with these parts.
  public init(
    _ message: String, kind: Kind = .malformed, path: String = "", offset: Int? = nil,
    place: String? = nil
  ) {
    self.kind = kind
    self.message = message
    self.path = path
    self.offset = offset
    self.place = place
  }

  /// The message with its place and byte offset, without the path.
  public var description: String {
    var parts: [String] = []
    if let place { parts.append("operation \(place)") }
    if let offset { parts.append("byte offset \(offset)") }
    return parts.isEmpty ? message : "\(message) (\(parts.joined(separator: ", ")))"
  }

  func at(place outer: String) -> SpecError {
    var copy = self
    if copy.place == nil { copy.place = outer }
    return copy
  }

  func at(path file: String) -> SpecError {
    var copy = self
    if copy.path.isEmpty { copy.path = file }
    return copy
  }
}
