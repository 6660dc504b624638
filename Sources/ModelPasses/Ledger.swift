import ModelCompression
import ModelTensors

/// What a compressing pass did to every weight.
public struct Ledger: Sendable {
  /// What became of a weight.
  public enum Status: String, Sendable {
    case compressed
    case skipped
  }

  /// One weight.
  public struct Row: Sendable {
    /// The name of the weight; in pipelines behind those of the children.
    public var name: String
    /// The functions that use it.
    public var functions: [String]
    /// What became of the weight.
    public var status: Status
    /// Why it was skipped; notes on a compressed one.
    public var reason: String?
    /// The scheme of a compressed weight, `int8 symmetric per channel (axis 0)`.
    public var scheme: String?
    /// The sizes of the axes.
    public var shape: [Int]
    /// The type of the elements.
    public var elementType: ElementType
    /// The number of values.
    public var parameters: Int
    /// Stored bytes of data, tables, scales, offsets and masks.
    public var beforeBytes: Int
    /// Stored bytes after.
    public var afterBytes: Int
    /// Error of the weight as Core ML decodes it; nil for a skipped one.
    public var sums: ErrorSums?
  }

  /// The specification version before and after, and why it rose.
  public struct VersionChange: Sendable {
    /// Before the pass.
    public var before: Int
    /// After the pass.
    public var after: Int
    /// The reason.
    public var reason: String?

    /// Takes a later version with its reason; an earlier one changes nothing.
    mutating func raise(to requirement: VersionRequirement) {
      guard requirement.version > after else { return }
      after = requirement.version
      reason = requirement.reason
    }
  }

  /// Sums over weights.
  public struct Totals: Sendable {
    /// The number of weights.
    public var weights = 0
    /// How many were compressed.
    public var compressed = 0
    /// How many stayed.
    public var skipped = 0
    /// The number of values.
    public var parameters = 0
    /// Stored bytes before.
    public var beforeBytes = 0
    /// Stored bytes after.
    public var afterBytes = 0
    /// Over compressed weights.
    public var sums = ErrorSums()

    /// Bytes before by bytes after; nil when nothing is left.
    public var ratio: Double? {
      afterBytes > 0 ? Double(beforeBytes) / Double(afterBytes) : nil
    }
    /// Stored bits per parameter before; nil without parameters.
    public var bitsBefore: Double? {
      parameters > 0 ? Double(beforeBytes) * 8 / Double(parameters) : nil
    }
    /// Stored bits per parameter after; nil without parameters.
    public var bitsAfter: Double? {
      parameters > 0 ? Double(afterBytes) * 8 / Double(parameters) : nil
    }
  }

  /// The specification version before and after.
  public var version: VersionChange
  /// In the order of the model.
  public var rows: [Row]
  /// What else was changed or noticed.
  public var notes: [String]
  /// What the user should know: entries of a configuration that match nothing.
  public var warnings: [String] = []
  /// Bytes of all files of the new model, unpacked; nil when nothing was compressed.
  public var writtenBytes: Int?
  /// Seconds that the system took to make the files durable.
  public var synchronizeSeconds = 0.0

  /// Sums over all rows.
  public var totals: Totals {
    var totals = Totals()
    for row in rows {
      totals.weights += 1
      totals.parameters += row.parameters
      totals.beforeBytes += row.beforeBytes
      totals.afterBytes += row.afterBytes
      switch row.status {
      case .compressed:
        totals.compressed += 1
        if let sums = row.sums { totals.sums += sums }
      case .skipped: totals.skipped += 1
      }
    }
    return totals
  }

  /// Whether any weight was compressed.
  public var hasCompressed: Bool { rows.contains { $0.status == .compressed } }
}
