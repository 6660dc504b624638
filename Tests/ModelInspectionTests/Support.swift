import ModelFiles
import ModelGraph
import ModelSpec
import ModelTensors
import Testing

@testable import ModelInspection

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The folder of models that the repository does not hold, or nil where it is absent.
enum Shared {
  static let folder: String? = {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let path =
      ProcessInfo.processInfo.environment["MLT_SHARED"] ?? "/\(root)/../shared"
    return FileManager.default.fileExists(atPath: path + "/models") ? path : nil
  }()

  static let isPresent = folder != nil
  static let message: Comment = "MLT_SHARED names no folder with models"

  static func report(_ path: String, readingWeights: Bool = false) throws -> ModelReport {
    let path = (folder ?? "") + "/" + path
    return try ModelReport(
      LoadedModel(path: path, readingWeights: readingWeights), readingWeights: readingWeights)
  }
}

/// Protobuf messages written field by field.
struct Wire {
  private(set) var bytes: [UInt8] = []

  private mutating func varint(_ value: UInt64) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }

  mutating func add(_ field: Int, _ number: Int) {
    varint(UInt64(field) << 3)
    varint(UInt64(bitPattern: Int64(number)))
  }

  mutating func add(_ field: Int, _ content: [UInt8]) {
    varint(UInt64(field) << 3 | 2)
    varint(UInt64(content.count))
    bytes += content
  }

  mutating func add(_ field: Int, _ text: String) { add(field, Array(text.utf8)) }
  mutating func add(_ field: Int, _ message: Wire) { add(field, message.bytes) }

  mutating func add(_ field: Int, _ number: Double) {
    varint(UInt64(field) << 3 | 1)
    withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes += $0 }
  }

  mutating func add<T>(_ field: Int, packed numbers: [T]) {
    add(field, numbers.withUnsafeBytes { Array($0) })
  }

  /// A message that `build` fills.
  static func message(_ build: (inout Wire) -> Void) -> Wire {
    var wire = Wire()
    build(&wire)
    return wire
  }
}

/// A report of a model that lies nowhere.
func report(_ model: Model, readingWeights: Bool = false) throws -> ModelReport {
  let sizes = SizeFact(totalBytes: 0, specificationBytes: 0, weightBytes: 0)
  return try ModelReport(
    model: model,
    container: ModelReport.ContainerFacts(path: "model", kind: .specification, sizes: sizes),
    readingWeights: readingWeights)
}

/// A report of a model of an opaque kind.
func report(_ typeName: String, _ payload: Wire, version: Int = 1) throws -> ModelReport {
  try report(
    Model(
      specificationVersion: version, description: nil,
      kind: .other(OpaqueModel(typeName: typeName, payload: payload.bytes))))
}

/// A blob of these elements.
func blob<T: BitwiseCopyable>(
  _ type: ElementType, _ shape: [Int], _ values: [T], at offset: UInt64
) throws -> Value {
  .weight(
    Weight(
      reference: BlobReference(fileName: "@model_path/weights/weight.bin", offset: offset),
      source: try MemoryTensor(elementType: type, shape: shape, values: values)))
}

/// A program of one function of these operations.
func program(
  _ operations: [GraphOperation],
  inputs: [NamedValueType] = [NamedValueType("x", .tensor(.float32, [1, 4]))],
  outputs: [String] = ["y"], version: Int = 6
) -> Model {
  let opset = Opset.name(specificationVersion: version)
  let function = Function(
    inputs: inputs, opset: opset,
    specializations: [opset: Block(outputs: outputs, operations: operations)])
  return Model(
    specificationVersion: version, description: nil,
    kind: .program(Program(functions: ["main": function])))
}

/// An operation with one result `name`.
func operation(
  _ type: String, _ name: String, _ result: ValueType, inputs: NamedList<Argument> = [:],
  attributes: NamedList<Value> = [:], blocks: [Block] = []
) -> GraphOperation {
  var attributes = attributes
  attributes["name"] = .string(name)
  return GraphOperation(
    type: type, inputs: inputs, outputs: [NamedValueType(name, result)], blocks: blocks,
    attributes: attributes)
}
