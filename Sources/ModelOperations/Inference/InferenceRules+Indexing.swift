import ModelGraph
import ModelTensors

extension InferenceRules {
  /// Operations that take and put elements by their place.
  static let indexing = table(
    ("gather", gather),
    (
      "gather_along_axis",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        var shape = try call.shape("x")
        let indices = try call.shape("indices")
        let axis = try call.axis(try call.number("axis", default: 0), rank: shape.count)
        guard indices.count == shape.count else { throw call.fault("The ranks differ.") }
        shape[axis] = indices[axis]
        return tensor(x.elementType, indices)
      }
    ),
    (
      "gather_nd",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        let indices = try call.shape("indices")
        let batch = try call.number("batch_dims", default: 0)
        guard let depth = indices.last?.value, batch >= 0, depth >= 0,
          batch + depth <= shape.count
        else { throw call.fault("The last axis of indices does not fit the rank of x.") }
        return tensor(x.elementType, indices.dropLast() + shape.dropFirst(batch + depth))
      }
    ),
    (
      "scatter scatter_along_axis scatter_nd",
      { call throws(InferenceFault) in
        let data = try call.tensor("data")
        return tensor(data.elementType, data.shape)
      }
    ), ("slice_update", same), ("slice_by_index", sliceByIndex),
    (
      "slice_by_size",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        let begin = call.integers("begin")
        guard let size = call.integers("size"), size.count == shape.count else {
          return tensor(x.elementType, shape.map { _ in call.symbols.next() })
        }
        let result = shape.indices.map { axis -> SymbolicSize in
          if size[axis] != -1 { return size[axis] }
          guard let begin, axis < begin.count else { return call.symbols.next() }
          return call.symbols.difference(shape[axis], begin[axis])
        }
        return tensor(x.elementType, result)
      }
    ),
    (
      "shape",
      { call throws(InferenceFault) in
        let shape = try call.shape("x")
        return tensor(.int32, [.known(shape.count)], integers: shape)
      }
    ),
    (
      "one_hot",
      { call throws(InferenceFault) in
        var shape = try call.shape("indices")
        let size = call.integers("one_hot_vector_size")?.first ?? call.symbols.next()
        let axis = try call.axis(try call.number("axis", default: -1), rank: shape.count + 1)
        shape.insert(size, at: axis)
        return tensor(call.optionalTensor("on_value")?.elementType ?? .int32, shape)
      }
    ),
    (
      "non_zero",
      { call throws(InferenceFault) in
        let shape = try call.shape("x")
        return tensor(.int32, [call.symbols.next(), .known(shape.count)])
      }
    ),
    (
      "range_1d",
      { call throws(InferenceFault) in
        let type = try call.tensor("start").elementType
        let bounds = ["start", "end", "step"].map { call.integers($0)?.first?.value }
        guard let start = bounds[0], let end = bounds[1], let step = bounds[2], step != 0 else {
          return tensor(type, [call.symbols.next()])
        }
        let (span, overflow) = end.subtractingReportingOverflow(start)
        if overflow || step == Int.min { return tensor(type, [call.symbols.next()]) }
        let count = max(0, (span + (step > 0 ? step - 1 : step + 1)) / step)
        let integers =
          count <= 64 ? (0..<count).map { SymbolicSize.known(start + $0 * step) } : nil
        return tensor(type, [.known(count)], integers: integers)
      }
    ),
    (
      "fill",
      { call throws(InferenceFault) in
        let type = call.optionalTensor("value")?.elementType ?? .float32
        return tensor(type, sizes(call))
      }
    ),
    (
      "fill_like",
      { call throws(InferenceFault) in
        let type = call.optionalTensor("value")?.elementType ?? .float32
        return tensor(type, try call.tensor("ref_tensor").shape)
      }
    ),
    ("random_bernoulli", { call throws(InferenceFault) in random(call, ["prob"]) }),
    ("random_normal", { call throws(InferenceFault) in random(call, ["mean", "stddev"]) }),
    ("random_uniform", { call throws(InferenceFault) in random(call, ["low", "high"]) }),
    (
      "random_categorical",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        var shape = try call.shape("x")
        guard !shape.isEmpty else { throw call.fault("x is a scalar.") }
        shape[shape.count - 1] = .known(try call.number("size", default: 1))
        return tensor(x.elementType, shape)
      }
    ))

  /// The sizes in the input `shape`, or as many symbols.
  private static func sizes(_ call: OperationCall) -> [SymbolicSize]? {
    if let sizes = call.integers("shape") { return sizes }
    let rank = call.type("shape")?.tensor?.shape?.first?.value
    return rank.map { (0..<$0).map { _ in call.symbols.next() } }
  }

  private static func random(_ call: OperationCall, _ inputs: [String]) -> [InferredType] {
    let type = inputs.compactMap { call.optionalTensor($0)?.elementType }.first
    return tensor(type, sizes(call))
  }

  private static let gather: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    let shape = try call.shape("x")
    let indices = try call.tensor("indices")
    let places = try call.shape("indices")
    let batch = try call.number("batch_dims", default: 0)
    if shape.isEmpty { return tensor(x.elementType, places) }
    let axis = try call.axis(try call.number("axis", default: 0), rank: shape.count)
    guard batch >= 0, batch <= axis, batch <= places.count else {
      throw call.fault("batch_dims is \(batch).")
    }
    let result = shape[..<axis] + places.dropFirst(batch) + shape.dropFirst(axis + 1)
    var integers: [SymbolicSize]?
    if let values = x.integers, shape.count == 1, let taken = indices.integers {
      integers = taken.map { index in
        guard let index = index.value else { return call.symbols.next() }
        let place = index < 0 ? index + values.count : index
        return values.indices.contains(place) ? values[place] : call.symbols.next()
      }
    }
    return tensor(x.elementType, Array(result), integers: integers)
  }

  private static let sliceByIndex: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    let shape = try call.shape("x")
    let begin = call.integers("begin")
    let end = call.integers("end")
    let stride = call.has("stride") ? call.integers("stride") : nil
    let (fromStart, toEnd, dropped) = (
      call.flags("begin_mask"), call.flags("end_mask"), call.flags("squeeze_mask")
    )
    func isSet(_ flags: [Bool], _ axis: Int) -> Bool { axis < flags.count && flags[axis] }
    var result: [SymbolicSize] = []
    var slices: [Slice?] = []
    for (axis, size) in shape.enumerated() {
      let slice = Slice(
        begin: isSet(fromStart, axis)
          ? nil : .some(begin.flatMap { axis < $0.count ? $0[axis] : nil }),
        end: isSet(toEnd, axis) ? nil : .some(end.flatMap { axis < $0.count ? $0[axis] : nil }),
        stride: call.has("stride") ? stride.flatMap { axis < $0.count ? $0[axis].value : nil } : 1)
      slices.append(slice)
      if !isSet(dropped, axis) { result.append(slice.size(of: size, call)) }
    }
    var integers: [SymbolicSize]?
    if let values = x.integers, shape.count == 1, let slice = slices.first ?? nil {
      integers = slice.places(in: values.count)?.map { values[$0] }
      if isSet(dropped, 0) { integers = integers.map { Array($0.prefix(1)) } }
    }
    return tensor(x.elementType, result, integers: integers)
  }
}

