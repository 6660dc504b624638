import ModelGraph
import ModelOperations
import ModelTensors

/// Estimates how long operations take on the units of a chip.
///
/// An operation takes the longer of its multiply-adds and its bytes, each at the rate of the unit, and a
/// little beside. On the Neural Engine weights come while other operations run: they cost only what
/// exceeds all that runs with them (``PlanTimes``). docs/plan.md has the model with its reasons.
struct CostModel: Sendable {
  /// What bounds an operation.
  enum Bound: String, Sendable {
    case compute
    case memory
    case overhead
  }

  /// The estimate for one operation on one unit.
  struct Estimate: Sendable {
    /// The time; on the Neural Engine that of a run without waiting for weights.
    var milliseconds: Double
    /// The time in which the weights come, where that goes on beside other operations.
    var weightMilliseconds = 0.0
    var bound: Bound
    /// Bytes read, weights as the unit reads them included.
    var bytesRead: Double
    /// The part of them that weights are.
    var weightBytes: Double
    var bytesWritten: Double
  }

  let chip: Chip
  let calibration: Calibration

  /// The estimate; nil where the shapes are not known.
  func estimate(_ node: PlanGraph.Node, on unit: ComputeUnit, isFused: Bool) -> Estimate? {
    guard let work = node.work else { return nil }
    let weights = weightBytes(node, on: unit)
    let read = work.activationsRead + weights
    var estimate = Estimate(
      milliseconds: 0, bound: .memory, bytesRead: read, weightBytes: weights,
      bytesWritten: work.activationsWritten)
    let times = self.times(node, work, weights, on: unit, isFused: isFused)
    if unit == .ne {
      estimate.weightMilliseconds = weights / max(weightRate, 1) * 1000
    }
    let longest = max(times.compute, times.memory)
    estimate.milliseconds = longest + times.overhead
    estimate.bound =
      times.overhead > longest ? .overhead : times.compute > times.memory ? .compute : .memory
    return estimate
  }

  private func times(
    _ node: PlanGraph.Node, _ work: OperationWork, _ weights: Double, on unit: ComputeUnit,
    isFused: Bool
  ) -> (compute: Double, memory: Double, overhead: Double) {
    let isFree = isFused || CostModel.views.contains(node.operation.type)
    let activations = isFree ? 0 : work.activationsRead + work.activationsWritten
    switch unit {
    case .ne:
      guard let ne = chip.ne else { return (.infinity, 0, 0) }
      let busy = work.channelsPerGroup.map { min(1, Double($0) / calibration.fullChannels) } ?? 1
      let rate = productRate(ne) * max(busy, 1e-3) * integerFactor(node, ne)
      let compute = work.multiplyAdds / rate
      let memory = activations / activationRate(ne)
      return (compute * 1000, memory * 1000, isFree ? 0 : calibration.operationMs)
    case .gpu, .cpu:
      let processor = unit == .gpu ? chip.gpu : chip.cpu
      let isWide = node.elementType == .float32 || node.elementType == .float64
      let rate = operationRate(processor) * (isWide ? 0.5 : 1)
      let compute = (2 * work.multiplyAdds + work.elementOperations) / max(rate, 1)
      let memory = (activations + weights) / max(processor.bandwidth.value * 1e9, 1)
      return (compute * 1000, memory * 1000, isFree ? 0 : processor.operationMs.value)
    }
  }

  /// 8-bit products count twice where the chip is marketed with them.
  private func integerFactor(_ node: PlanGraph.Node, _ ne: Chip.NeuralEngine) -> Double {
    let isInteger = node.elementType == .int8 || node.elementType == .uint8
    guard node.isQuantized || isInteger else { return 1 }
    return max(1, (ne.marketedTops?.value ?? 0) / max(ne.fp16Tops.value, 1e-9))
  }

  /// Operations that change no element: other views of the same bytes.
  static let views: Set<String> = [
    "reshape", "reshape_like", "expand_dims", "squeeze", "flatten2d", "identity", "cast", "split",
    "concat", "shape", "classify", "read_state",
  ]

  /// Operations that run with the one that makes their input, as it writes its result.
  static let fusable: Set<String> = [
    "relu", "relu6", "clip", "sigmoid", "silu", "gelu", "sigmoid_hard", "thresholded_relu", "tanh",
    "leaky_relu", "elu", "prelu", "softplus", "clamped_relu", "batch_norm", "mul", "quantize",
    "dequantize",
  ]

  // MARK: Rates

  /// Multiply-adds of 16-bit floats per second.
  private func productRate(_ ne: Chip.NeuralEngine) -> Double {
    calibration.productsPerTops * ne.fp16Tops.value
  }

  /// Bytes of activations per second.
  private func activationRate(_ ne: Chip.NeuralEngine) -> Double {
    calibration.activationBytesPerTops * ne.fp16Tops.value
  }

  /// Bytes of weights per second to the Neural Engine.
  private var weightRate: Double {
    (chip.ne?.bandwidth?.value ?? calibration.weightShare * chip.dram.value) * 1e9
  }

  /// Operations of 16-bit floats per second, two for a multiply-add: half of the peak is what kernels
  /// reach.
  private func operationRate(_ processor: Chip.Processor) -> Double {
    processor.fp16Tflops.value * 1e12 * 0.5
  }

  /// The rates that bound the operations of a unit; nil for a unit that the chip lacks.
  func roof(_ unit: ComputeUnit) -> Plan.Roof? {
    switch unit {
    case .ne:
      return chip.ne.map {
        Plan.Roof(
          unit: .ne, operationsPerSecond: 2 * productRate($0), bytesPerSecond: activationRate($0),
          weightBytesPerSecond: weightRate)
      }
    case .gpu, .cpu:
      let processor = unit == .gpu ? chip.gpu : chip.cpu
      return Plan.Roof(
        unit: unit, operationsPerSecond: operationRate(processor),
        bytesPerSecond: processor.bandwidth.value * 1e9)
    }
  }

  // MARK: Weights

  /// Bytes of an operation's weights as a unit reads them.
  func weightBytes(_ node: PlanGraph.Node, on unit: ComputeUnit) -> Double {
    let bytes = node.weights.reduce(0) { $0 + self.bytes(of: $1, on: unit) }
    // A gather reads the rows that it takes.
    guard node.operation.type == "gather", let work = node.work else { return bytes }
    return min(bytes, work.activationsWritten)
  }

  /// Bytes of a constant: as stored where the unit decodes it while it reads, else as decoded.
  func bytes(of weight: PlanWeight, on unit: ComputeUnit) -> Double {
    guard !weight.encodings.isEmpty else { return weight.storedBytes }
    return weight.encodings.allSatisfy { streams($0, on: unit) }
      ? weight.storedBytes : max(weight.denseBytes, weight.storedBytes)
  }

  /// Whether a unit reads an encoding as it is stored.
  private func streams(_ encoding: PlanWeight.Encoding, on unit: ComputeUnit) -> Bool {
    switch (unit, encoding) {
    case (_, .dense): true
    case (.cpu, _): false
    case (.gpu, .blockwise), (.gpu, .table), (.gpu, .affine): !chip.isPhone || chip.generation >= 16
    case (.gpu, .sparse): false
    case (.ne, .table), (.ne, .sparse): chip.generation >= 14
    case (.ne, .affine): chip.ruleGeneration >= 14
    case (.ne, .blockwise): chip.ruleGeneration >= 15
    }
  }
}
