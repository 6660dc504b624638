import ModelInspection

/// The first releases of the systems that have what an interface uses.
struct InterfaceAvailability: Equatable {
  /// The releases in the order of ``names``.
  private var releases: [String]

  private static let names = ["macOS", "iOS", "tvOS", "watchOS", "visionOS"]

  /// The releases that load a specification version; of an unknown one those of the nearest.
  init(specificationVersion version: Int) {
    let known = min(max(version, 1), MinimumOS.newestVersion)
    let systems = MinimumOS(specificationVersion: known)
    releases = [
      systems?.macos, systems?.ios, systems?.tvos, systems?.watchos, systems?.visionos,
    ].map { $0 ?? "1.0" }
  }

  private init(_ releases: [String]) { self.releases = releases }

  /// `MLModelConfiguration` and predictions of batches.
  static let configuration = InterfaceAvailability(["10.14", "12.0", "12.0", "5.0", "1.0"])
  /// Images from files and other images.
  static let imageConversion = InterfaceAvailability(["10.15", "13.0", "13.0", "6.0", "1.0"])
  /// Loading with a completion handler.
  static let loading = InterfaceAvailability(["11.0", "14.0", "14.0", "7.0", "1.0"])
  /// `MLShapedArray`, and functions that suspend.
  static let concurrency = InterfaceAvailability(["12.0", "15.0", "15.0", "8.0", "1.0"])
  /// `MLShapedArray<Float16>`.
  static let shapedHalf = InterfaceAvailability(["15.0", "16.0", "16.0", "9.0", "1.0"])
  /// Predictions that suspend.
  static let suspendingPrediction = InterfaceAvailability(["14.0", "17.0", "17.0", "10.0", "1.0"])
  /// `MLState`, and functions by name.
  static let state = InterfaceAvailability(["15.0", "18.0", "18.0", "11.0", "2.0"])
  /// `MLShapedArray<Int8>`.
  static let shapedByte = InterfaceAvailability(["26.0", "26.0", "26.0", "26.0", "26.0"])

  /// The later release of each system.
  func joined(_ other: InterfaceAvailability) -> InterfaceAvailability {
    InterfaceAvailability(
      zip(releases, other.releases).map {
        InterfaceAvailability.number($0).lexicographicallyPrecedes(InterfaceAvailability.number($1))
          ? $1 : $0
      })
  }

  private static func number(_ release: String) -> [Int] {
    release.split(separator: ".").map { Int($0) ?? 0 }
  }

  /// The attribute of a type.
  var attribute: String {
    let list = zip(InterfaceAvailability.names, releases).map { "\($0) \($1)" }
    return "@available(\(list.joined(separator: ", ")), *)"
  }

  /// The attribute of a member that needs `other` in a type of this availability, if it needs one.
  func attribute(ofMember other: InterfaceAvailability) -> String? {
    let both = joined(other)
    return both == self ? nil : both.attribute
  }
}
