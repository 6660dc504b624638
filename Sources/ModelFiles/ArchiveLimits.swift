/// What an archive may unpack to before it is refused.
public struct ArchiveLimits: Sendable {
  /// The most bytes that all entries together may inflate to.
  public var maximumBytes = 64 << 30
  /// The most bytes per byte of the archive, once ``ratioFloor`` is passed.
  public var maximumRatio = 200
  /// Archives that inflate to less than this are never refused for their ratio.
  public var ratioFloor = 256 << 20
  /// The most bytes of a file that is unpacked into memory (a protobuf message has at most 2 GiB).
  public var maximumMemory = 2 << 30

  /// The limits named above.
  public init() {}
}

/// The bytes that an archive has inflated to, against its limits.
struct InflationBudget {
  private var spent = 0
  private let maximum: Int
  private let path: String

  init(limits: ArchiveLimits, archiveBytes: Int, path: String) {
    let (scaled, overflow) = archiveBytes.multipliedReportingOverflow(by: limits.maximumRatio)
    let byRatio = max(limits.ratioFloor, overflow ? .max : scaled)
    maximum = min(limits.maximumBytes, byRatio)
    self.path = path
  }

  /// Accounts for bytes that were inflated or are declared.
  mutating func spend(_ count: Int) throws(FileError) {
    let (sum, overflow) = spent.addingReportingOverflow(count)
    if overflow || sum > maximum {
      throw .unsupported(path, "the archive inflates to more than the \(maximum) bytes allowed")
    }
    spent = sum
  }
}
