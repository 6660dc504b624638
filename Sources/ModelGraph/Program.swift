/// What an operation's input is bound to.
public struct Binding: Sendable, Equatable {
  /// The alternatives of `MILSpec.Argument.Binding`.
  public enum Kind: Sendable, Equatable {
    /// A value defined in the function, by name.
    case name(String)
    /// A constant that stands in the argument.
    case value(Value)
    /// Neither is set in the file.
    case absent
  }

  /// Which alternative it is.
  public var kind: Kind
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A binding of this kind.
  public init(_ kind: Kind) { self.kind = kind }

  /// The name bound, or nil.
  public var name: String? {
    if case .name(let name) = kind { return name }
    return nil
  }

  /// The constant bound, or nil.
  public var value: Value? {
    if case .value(let value) = kind { return value }
    return nil
  }
}

/// An operation's input: one binding, or several for an input that takes a tuple.
public struct Argument: Sendable, Equatable {
  /// What it is bound to, in order.
  public var bindings: [Binding]
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// An argument of these bindings.
  public init(_ bindings: [Binding]) { self.bindings = bindings }
  /// An argument bound to a name.
  public static func name(_ name: String) -> Argument { Argument([Binding(.name(name))]) }
  /// An argument bound to a constant.
  public static func value(_ value: Value) -> Argument { Argument([Binding(.value(value))]) }

  /// The name of the only binding, or nil.
  public var name: String? { bindings.count == 1 ? bindings[0].name : nil }
  /// The constant of the only binding, or nil.
  public var value: Value? { bindings.count == 1 ? bindings[0].value : nil }
}

/// One operation of a block.
public struct GraphOperation: Sendable, Equatable {
  /// The operation's type, `conv`, `const`, `constexpr_lut_to_dense` and so on.
  public var type: String
  /// The inputs.
  public var inputs: NamedList<Argument>
  /// The outputs.
  public var outputs: [NamedValueType]
  /// Nested blocks: the branches of `cond`, condition and body of `while_loop`.
  public var blocks: [Block]
  /// Attributes by name, in file order.
  public var attributes: NamedList<Value>
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// An operation with these parts.
  public init(
    type: String, inputs: NamedList<Argument> = [:], outputs: [NamedValueType],
    blocks: [Block] = [], attributes: NamedList<Value> = [:]
  ) {
    self.type = type
    self.inputs = inputs
    self.outputs = outputs
    self.blocks = blocks
    self.attributes = attributes
  }

  /// A `const` operation named like its output.
  public static func const(_ name: String, _ value: Value) -> GraphOperation {
    GraphOperation(
      type: "const", outputs: [NamedValueType(name, value.type)],
      attributes: ["name": .string(name), "val": value])
  }

  /// The `name` attribute, else the first output's name, else the type.
  public var name: String {
    attributes["name"]?.stringValue ?? outputs.first?.name ?? type
  }

  /// Whether the operation is a plain constant.
  public var isConst: Bool { type == "const" }
  /// Whether the operation yields a constant that is decoded when the model is loaded.
  public var isConstexpr: Bool { type.hasPrefix("constexpr_") }

  /// A parameter that is a constant in the operation itself: an input bound to a value, or an
  /// attribute.
  public func parameter(_ name: String) -> Value? { inputs[name]?.value ?? attributes[name] }
}

/// A sequence of operations with inputs and outputs.
public struct Block: Sendable, Equatable {
  /// The inputs.
  public var inputs: [NamedValueType]
  /// Names of the values that the block yields.
  public var outputs: [String]
  /// The operations in order.
  public var operations: [GraphOperation]
  /// Attributes by name, in file order.
  public var attributes: NamedList<Value>
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A block with these parts.
  public init(
    inputs: [NamedValueType] = [], outputs: [String], operations: [GraphOperation],
    attributes: NamedList<Value> = [:]
  ) {
    self.inputs = inputs
    self.outputs = outputs
    self.operations = operations
    self.attributes = attributes
  }
}

/// A function of a program, with one block per opset that it is specialized for.
public struct Function: Sendable, Equatable {
  /// The inputs.
  public var inputs: [NamedValueType]
  /// The opset in force, `CoreML5` (specification version 6) and so on.
  public var opset: String
  /// Blocks by opset; the one under ``opset`` is active.
  public var specializations: NamedList<Block>
  /// Attributes by name, in file order.
  public var attributes: NamedList<Value>
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A function with these parts.
  public init(
    inputs: [NamedValueType], opset: String, specializations: NamedList<Block>,
    attributes: NamedList<Value> = [:]
  ) {
    self.inputs = inputs
    self.opset = opset
    self.specializations = specializations
    self.attributes = attributes
  }

  /// The block under ``opset``, or nil when the file has none.
  public var activeBlock: Block? {
    get { specializations[opset] }
    set { specializations[opset] = newValue }
  }
}

/// An ML Program.
public struct Program: Sendable, Equatable {
  /// The version of the program format, 1.
  public var version: Int64
  /// The functions by name, in file order.
  public var functions: NamedList<Function>
  /// A text for readers.
  public var docString: String
  /// Attributes by name, in file order.
  public var attributes: NamedList<Value>
  /// Fields that the schema does not name, carried along.
  public var unknownFields = UnknownFields()

  /// A program with these parts.
  public init(
    version: Int64 = 1, functions: NamedList<Function>, docString: String = "",
    attributes: NamedList<Value> = [:]
  ) {
    self.version = version
    self.functions = functions
    self.docString = docString
    self.attributes = attributes
  }
}

/// The opset of each specification version that has ML Programs.
public enum Opset {
  /// `CoreML5` for 6 … `CoreML9` for 10.
  public static func name(specificationVersion: Int) -> String {
    "CoreML\(specificationVersion - 1)"
  }

  /// The system that first reads a specification version, `iOS15` for 6 … `iOS26` for 10.
  public static func system(specificationVersion: Int) -> String {
    specificationVersion >= 10
      ? "iOS\(specificationVersion + 16)" : "iOS\(specificationVersion + 9)"
  }

  /// The specification version of an opset's name, or nil.
  public static func specificationVersion(_ name: String) -> Int? {
    guard name.hasPrefix("CoreML"), let number = Int(name.dropFirst(6)), number >= 5, number < 100
    else { return nil }
    return number + 1
  }
}
