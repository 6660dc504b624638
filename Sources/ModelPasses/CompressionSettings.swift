/// Settings that all compressing passes share.
public struct CompressionSettings: Sendable {
  /// Weights of at most this many elements stay; nil for the default, which also leaves weights of
  /// rank 0 and 1.
  public var minimumElements: Int?
  /// Only weights that one of these picks; empty for all.
  public var only: [WeightPattern] = []
  /// Not weights that one of these picks; wins over ``only``.
  public var skip: [WeightPattern] = []
  /// Only constants that this function of a program uses.
  public var function: String?
  /// The specification version to write; nil for the lowest that can hold the scheme.
  public var targetVersion: Int?
  /// Whether a weight that must be skipped for its values is an error.
  public var isStrict = false

  /// The limit when ``minimumElements`` is nil.
  public static let defaultMinimumElements = 2048

  /// The defaults.
  public init() {}
}
