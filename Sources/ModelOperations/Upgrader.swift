import ModelGraph
import ModelTensors

/// Why a program cannot be carried to a later specification version without changing what it
/// computes.
public struct UpgradeRefusal: Error, Sendable, Equatable, CustomStringConvertible {
  /// The operation that stands in the way; empty when it is the function itself.
  public var operation: String
  /// The function that holds it.
  public var function: String
  /// What cannot be kept, in one phrase.
  public var reason: String

  /// A refusal.
  public init(operation: String, function: String, reason: String) {
    self.operation = operation
    self.function = function
    self.reason = reason
  }

  /// The place and the reason in one line.
  public var description: String {
    operation.isEmpty ? "\(function): \(reason)" : "\(function)/\(operation): \(reason)"
  }
}

/// Raises programs to later specification versions.
///
/// Every operation whose inputs, types, defaults or meaning change on the way is rewritten by the
/// rules of ``UpgradeRules/table``; an operation without a rule is the same in both versions. The
/// result computes what the program computed, or nothing is changed and the reason thrown.
public enum Upgrader {
  /// Raises every function of `program` to specification version `to`.
  ///
  /// A function is raised from the version of its own opset. Its specializations for versions up
  /// to `to` would take the place of the active one and are dropped; later ones, and those under a
  /// key that is no opset's name, stay as they are.
  ///
  /// - Parameter from: The version of functions whose opset is no known name.
  /// - Returns: Notes on what was done, in the order of the functions.
  public static func upgrade(
    _ program: inout Program, from: Int, to: Int
  ) throws(UpgradeRefusal) -> [String] {
    var notes: [String] = []
    var functions: [(key: String, value: Function)] = []
    for (name, function) in program.functions {
      let own = Opset.specificationVersion(function.opset) ?? from
      guard own < to else {
        functions.append((name, function))
        continue
      }
      functions.append((name, try upgraded(function, name: name, from: own, to: to, &notes)))
    }
    program.functions = NamedList(functions)
    return notes
  }

  private static func upgraded(
    _ function: Function, name: String, from: Int, to: Int, _ notes: inout [String]
  ) throws(UpgradeRefusal) -> Function {
    guard let active = function.activeBlock else {
      throw UpgradeRefusal(
        operation: "", function: name, reason: "there is no block for opset \(function.opset)")
    }
    let opset = Opset.name(specificationVersion: to)
    var context = UpgradeContext(function: name, inputs: function.inputs, block: active)
    let block = try upgraded(active, from: from, to: to, &context)
    notes += context.notes.map { "\(name)/\($0)" }

    var specializations: [(key: String, value: Block)] = []
    for (key, other) in function.specializations {
      if key == function.opset {
        specializations.append((opset, block.removingConstants(unusedSince: context.used)))
      } else if let version = Opset.specificationVersion(key), version <= to {
        notes.append("\(name): the specialization for \(key) was dropped")
      } else {
        specializations.append((key, other))
      }
    }
    var result = function
    result.opset = opset
    result.specializations = NamedList(specializations)
    return result
  }

  private static func upgraded(
    _ block: Block, from: Int, to: Int, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> Block {
    let outer = context.scope
    context.scope.add(block.inputs)
    var result = block
    result.operations = []
    result.operations.reserveCapacity(block.operations.count)
    for original in block.operations {
      var operation = original
      for index in operation.blocks.indices {
        operation.blocks[index] = try upgraded(
          operation.blocks[index], from: from, to: to, &context)
      }
      var steps = [operation]
      for version in (from + 1)...to {
        guard steps.contains(where: { UpgradeRules.rewrite($0.type, version) != nil }) else {
          continue
        }
        var next: [GraphOperation] = []
        for step in steps {
          if let rewrite = UpgradeRules.rewrite(step.type, version) {
            next += try rewrite(step, &context)
          } else {
            next.append(step)
          }
        }
        steps = next
      }
      for step in steps { context.scope.add(step) }
      result.operations += steps
    }
    context.scope = outer
    return result
  }
}

extension Block {
  /// The block without the `const` operations whose outputs were used once and are no longer.
  fileprivate func removingConstants(unusedSince used: Set<String>) -> Block {
    let left = usedNames
    let dead = used.subtracting(left)
    return dead.isEmpty ? self : removing(constants: dead)
  }

  private func removing(constants dead: Set<String>) -> Block {
    var block = self
    block.operations = operations.compactMap { operation in
      if operation.isConst, let name = operation.outputs.first?.name, dead.contains(name) {
        return nil
      }
      var operation = operation
      for index in operation.blocks.indices {
        operation.blocks[index] = operation.blocks[index].removing(constants: dead)
      }
      return operation
    }
    return block
  }

  /// All names that operations and block outputs refer to.
  var usedNames: Set<String> {
    var names = Set(outputs)
    forEachOperation { operation, _ in
      for (_, argument) in operation.inputs {
        for binding in argument.bindings { if let name = binding.name { names.insert(name) } }
      }
      for block in operation.blocks { names.formUnion(block.outputs) }
    }
    return names
  }
}
