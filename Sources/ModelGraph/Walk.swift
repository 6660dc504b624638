extension Value {
  /// Calls `body` for the weight of the value and of the values in it.
  public mutating func updateEachWeight(_ body: (inout Weight) throws -> Void) rethrows {
    switch content {
    case .weight(var weight):
      try body(&weight)
      content = .weight(weight)
    case .immediate(var immediate):
      guard try immediate.updateEachWeight(body) else { return }
      content = .immediate(immediate)
    case .absent: break
    }
  }

  /// Calls `body` for the weight of the value and of the values in it.
  public func forEachWeight(_ body: (Weight) throws -> Void) rethrows {
    switch content {
    case .weight(let weight): try body(weight)
    case .immediate(let immediate): try immediate.values.forEach { try $0.forEachWeight(body) }
    case .absent: break
    }
  }
}

extension ImmediateValue {
  /// The values in a tuple, list or dictionary.
  var values: [Value] {
    switch kind {
    case .tuple(let values), .list(let values): values
    case .dictionary(let pairs): pairs.flatMap { [$0.key, $0.value].compactMap { $0 } }
    case .tensor, .absent: []
    }
  }

  /// Returns whether there are values that could hold weights.
  fileprivate mutating func updateEachWeight(
    _ body: (inout Weight) throws -> Void
  ) rethrows -> Bool {
    switch kind {
    case .tuple(var values):
      for index in values.indices { try values[index].updateEachWeight(body) }
      kind = .tuple(values)
    case .list(var values):
      for index in values.indices { try values[index].updateEachWeight(body) }
      kind = .list(values)
    case .dictionary(var pairs):
      for index in pairs.indices {
        try pairs[index].key?.updateEachWeight(body)
        try pairs[index].value?.updateEachWeight(body)
      }
      kind = .dictionary(pairs)
    case .tensor, .absent: return false
    }
    return true
  }
}

extension GraphOperation {
  /// Calls `body` for every value in inputs and attributes, not in nested blocks.
  public func forEachValue(_ body: (Value) throws -> Void) rethrows {
    for (_, argument) in inputs {
      for binding in argument.bindings {
        if let value = binding.value { try body(value) }
      }
    }
    for (_, value) in attributes { try body(value) }
  }

  fileprivate mutating func updateEachValue(_ body: (inout Value) throws -> Void) rethrows {
    try inputs.updateEach { _, argument in
      for index in argument.bindings.indices {
        if case .value(var value) = argument.bindings[index].kind {
          try body(&value)
          argument.bindings[index].kind = .value(value)
        }
      }
    }
    try attributes.updateEach { _, value in try body(&value) }
  }
}

extension Block {
  /// Calls `body` for every weight, those of nested blocks included, in file order.
  public func forEachWeight(_ body: (Weight) throws -> Void) rethrows {
    for operation in operations {
      try operation.forEachValue { try $0.forEachWeight(body) }
      for block in operation.blocks { try block.forEachWeight(body) }
    }
    for (_, value) in attributes { try value.forEachWeight(body) }
  }

  /// Calls `body` for every weight, those of nested blocks included, in file order.
  public mutating func updateEachWeight(_ body: (inout Weight) throws -> Void) rethrows {
    for index in operations.indices {
      try operations[index].updateEachValue { try $0.updateEachWeight(body) }
      for nested in operations[index].blocks.indices {
        try operations[index].blocks[nested].updateEachWeight(body)
      }
    }
    try attributes.updateEach { _, value in try value.updateEachWeight(body) }
  }
}

extension Program {
  /// Calls `body` for every weight in file order.
  public func forEachWeight(_ body: (Weight) throws -> Void) rethrows {
    for (_, function) in functions {
      for (_, block) in function.specializations { try block.forEachWeight(body) }
      for (_, value) in function.attributes { try value.forEachWeight(body) }
    }
    for (_, value) in attributes { try value.forEachWeight(body) }
  }

  /// Calls `body` for every weight in file order.
  public mutating func updateEachWeight(_ body: (inout Weight) throws -> Void) rethrows {
    try functions.updateEach { _, function in
      try function.specializations.updateEach { _, block in try block.updateEachWeight(body) }
      try function.attributes.updateEach { _, value in try value.updateEachWeight(body) }
    }
    try attributes.updateEach { _, value in try value.updateEachWeight(body) }
  }
}

extension Program {
  /// Calls `body` for the weights in attributes of blocks, functions and the program itself, not in
  /// those of operations.
  public func forEachAttributeWeight(_ body: (Weight) throws -> Void) rethrows {
    func visit(_ block: Block) throws {
      for (_, value) in block.attributes { try value.forEachWeight(body) }
      for operation in block.operations { try operation.blocks.forEach(visit) }
    }
    for (_, function) in functions {
      for (_, block) in function.specializations { try visit(block) }
      for (_, value) in function.attributes { try value.forEachWeight(body) }
    }
    for (_, value) in attributes { try value.forEachWeight(body) }
  }
}

extension Model {
  /// Calls `body` for every weight in a file, those of a pipeline's children included.
  public func forEachWeight(_ body: (Weight) throws -> Void) rethrows {
    switch kind {
    case .program(let program): try program.forEachWeight(body)
    case .pipeline(let pipeline): try pipeline.models.forEach { try $0.forEachWeight(body) }
    case .neuralNetwork, .other, .absent: break
    }
  }

  /// Calls `body` for every program; `place` is the indices of children from here down.
  public func forEachProgram(_ body: (Program, _ place: [Int]) throws -> Void) rethrows {
    try forEachProgramModel { model, place in
      if let program = model.program { try body(program, place) }
    }
  }

  /// Calls `body` for every model whose kind is a program, with its place.
  public func forEachProgramModel(
    _ body: (Model, _ place: [Int]) throws -> Void
  ) rethrows {
    try forEachProgramModel(at: [], body)
  }

  private func forEachProgramModel(
    at place: [Int], _ body: (Model, [Int]) throws -> Void
  ) rethrows {
    switch kind {
    case .program: try body(self, place)
    case .pipeline(let pipeline):
      for (index, child) in pipeline.models.enumerated() {
        try child.forEachProgramModel(at: place + [index], body)
      }
    case .neuralNetwork, .other, .absent: break
    }
  }

  /// The names of the children on the way to `place`, each with a slash behind it.
  public func childPrefix(at place: [Int]) -> String {
    guard let index = place.first, case .pipeline(let pipeline) = kind,
      pipeline.models.indices.contains(index)
    else { return "" }
    return "\(pipeline.name(of: index))/"
      + pipeline.models[index].childPrefix(at: Array(place.dropFirst()))
  }

  /// Calls `body` for every program, those of a pipeline's children included.
  public mutating func updateEachProgram(
    _ body: (_ model: inout Model, _ place: [Int]) throws -> Void
  ) rethrows {
    try updateEachProgram(at: [], body)
  }

  private mutating func updateEachProgram(
    at place: [Int], _ body: (inout Model, [Int]) throws -> Void
  ) rethrows {
    switch kind {
    case .program: try body(&self, place)
    case .pipeline(var pipeline):
      for index in pipeline.models.indices {
        try pipeline.models[index].updateEachProgram(at: place + [index], body)
      }
      kind = .pipeline(pipeline)
    case .neuralNetwork, .other, .absent: break
    }
  }
}
