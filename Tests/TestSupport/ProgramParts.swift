import ModelToolchain

/// Short forms for the parts of programs that tests build by hand.
public enum Make {
  /// A package's usual weight file.
  public static let weightFile = "@model_path/weights/weight.bin"

  /// A name with a tensor type.
  public static func tensor(
    _ name: String, _ shape: [Int], _ type: ElementType = .float16
  ) -> NamedValueType {
    NamedValueType(name, .tensor(type, shape))
  }

  /// An operation whose inputs are bound to names.
  public static func operation(
    _ type: String, _ inputs: KeyValuePairs<String, String>, _ outputs: NamedValueType...,
    blocks: [Block] = []
  ) -> GraphOperation {
    GraphOperation(
      type: type,
      inputs: NamedList(inputs.map { (key: $0.key, value: Argument.name($0.value)) }),
      outputs: outputs, blocks: blocks,
      attributes: ["name": .string(outputs.first?.name ?? type)])
  }

  /// A constant.
  public static func const(_ name: String, _ value: Value) -> GraphOperation {
    .const(name, value)
  }

  /// Packed elements of a float type.
  public static func packed(_ values: [Float], _ type: ElementType) -> [UInt8] {
    type == .float16
      ? values.map { HalfFloat.bits($0) }.withUnsafeBytes { Array($0) }
      : values.withUnsafeBytes { Array($0) }
  }

  /// The elements of a tensor of 16 or 32 bits as singles.
  public static func floats(_ source: any TensorSource) throws -> [Float] {
    source.elementType == .float16
      ? try source.elements(as: UInt16.self).map { HalfFloat.float($0) }
      : try source.elements(as: Float.self)
  }

  /// An interface feature that is a multi-array.
  public static func feature(
    _ name: String, _ shape: [Int], _ type: ArrayType.DataType = .float16
  ) -> FeatureDescription {
    FeatureDescription(
      name: name,
      type: FeatureType(
        .multiArray(ArrayType(shape: shape.map { Int64($0) }, dataType: type))))
  }

  /// A function with one block.
  public static func function(
    _ version: Int, _ inputs: [NamedValueType], _ operations: [GraphOperation],
    outputs: [String]
  ) -> Function {
    let opset = Opset.name(specificationVersion: version)
    return Function(
      inputs: inputs, opset: opset,
      specializations: [opset: Block(outputs: outputs, operations: operations)])
  }

  /// A model of one function `main`, its interface that of the function.
  public static func model(
    _ version: Int, _ inputs: [NamedValueType], _ operations: [GraphOperation],
    outputs: [NamedValueType]
  ) -> Model {
    let main = function(version, inputs, operations, outputs: outputs.map(\.name))
    var description = ModelDescription()
    description.inputs = inputs.map(feature)
    description.outputs = outputs.map(feature)
    return Model(
      specificationVersion: version, description: description,
      kind: .program(Program(functions: ["main": main])))
  }

  /// The feature of a function's input or output.
  public static func feature(_ value: NamedValueType) -> FeatureDescription {
    let tensor = value.type?.tensor
    let types: [ElementType: ArrayType.DataType] = [
      .float16: .float16, .float32: .float32, .int32: .int32,
    ]
    let type = tensor?.elementType.flatMap { types[$0] } ?? .float32
    return feature(value.name, tensor?.shape ?? [], type)
  }
}

/// Makes weights in memory that a test package will hold in its blob files; offsets are only
/// labels until ``TestPackage`` has written them.
public struct WeightMaker: Sendable {
  private var count: UInt64 = 0

  /// Starts with label 64.
  public init() {}

  /// A weight of these values.
  public mutating func value(
    _ type: ElementType, _ shape: [Int], _ values: [Float], file: String = Make.weightFile
  ) throws -> Value {
    try value(type, shape, bytes: Make.packed(values, type), file: file)
  }

  /// A weight of these packed bytes.
  public mutating func value(
    _ type: ElementType, _ shape: [Int], bytes: [UInt8], file: String = Make.weightFile
  ) throws -> Value {
    count += 1
    return .weight(
      Weight(
        reference: BlobReference(fileName: file, offset: count * 64),
        source: try MemoryTensor(elementType: type, shape: shape, bytes: bytes)))
  }

  /// A weight with values from a fixed sequence between −1 and 1.
  public mutating func random(
    _ type: ElementType, _ shape: [Int], seed: UInt64 = 1, file: String = Make.weightFile
  ) throws -> Value {
    try value(type, shape, RandomNumbers.floats(shape.reduce(1, *), seed: seed), file: file)
  }
}

/// A repeatable sequence of numbers.
public struct RandomNumbers: RandomNumberGenerator {
  private var state: UInt64

  /// The sequence of `seed`.
  public init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

  /// The next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Singles between −1 and 1.
  public static func floats(_ count: Int, seed: UInt64 = 1) -> [Float] {
    var numbers = RandomNumbers(seed: seed)
    return (0..<count).map { _ in Float.random(in: -1...1, using: &numbers) }
  }
}

/// Writes models that tests have built, and reads what a pass made of them.
public enum TestPackage {
  /// Writes a model; weights of equal references are stored once, in the order of the model.
  public static func write(_ model: Model, to path: String) throws {
    var model = model
    let writer = try PackageWriter(output: path, force: true)
    var files: [String: BlobFileWriter] = [:]
    var places: [BlobReference: BlobReference] = [:]
    try model.updateEachWeight { weight in
      if let place = places[weight.reference] {
        weight.reference = place
        return
      }
      let name = weight.reference.fileName
      let file = try files[name] ?? writer.weightWriter(fileName: name)
      files[name] = file
      let type = weight.source.elementType == .bool ? .uint8 : weight.source.elementType
      let slot = try file.reserve(type, count: weight.source.elementCount)
      try weight.source.withElements(0..<weight.source.elementCount) {
        try file.write($0, to: slot, at: 0)
      }
      let place = BlobReference(fileName: name, offset: slot.recordOffset)
      places[weight.reference] = place
      weight.reference = place
    }
    try writer.commit(specification: try ModelEncoder.encode(model))
  }
}

extension Model {
  /// Calls `body` for every weight of the programs, those of children included.
  public mutating func updateEachWeight(_ body: (inout Weight) throws -> Void) rethrows {
    try updateEachProgram { model, _ in
      guard var program = model.program else { return }
      try program.updateEachWeight(body)
      model.program = program
    }
  }

  /// The operations of the active block of a function.
  public func operations(_ function: String = "main") -> [GraphOperation] {
    program?.functions[function]?.activeBlock?.operations ?? []
  }

  /// The first operation of a name, or of a type, in the active block of a function.
  public func operation(_ name: String, in function: String = "main") -> GraphOperation? {
    let all = operations(function)
    return all.first { $0.outputs.contains { $0.name == name } } ?? all.first { $0.type == name }
  }

  /// The constant of a name, decoded.
  public func constant(
    _ name: String, in function: String = "main"
  ) throws -> (any TensorSource)? {
    guard let block = program?.functions[function]?.activeBlock else { return nil }
    return try ConstantEvaluator(block).tensor(named: name)
  }
}
