#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The free parameters of the cost model of the Neural Engine, fitted to published latencies.
///
/// `make calibrate` fits them and writes the data file; docs/plan.md has their meaning and the errors.
public struct Calibration: Sendable, Codable, Equatable {
  /// Multiply-adds of 16-bit floats per second for each TOPS of 16-bit floats.
  public var productsPerTops: Double
  /// Bytes of activations per second for each TOPS of 16-bit floats.
  public var activationBytesPerTops: Double
  /// The share of the memory's rate at which weights come.
  public var weightShare: Double
  /// Milliseconds that each operation takes beside its work.
  public var operationMs: Double
  /// Milliseconds to start a piece of work, where a chip has no figure of its own.
  public var dispatchMs: Double
  /// Input channels from which on a convolution keeps the multipliers busy.
  public var fullChannels: Double
  /// The published latency by the estimate: the range that holds four of five.
  public var low: Double
  /// The upper end of that range.
  public var high: Double

  enum CodingKeys: String, CodingKey {
    case productsPerTops = "products_per_tops"
    case activationBytesPerTops = "activation_bytes_per_tops"
    case weightShare = "weight_share_of_dram"
    case operationMs = "operation_ms"
    case dispatchMs = "dispatch_ms"
    case fullChannels = "full_channels"
    case low, high
  }

  /// Parameters of these values.
  public init(
    productsPerTops: Double, activationBytesPerTops: Double, weightShare: Double,
    operationMs: Double, dispatchMs: Double, fullChannels: Double, low: Double, high: Double
  ) {
    self.productsPerTops = productsPerTops
    self.activationBytesPerTops = activationBytesPerTops
    self.weightShare = weightShare
    self.operationMs = operationMs
    self.dispatchMs = dispatchMs
    self.fullChannels = fullChannels
    self.low = low
    self.high = high
  }

  /// The fit that comes with the library.
  public static let standard: Calibration = {
    let data = Data(PackageResources.calibration_json)
    return (try? JSONDecoder().decode(Calibration.self, from: data))
      ?? Calibration(
        productsPerTops: 2.9e11, activationBytesPerTops: 4.2e9, weightShare: 0.8,
        operationMs: 2e-4, dispatchMs: 0.018, fullChannels: 6, low: 0.7, high: 1.3)
  }()

  /// The data file of these parameters.
  public var json: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return ((try? encoder.encode(self)).map(Array.init) ?? []) + [UInt8(ascii: "\n")]
  }
}
