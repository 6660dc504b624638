import ModelGraph
import ModelTensors

extension InferenceRules {
  /// Operations that arrange elements anew.
  static let layout = table(
    ("reshape", reshape), ("reshape_like", reshapeLike),
    (
      "transpose",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        var result: [SymbolicSize] = []
        for number in try call.requiredNumbers("perm") {
          result.append(shape[try call.axis(number, rank: shape.count)])
        }
        guard result.count == shape.count else {
          throw call.fault("perm has \(result.count) axes for a rank of \(shape.count).")
        }
        return tensor(x.elementType, result)
      }
    ),
    (
      "expand_dims",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        let axes = try call.requiredNumbers("axes")
        let rank = shape.count + axes.count
        var places: Set<Int> = []
        for axis in axes { places.insert(try call.axis(axis, rank: rank)) }
        guard places.count == axes.count else { throw call.fault("An axis is given twice.") }
        var rest = shape.makeIterator()
        let result = (0..<rank).map { places.contains($0) ? 1 : rest.next() ?? 1 }
        return tensor(x.elementType, result, integers: x.integers)
      }
    ),
    (
      "squeeze",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        let axes =
          call.has("axes")
          ? Set(try call.axes("axes", rank: shape.count))
          : Set(shape.indices.filter { shape[$0] == 1 })
        for axis in axes { _ = try call.equal(shape[axis], 1, "A squeezed axis and 1") }
        let result = shape.indices.filter { !axes.contains($0) }.map { shape[$0] }
        return tensor(x.elementType, result, integers: x.integers)
      }
    ),
    (
      "flatten2d",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        var axis = try call.number("axis", default: 1)
        if axis < 0 { axis += shape.count }
        guard axis >= 0, axis <= shape.count else { throw call.fault("The axis is outside.") }
        return tensor(
          x.elementType,
          [
            call.symbols.product(shape[..<axis]), call.symbols.product(shape[axis...]),
          ])
      }
    ),
    (
      "concat",
      { call throws(InferenceFault) in
        let tensors = try call.tensors("values")
        guard var shape = tensors[0].shape else { return tensor(tensors[0].elementType, nil) }
        let axis = try call.axis(try call.number("axis"), rank: shape.count)
        for next in tensors.dropFirst() {
          guard let other = next.shape, other.count == shape.count else {
            throw call.fault("The values have other ranks.")
          }
          for place in shape.indices where place != axis {
            shape[place] = try call.equal(shape[place], other[place], "The values")
          }
          shape[axis] = call.symbols.sum(shape[axis], other[axis])
        }
        let integers =
          shape.count == 1 ? tensors.map(\.integers).reduce([], joined) : nil
        return tensor(tensors[0].elementType, shape, integers: integers)
      }
    ),
    (
      "stack",
      { call throws(InferenceFault) in
        let tensors = try call.tensors("values")
        guard var shape = tensors[0].shape else { return tensor(tensors[0].elementType, nil) }
        for next in tensors.dropFirst() {
          guard let other = next.shape, other.count == shape.count else {
            throw call.fault("The values have other ranks.")
          }
          for place in shape.indices {
            shape[place] = try call.equal(shape[place], other[place], "The values")
          }
        }
        let integers = shape.isEmpty ? tensors.map(\.integers).reduce([], joined) : nil
        let axis = try call.axis(try call.number("axis"), rank: shape.count + 1)
        shape.insert(.known(tensors.count), at: axis)
        return tensor(tensors[0].elementType, shape, integers: integers)
      }
    ), ("split", split),
    (
      "tile",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        guard let repetitions = call.integers("reps") else {
          return tensor(x.elementType, shape.map { _ in call.symbols.next() })
        }
        guard repetitions.count == shape.count else {
          throw call.fault("reps has \(repetitions.count) numbers for a rank of \(shape.count).")
        }
        return tensor(x.elementType, zip(shape, repetitions).map { call.symbols.product($0, $1) })
      }
    ),
    (
      "pad",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        var shape = try call.shape("x")
        guard let pads = call.integers("pad") else {
          return tensor(x.elementType, shape.map { _ in call.symbols.next() })
        }
        guard pads.count % 2 == 0, pads.count <= 2 * shape.count else {
          throw call.fault("pad has \(pads.count) numbers for a rank of \(shape.count).")
        }
        let first = shape.count - pads.count / 2
        for index in 0..<pads.count / 2 {
          let sum = call.symbols.sum(pads[2 * index], pads[2 * index + 1])
          shape[first + index] = call.symbols.sum(shape[first + index], sum)
        }
        return tensor(x.elementType, shape)
      }
    ),
    (
      "sliding_windows",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        var shape = try call.shape("x")
        let axis = try call.axis(try call.number("axis"), rank: shape.count)
        let size = try call.number("size")
        let stride = try call.number("stride", default: 1)
        let places = call.symbols.sum(
          call.symbols.quotient(
            call.symbols.difference(shape[axis], .known(size)), .known(stride)), 1)
        shape[axis] = .known(size)
        shape.insert(places, at: axis)
        return tensor(x.elementType, shape)
      }
    ))

  /// Both lists of known integers, one behind the other.
  private static func joined(_ one: [SymbolicSize]?, _ two: [SymbolicSize]?) -> [SymbolicSize]? {
    guard let one, let two else { return nil }
    return one + two
  }

  private static let reshape: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    guard let sizes = call.integers("shape") else {
      let rank = call.type("shape")?.tensor?.shape?.first?.value
      return tensor(x.elementType, rank.map { (0..<$0).map { _ in call.symbols.next() } })
    }
    guard let shape = x.shape else { return tensor(x.elementType, sizes) }
    var result = sizes
    // Zeros keep a size: from specification version 8 on they count from the last axis, and one
    // beyond the axes of x is 1.
    let shift = call.version >= 8 ? shape.count - sizes.count : 0
    for (index, size) in sizes.enumerated() where size == 0 {
      let axis = index + shift
      result[index] = shape.indices.contains(axis) ? shape[axis] : call.version >= 8 ? 1 : 0
    }
    if let open = result.firstIndex(of: -1) {
      result[open] = missing(
        call, from: shape, others: result.indices.filter { $0 != open }.map { result[$0] })
    } else if let count = InferredTensor(nil, result).elementCount,
      let before = InferredTensor(nil, shape).elementCount, count != before
    {
      throw call.fault("\(before) elements do not make a shape of \(count).")
    }
    return tensor(x.elementType, result, integers: x.integers)
  }

  /// The size that makes the others as many elements as a shape has.
  private static func missing(
    _ call: OperationCall, from shape: [SymbolicSize], others: [SymbolicSize]
  ) -> SymbolicSize {
    // Symbols that stand on both sides do not matter.
    var rest = shape
    var factors: [SymbolicSize] = []
    for other in others {
      if other.value == nil, let place = rest.firstIndex(of: other) {
        rest.remove(at: place)
      } else {
        factors.append(other)
      }
    }
    let symbols = rest.filter { $0.value == nil }
    let count = call.symbols.product(rest.filter { $0.value != nil })
    let divisor = call.symbols.product(factors)
    if symbols.isEmpty { return call.symbols.quotient(count, divisor) }
    if symbols.count == 1, count == divisor { return symbols[0] }
    return call.symbols.next()
  }

  private static let reshapeLike: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    let references = try call.tensors("ref_tensors")
    let begins = try call.tensors("begins")
    let ends = try call.tensors("ends")
    let masks = call.bools("end_masks")
    var result: [SymbolicSize] = []
    for (index, reference) in references.enumerated() {
      guard let shape = reference.shape, index < begins.count, index < ends.count,
        var begin = begins[index].integers?.first?.value,
        var end = ends[index].integers?.first?.value
      else { throw call.fault("begins and ends are constants, one for each reference.") }
      if begin < 0 { begin += shape.count }
      if end < 0 { end += shape.count }
      if index < masks.count, masks[index] { end = shape.count }
      guard begin >= 0, begin <= end, end <= shape.count else {
        throw call.fault("begin \(begin) and end \(end) do not fit a reference.")
      }
      result += shape[begin..<end]
    }
    return tensor(x.elementType, result)
  }

  private static let split: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    let shape = try call.shape("x")
    let axis = try call.axis(try call.number("axis"), rank: shape.count)
    var sizes = call.integers("split_sizes")
    if sizes == nil {
      let count = try call.number("num_splits", default: call.operation.outputs.count)
      guard count > 0, count <= 100_000 else { throw call.fault("num_splits is \(count).") }
      let size = call.symbols.quotient(shape[axis], .known(count))
      sizes = [SymbolicSize](repeating: size, count: count)
    }
    return (sizes ?? []).flatMap { size in
      var part = shape
      part[axis] = size
      return tensor(x.elementType, part)
    }
  }
}

extension OperationCall {
  /// The truth values of an input of several constant bindings.
  func bools(_ input: String) -> [Bool] {
    (operation.inputs[input]?.bindings ?? []).map { binding in
      let value = binding.value ?? binding.name.flatMap { scope.constants[$0] }
      return value?.boolValue ?? false
    }
  }
}
