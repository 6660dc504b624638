/// A change to one block of a function, made as a whole or not at all.
public struct Patch: Sendable {
  /// One edit; paths refer to the block as it was before the patch.
  public enum Edit: Sendable {
    /// Puts operations before the one at a path.
    case insert([GraphOperation], before: OperationPath)
    /// Puts operations behind the one at a path.
    case insertAfter(OperationPath, [GraphOperation])
    /// Puts operations in the place of one; none removes it.
    case replace(OperationPath, with: [GraphOperation])
    /// Binds an input of an operation to other values, or removes it with nil.
    case setInput(OperationPath, name: String, Argument?)
  }

  /// What the patch does, for ledgers and messages.
  public var label: String
  /// The name of the function.
  public var function: String
  /// The opset of the block.
  public var specialization: String
  /// The edits.
  public var edits: [Edit]

  /// A patch of a function's block.
  public init(label: String, function: String, specialization: String, edits: [Edit]) {
    self.label = label
    self.function = function
    self.specialization = specialization
    self.edits = edits
  }
}

/// Why a patch was not applied.
public enum PatchError: Error, Sendable, Equatable, CustomStringConvertible {
  case missingFunction(String)
  case missingBlock(function: String, specialization: String)
  case missingOperation(label: String, path: [Int])

  /// The message in one line.
  public var description: String {
    switch self {
    case .missingFunction(let name): "no function \"\(name)\""
    case .missingBlock(let function, let key): "function \"\(function)\" has no block \"\(key)\""
    case .missingOperation(let label, let path): "\(label): no operation at \(path)"
    }
  }
}

extension Program {
  /// Applies patches in order; each sees what the ones before it left.
  ///
  /// - Throws: ``PatchError``; the program is then unchanged.
  public mutating func apply(_ patches: [Patch]) throws(PatchError) {
    var changed = functions
    for patch in patches {
      guard var function = changed[patch.function] else {
        throw .missingFunction(patch.function)
      }
      guard let block = function.specializations[patch.specialization] else {
        throw .missingBlock(function: patch.function, specialization: patch.specialization)
      }
      function.specializations[patch.specialization] = try block.applying(patch)
      changed[patch.function] = function
    }
    functions = changed
  }
}

extension Block {
  /// The block with all edits of `patch` made.
  func applying(_ patch: Patch) throws(PatchError) -> Block {
    var edits: [[Int]: OperationEdits] = [:]
    for edit in patch.edits {
      switch edit {
      case .insert(let operations, let path):
        edits[path.steps, default: OperationEdits()].before += operations
      case .insertAfter(let path, let operations):
        edits[path.steps, default: OperationEdits()].after += operations
      case .replace(let path, let operations):
        edits[path.steps, default: OperationEdits()].replacement = operations
      case .setInput(let path, let name, let argument):
        edits[path.steps, default: OperationEdits()].inputs.append((name, argument))
      }
    }
    for path in edits.keys where self[OperationPath(path)] == nil {
      throw .missingOperation(label: patch.label, path: path)
    }
    var parents: Set<[Int]> = []
    for path in edits.keys {
      var prefix = path
      while prefix.count > 1 {
        prefix.removeLast(2)
        parents.insert(prefix)
      }
    }
    return rebuilt(prefix: [], edits, parents)
  }

  private func rebuilt(
    prefix: [Int], _ edits: [[Int]: OperationEdits], _ parents: Set<[Int]>
  ) -> Block {
    var block = self
    block.operations = []
    block.operations.reserveCapacity(operations.count + edits.count)
    for (index, original) in operations.enumerated() {
      let path = prefix + [index]
      var operation = original
      if parents.contains(path) {
        for number in operation.blocks.indices {
          operation.blocks[number] = operation.blocks[number].rebuilt(
            prefix: path + [number], edits, parents)
        }
      }
      guard let edit = edits[path] else {
        block.operations.append(operation)
        continue
      }
      block.operations += edit.before
      if let replacement = edit.replacement {
        block.operations += replacement
      } else {
        for (name, argument) in edit.inputs { operation.inputs[name] = argument }
        block.operations.append(operation)
      }
      block.operations += edit.after
    }
    return block
  }
}

private struct OperationEdits {
  var before: [GraphOperation] = []
  var after: [GraphOperation] = []
  var replacement: [GraphOperation]?
  var inputs: [(name: String, argument: Argument?)] = []
}
