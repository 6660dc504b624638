import ModelSpec

/// What the `analytics/coremldata.bin` of a bundle holds: named lists of texts.
///
/// The layout was read from Apple's files (docs/compiled-bundles.md).
public struct AnalyticsData: Sendable, Equatable {
  /// One list.
  public struct Section: Sendable, Equatable {
    /// The name, such as `SpecificationDetails`.
    public var name: String
    /// Keys with their values, in the order of the file.
    public var entries: [Entry]

    /// A list of entries.
    public init(_ name: String, _ entries: [Entry]) {
      self.name = name
      self.entries = entries
    }
  }

  /// One entry of a list.
  public struct Entry: Sendable, Equatable {
    /// What the value is.
    public var key: String
    /// The value as a text.
    public var value: String

    /// An entry.
    public init(_ key: String, _ value: String) {
      self.key = key
      self.value = value
    }
  }

  /// The lists.
  public var sections: [Section]

  /// The content of a new file.
  public init(sections: [Section]) { self.sections = sections }

  /// Reads a file.
  ///
  /// - Throws: ``SpecError`` with the byte offset when the file is malformed.
  public init(_ bytes: UnsafeRawBufferPointer, path: String) throws(SpecError) {
    var reader = LittleEndianReader(bytes, path: path)
    sections = []
    while !reader.isAtEnd {
      var section = Section(try reader.text(), [])
      for _ in 0..<(try reader.count(of: 16)) {
        section.entries.append(Entry(try reader.text(), try reader.text()))
      }
      sections.append(section)
    }
  }

  /// The bytes of the file.
  public var bytes: [UInt8] {
    var writer = LittleEndianWriter()
    for section in sections {
      writer.add(section.name)
      writer.add(UInt64(section.entries.count))
      for entry in section.entries {
        writer.add(entry.key)
        writer.add(entry.value)
      }
    }
    return writer.bytes
  }
}
