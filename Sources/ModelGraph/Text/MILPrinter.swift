/// Writes a program as MIL text, the `model.mil` of a compiled bundle.
///
/// Equal programs give equal bytes. Arguments, attributes, functions, their inputs and the entries of
/// `buildInfo` are sorted by the bytes of their names.
public struct MILPrinter: Sendable {
  /// What a text rests on and what it leaves out; each list without repetitions.
  public struct Report: Sendable, Equatable {
    /// Forms in the text that rest on reports or inference, not on a text that Apple's compiler
    /// has written.
    public internal(set) var unproved: [String] = []
    /// What the program holds and text cannot.
    public internal(set) var dropped: [String] = []

    /// An empty report.
    public init() {}
  }

  /// The version in the first line.
  public var version: MILVersion
  /// The model's specification version, where it is known.
  public var specificationVersion: Int?
  /// The interface that function attributes for flexible shapes are made from; without it
  /// functions keep those that they have.
  public var description: ModelDescription?
  /// Entries that are put into the program's `buildInfo`, in the place of entries of equal keys.
  public var buildInfo: [String: String]
  /// Whether the inputs of functions are sorted by name, as Apple's compiler does; else they stay in
  /// the order of the program.
  public var sortsInputs = true
  /// Whether a line feed follows the last brace.
  public var endsWithNewline = false

  /// A printer for a model of this specification version.
  public init(
    specificationVersion: Int, description: ModelDescription? = nil,
    buildInfo: [String: String] = [:]
  ) {
    version = MILVersion(specificationVersion: specificationVersion)
    self.specificationVersion = specificationVersion
    self.description = description
    self.buildInfo = buildInfo
  }

  /// A printer that writes a parsed document as it was.
  public init(document: MILDocument) {
    version = document.version
    specificationVersion = nil
    description = nil
    buildInfo = [:]
    sortsInputs = false
    endsWithNewline = document.endsWithNewline
  }

  /// Writes the text of `program` into `sink`, piece by piece.
  ///
  /// - Throws: ``MILTextError`` when the program cannot be a text, and what `sink` throws.
  @discardableResult
  public func print(
    _ program: Program, to sink: @escaping (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Report {
    let writer = MILWriter(version: version, sink: sink)
    try writer.write(program, by: self)
    try writer.flush()
    return writer.notes.report
  }

  /// The text of `program` as UTF-8, with its report.
  public func bytes(of program: Program) throws(MILTextError) -> (text: [UInt8], report: Report) {
    let writer = MILWriter(version: version, sink: nil)
    try writer.write(program, by: self)
    return (writer.buffer, writer.notes.report)
  }

  /// The text of `program`.
  public func text(of program: Program) throws(MILTextError) -> String {
    String(decoding: try bytes(of: program).text, as: UTF8.self)
  }
}
