import Foundation
import ModelGraph
import ModelTensors

/// Short forms for small hand-built programs.
enum Build {
  /// A program of one function `main`.
  static func program(
    _ version: Int, _ inputs: [NamedValueType] = [x()], _ operations: [GraphOperation],
    outputs: [String] = ["y"]
  ) -> Program {
    let opset = Opset.name(specificationVersion: version)
    return Program(functions: [
      "main": Function(
        inputs: inputs, opset: opset,
        specializations: [opset: Block(outputs: outputs, operations: operations)])
    ])
  }

  /// A tensor input.
  static func x(
    _ name: String = "x", _ type: ElementType = .float32, _ shape: [Int] = [2, 3]
  ) -> NamedValueType {
    NamedValueType(name, .tensor(type, shape))
  }

  /// A tensor type; −1 stands for an unknown size.
  static func tensor(_ type: ElementType, _ shape: [Int]) -> ValueType {
    ValueType(
      .tensor(
        TensorType(
          dataType: DataType(type), rank: Int64(shape.count),
          dimensions: shape.map {
            Dimension($0 < 0 ? .unknown(variadic: false) : .constant(UInt64($0)))
          })))
  }

  /// An operation with one output, `y` unless named.
  static func operation(
    _ type: String, _ inputs: NamedList<Argument> = ["x": .name("x")], _ output: String = "y",
    _ outputType: ValueType = .tensor(.float32, [2, 3])
  ) -> GraphOperation {
    GraphOperation(
      type: type, inputs: inputs, outputs: [NamedValueType(output, outputType)],
      attributes: ["name": .string(output)])
  }

  /// A constexpr operation with its parameters as attributes.
  static func constexpr(
    _ type: String, _ attributes: NamedList<Value>, _ outputType: ValueType
  ) -> GraphOperation {
    var operation = GraphOperation(type: type, outputs: [NamedValueType("w", outputType)])
    operation.attributes = attributes
    operation.attributes["name"] = .string("w")
    return operation
  }
}

extension Program {
  /// The operations of `main`.
  var operations: [GraphOperation] { functions["main"]?.activeBlock?.operations ?? [] }

  /// The first operation of a type.
  func first(_ type: String) -> GraphOperation? { operations.first { $0.type == type } }

  /// The value of a `const` operation.
  func constant(_ name: String?) -> Value? {
    operations.first { $0.isConst && $0.name == name }?.attributes["val"]
  }
}

/// Data that stands beside the package and may be absent.
enum SharedData {
  static let root: String = {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return ProcessInfo.processInfo.environment["MLT_SHARED"]
      ?? package.deletingLastPathComponent().appendingPathComponent("shared").path
  }()

  static func path(_ name: String) -> String { "\(root)/\(name)" }

  static func isPresent(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: path(name))
  }
}
