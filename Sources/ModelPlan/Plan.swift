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
  /// The plans of a pipeline's models by name, whose sum this is.
  public var children: [(name: String, plan: Plan)] = []

  /// Compares everything.
  public static func == (left: Plan, right: Plan) -> Bool {
    left.function == right.function && left.chip == right.chip && left.units == right.units
      && left.latency == right.latency && left.operations == right.operations
      && left.transfers == right.transfers && left.advice == right.advice
      && left.weightBytes == right.weightBytes && left.notes == right.notes
      && left.peakActivationBytes == right.peakActivationBytes
      && left.children.elementsEqual(right.children) { $0.name == $1.name && $0.plan == $1.plan }
  }
}
