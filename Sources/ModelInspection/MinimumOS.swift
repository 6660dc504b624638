/// The first release of each system that loads a specification version; nil where none does.
public struct MinimumOS: Sendable, Equatable {
  /// The release of iOS.
  public var ios: String?
  /// The release of macOS.
  public var macos: String?
  /// The release of watchOS.
  public var watchos: String?
  /// The release of tvOS.
  public var tvos: String?
  /// The release of visionOS.
  public var visionos: String?

  /// The releases of a specification version, nil for a version that is not known.
  public init?(specificationVersion version: Int) {
    guard let row = MinimumOS.table.first(where: { $0.version == version }) else { return nil }
    (ios, macos, watchos, tvos, visionos) = (row.ios, row.macos, row.watchos, row.ios, row.vision)
  }

  /// All releases unknown.
  init() {}

  /// The releases by the name of the system, in the order of the report.
  public var systems: [(name: String, version: String?)] {
    [
      ("ios", ios), ("macos", macos), ("watchos", watchos), ("tvos", tvos), ("visionos", visionos),
    ]
  }

  /// The release of iOS, `iOS 16`, for a text; the version's number where it is not known.
  public static func label(specificationVersion version: Int) -> String {
    guard let os = MinimumOS(specificationVersion: version), let ios = os.ios else {
      return "specification version \(version)"
    }
    return "iOS " + (ios.hasSuffix(".0") ? String(ios.dropLast(2)) : ios)
  }

  /// The newest specification version that is known.
  public static let newestVersion = 10

  // tvOS counts like iOS; visionOS began with specification version 8.
  private static let table:
    [(version: Int, ios: String, macos: String, watchos: String, vision: String)] = [
      (1, "11.0", "10.13", "4.0", "1.0"),
      (2, "11.2", "10.13.2", "4.2", "1.0"),
      (3, "12.0", "10.14", "5.0", "1.0"),
      (4, "13.0", "10.15", "6.0", "1.0"),
      (5, "14.0", "11.0", "7.0", "1.0"),
      (6, "15.0", "12.0", "8.0", "1.0"),
      (7, "16.0", "13.0", "9.0", "1.0"),
      (8, "17.0", "14.0", "10.0", "1.0"),
      (9, "18.0", "15.0", "11.0", "2.0"),
      (10, "26.0", "26.0", "26.0", "26.0"),
    ]
}
