import ModelTensors

/// The output channels of a neural network's weight: where the values of each lie.
public struct ChannelLayout: Sendable, Hashable {
  /// Runs of each channel.
  public let outer: Int
  /// How many channels there are; 1 for values that share scale and bias.
  public let channels: Int
  /// Values in a run.
  public let inner: Int

  /// The channels along an axis of `shape`; nil for one channel of all values.
  ///
  /// An axis outside the rank counts as nil. The product of the sizes must not overflow.
  public init(shape: [Int], axis: Int?) {
    guard let axis, shape.indices.contains(axis) else {
      (outer, channels, inner) = (1, 1, Shape.elementCount(shape) ?? 0)
      return
    }
    outer = shape[..<axis].reduce(1, *)
    channels = shape[axis]
    inner = shape[(axis + 1)...].reduce(1, *)
  }

  /// All values.
  public var elementCount: Int { outer * channels * inner }

  /// The runs of a channel.
  func runs(_ channel: Int) -> some Sequence<Range<Int>> {
    (0..<outer).lazy.map { slab in
      let start = (slab * channels + channel) * inner
      return start..<start + inner
    }
  }
}
