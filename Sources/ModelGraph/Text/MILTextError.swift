/// Why a program cannot be written as MIL text, or why a text is not a program.
public struct MILTextError: Error, Sendable, CustomStringConvertible {
  /// A place in a text; both numbers count from 1, columns in bytes.
  public struct Position: Sendable, Hashable {
    /// The line.
    public var line: Int
    /// The byte in the line.
    public var column: Int

    /// A place of these numbers.
    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }
  }

  /// What is wrong, in one line.
  public var message: String
  /// Where in the text it was seen; nil for errors of writing.
  public var position: Position?
  /// The operation or value that it concerns, `main/conv_1`; nil for errors of reading.
  public var place: String?
  /// What the resolver of weights has thrown.
  public var underlying: (any Error)?

  /// An error of this message.
  public init(
    _ message: String, position: Position? = nil, place: String? = nil,
    underlying: (any Error)? = nil
  ) {
    self.message = message
    self.position = position
    self.place = place
    self.underlying = underlying
  }

  /// The message with its place.
  public var description: String {
    if let position { return "line \(position.line), column \(position.column): \(message)" }
    return place.map { "\(message) (operation \($0))" } ?? message
  }
}
