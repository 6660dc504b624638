/// Where each operation of a function would run and what it would cost.
///
/// Everything is an estimate: no Apple hardware or runtime takes part. Times are milliseconds, sizes
/// bytes.
public struct Plan: Sendable, Equatable {
  /// One operation.
  public struct Operation: Sendable, Equatable {
    /// The name; names around it stand before, with slashes between.
    public var name: String
    /// The operation's type.
    public var type: String
    /// The unit that it would run on.
    public var preferred: ComputeUnit
    /// The units that it could run on.
    public var supported: [ComputeUnit]
    /// The share of the time of all operations.
    public var cost: Double
    /// The estimated time.
    public var milliseconds: Double
    /// Multiply-adds.
    public var multiplyAdds: Double
    /// Bytes read, weights included.
    public var bytesRead: Double
    /// The part of the bytes read that weights are.
    public var weightBytes: Double
    /// Bytes written.
    public var bytesWritten: Double
    /// `compute`, `memory` or `overhead`: what bounds it.
    public var bound: String
    /// Why it runs there.
    public var reason: String
    /// What the reason rests on.
    public var source: String
    /// How sure that is.
    public var confidence: Confidence
    /// The rule that keeps it off the Neural Engine; nil where none does.
    public var rule: String?
  }

  /// A change of unit.
  public struct Transfer: Sendable, Equatable {
    /// The unit before.
    public var from: ComputeUnit
    /// The unit behind.
    public var to: ComputeUnit
    /// Bytes that cross.
    public var bytes: Double
    /// The time, the start of the unit included.
    public var milliseconds: Double
    /// The operation after which it comes; empty at the beginning.
    public var after: String
  }

  /// What keeps work off the Neural Engine, or would help otherwise.
  public struct Advice: Sendable, Equatable {
    /// The rule's name.
    public var rule: String
    /// What it says.
    public var message: String
    /// The operations that it concerns.
    public var operations: [String]
    /// Their share of the time of all operations.
    public var cost: Double
    /// What can be done.
    public var hint: String?
    /// What the rule rests on.
    public var source: String
    /// How sure it is.
    public var confidence: Confidence
  }

  /// The rates that bound the operations of a unit in the cost model.
  public struct Roof: Sendable, Equatable {
    /// The unit.
    public var unit: ComputeUnit
    /// Operations of 16-bit floats per second, two for a multiply-add.
    public var operationsPerSecond: Double
    /// Bytes per second of what an operation waits for.
    public var bytesPerSecond: Double
    /// Bytes per second of weights that come beside other operations; nil where an operation waits
    /// for its weights too.
    public var weightBytesPerSecond: Double?
  }

  /// The function.
  public var function: String
  /// The device's name for readers.
  public var device: String
  /// The chip's name.
  public var chip: String
  /// The system that is assumed.
  public var os: String
  /// The units allowed: `all`, `cpu`, `cpu-gpu`, `cpu-ne`.
  public var units: String
  /// The estimated latency.
  public var latency: Double
  /// The range that should hold it in four of five cases.
  public var range: (low: Double, high: Double)
  /// Multiply-adds of all operations.
  public var multiplyAdds: Double
  /// Bytes of the weights in memory, decoded where their unit needs that.
  public var weightBytes: Double
  /// The most bytes of activations that live at one time.
  public var peakActivationBytes: Double
  /// Bytes of activations that live when each operation has run, in its order.
  public var liveBytes: [Double]
  /// The operations in order.
  public var operations: [Operation]
  /// Changes of unit in order.
  public var transfers: [Transfer]
  /// What keeps work off the Neural Engine, the most expensive first.
  public var advice: [Advice]
  /// Assumptions that a reader should know.
  public var notes: [String]
  /// The rates of the units allowed.
  public var roofs: [Roof] = []
  /// The plans of a pipeline's models by name, whose sum this is.
  public var children: [(name: String, plan: Plan)] = []

  /// The part of the latency in which the first unit is started, that of each model of a pipeline.
  public var startMilliseconds: Double {
    if !children.isEmpty { return children.reduce(0) { $0 + $1.plan.startMilliseconds } }
    let own = operations.reduce(0) { $0 + $1.milliseconds }
    let start = latency - own - transfers.reduce(0) { $0 + $1.milliseconds }
    // What differs by less is the rounding of the sums.
    return start > latency * 1e-9 ? start : 0
  }

  /// Compares everything.
  public static func == (left: Plan, right: Plan) -> Bool {
    left.function == right.function && left.chip == right.chip && left.units == right.units
      && left.latency == right.latency && left.operations == right.operations
      && left.transfers == right.transfers && left.advice == right.advice
      && left.weightBytes == right.weightBytes && left.notes == right.notes
      && left.roofs == right.roofs && left.peakActivationBytes == right.peakActivationBytes
      && left.children.elementsEqual(right.children) { $0.name == $1.name && $0.plan == $1.plan }
  }
}
