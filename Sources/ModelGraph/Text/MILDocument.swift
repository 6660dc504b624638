/// A MIL text read: the program, and what its text says beside it.
public struct MILDocument: Sendable {
  /// The program.
  public var program: Program
  /// The version in the first line.
  public var version: MILVersion
  /// Whether a line feed follows the last brace.
  public var endsWithNewline: Bool
}
