import ModelGraph
import ModelTensors

extension InferenceRules {
  /// Products of matrices, recurrent layers, attention.
  static let layers = table(
    ("matmul", matmul),
    (
      "linear",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let weight = try call.shape("weight")
        guard var shape = x.shape, !shape.isEmpty, weight.count == 2 else {
          throw call.fault("linear takes an x of rank 1 or more and a weight of rank 2.")
        }
        _ = try call.equal(shape[shape.count - 1], weight[1], "The last axis of x and of weight")
        shape[shape.count - 1] = weight[0]
        return tensor(x.elementType, shape)
      }
    ), ("einsum", einsum),
    (
      "scaled_dot_product_attention",
      { call throws(InferenceFault) in
        let query = try call.tensor("query")
        let (own, key, value) = (
          try call.shape("query"), try call.shape("key"), try call.shape("value")
        )
        guard own.count >= 2, key.count >= 2, value.count >= 2 else {
          throw call.fault("query, key and value have rank 2 or more.")
        }
        let batch = try call.broadcast(
          try call.broadcast(Array(own.dropLast(2)), Array(key.dropLast(2))),
          Array(value.dropLast(2)))
        return tensor(
          query.elementType, (batch ?? []) + [own[own.count - 2], value[value.count - 1]])
      }
    ),
    ("gru rnn", { call throws(InferenceFault) in try recurrent(call, states: 1) }),
    ("lstm", { call throws(InferenceFault) in try recurrent(call, states: 2) }))

  private static let matmul: Rule = { call throws(InferenceFault) in
    let (x, y) = (try call.tensor("x"), try call.tensor("y"))
    guard var left = x.shape, var right = y.shape else { return tensor(x.elementType, nil) }
    guard !left.isEmpty, !right.isEmpty else { throw call.fault("matmul takes no scalars.") }
    let (isRow, isColumn) = (left.count == 1, right.count == 1)
    if isRow {
      left.insert(1, at: 0)
    } else if call.flag("transpose_x") {
      left.swapAt(left.count - 1, left.count - 2)
    }
    if isColumn {
      right.append(1)
    } else if call.flag("transpose_y") {
      right.swapAt(right.count - 1, right.count - 2)
    }
    _ = try call.equal(
      left[left.count - 1], right[right.count - 2], "The inner axes of the matrices")
    var shape = try call.broadcast(Array(left.dropLast(2)), Array(right.dropLast(2))) ?? []
    if !isRow { shape.append(left[left.count - 2]) }
    if !isColumn { shape.append(right[right.count - 1]) }
    return tensor(x.elementType, shape)
  }

  /// The sizes of the letters of an equation, `bij,bjk->bik`, with those of the result.
  static func einsumSizes(
    _ call: OperationCall
  ) throws(InferenceFault) -> (sizes: [Character: SymbolicSize], result: [SymbolicSize]) {
    let equation = call.text("equation").filter { $0 != " " }
    let sides = equation.split(separator: ">", omittingEmptySubsequences: false)
    let tensors = try call.tensors("values")
    guard sides.count == 2, sides[0].hasSuffix("-") else {
      throw call.fault("\"\(equation)\" is no equation of einsum.")
    }
    let terms = sides[0].dropLast().split(separator: ",", omittingEmptySubsequences: false)
    guard terms.count == tensors.count else {
      throw call.fault("The equation has \(terms.count) terms for \(tensors.count) values.")
    }
    var sizes: [Character: SymbolicSize] = [:]
    for (term, operand) in zip(terms, tensors) {
      guard let shape = operand.shape, shape.count == term.count else {
        throw call.fault("The term \(term) does not fit the rank of its value.")
      }
      for (letter, size) in zip(term, shape) {
        if let known = sizes[letter] {
          sizes[letter] = try call.broadcast(known, size)
        } else {
          sizes[letter] = size
        }
      }
    }
    var result: [SymbolicSize] = []
    for letter in sides[1] {
      guard let size = sizes[letter] else {
        throw call.fault("\(letter) stands in the result of the equation only.")
      }
      result.append(size)
    }
    return (sizes, result)
  }

  private static let einsum: Rule = { call throws(InferenceFault) in
    let type = try call.tensors("values")[0].elementType
    return tensor(type, try einsumSizes(call).result)
  }

  /// The sequence, or its last step, and the states.
  private static func recurrent(
    _ call: OperationCall, states: Int
  ) throws(InferenceFault) -> [InferredType] {
    let x = try call.tensor("x")
    let shape = try call.shape("x")
    let state = try call.shape("initial_h")
    guard shape.count == 3, let width = state.last else {
      throw call.fault("x has rank 3, initial_h the hidden size on its last axis.")
    }
    let steps = call.flag("output_sequence") ? shape[0] : 1
    let output = tensor(x.elementType, [steps, shape[1], width])
    return output + (0..<states).flatMap { _ in tensor(x.elementType, state) }
  }
}

extension OperationCall {
  /// One size where both must be the same.
  func equal(
    _ one: SymbolicSize, _ two: SymbolicSize, _ what: String
  ) throws(InferenceFault) -> SymbolicSize {
    guard let left = one.value else { return two }
    guard let right = two.value else { return one }
    guard left == right else { throw fault("\(what) have sizes \(left) and \(right).") }
    return one
  }
}