/// The part of one axis that a slice takes.
private struct Slice {
  /// Where it begins; nil for the start of the axis, an inner nil where that is not known.
  var begin: SymbolicSize??
  /// Where it ends; nil for the end of the axis, an inner nil where that is not known.
  var end: SymbolicSize??
  /// The step; nil where that is not known.
  var stride: Int?

  /// The places that it takes of an axis of `count`; nil where they are not known.
  func places(in count: Int) -> [Int]? {
    guard let stride, stride != 0 else { return nil }
    func place(_ bound: SymbolicSize??, _ standard: Int) -> Int? {
      guard let given = bound else { return standard }
      guard let number = given?.value else { return nil }
      return number < 0 ? number + count : number
    }
    guard let first = place(begin, stride > 0 ? 0 : count - 1),
      let last = place(end, stride > 0 ? count : -1)
    else { return nil }
    let start = stride > 0 ? max(first, 0) : min(first, count - 1)
    let stop = stride > 0 ? min(last, count) : max(last, -1)
    return Array(Swift.stride(from: start, to: stop, by: stride))
  }

  /// How much it takes of an axis.
  func size(of axis: SymbolicSize, _ call: OperationCall) -> SymbolicSize {
    if begin == nil, end == nil, stride == 1 || stride == -1 { return axis }
    guard let count = axis.value else {
      // Known bounds on a symbolic axis still tell the size when they count from one end.
      guard stride == 1, let last = end, let stop = last else { return call.symbols.next() }
      let first: SymbolicSize = begin.map { $0 ?? call.symbols.next() } ?? 0
      guard let from = first.value, from >= 0 else { return call.symbols.next() }
      if let to = stop.value { return to >= from ? .known(to - from) : call.symbols.next() }
      return call.symbols.difference(stop, first)
    }
    guard count <= 1 << 24 else {
      guard let stride, stride == 1, let first = begin.map({ $0?.value }) ?? 0,
        let last = end.map({ $0?.value }) ?? count
      else { return call.symbols.next() }
      let from = first < 0 ? first + count : first
      let to = last < 0 ? last + count : min(last, count)
      return .known(max(0, to - max(from, 0)))
    }
    if let places = places(in: count) { return .known(places.count) }
    if let last = end, let first = begin, let stop = last, let start = first, stride == 1 {
      return call.symbols.difference(stop, start)
    }
    if begin == nil, let last = end, let stop = last, stride == 1, stop.value == nil { return stop }
    return call.symbols.next()
  }
}
