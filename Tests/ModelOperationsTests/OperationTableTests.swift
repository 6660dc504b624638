import Foundation
import ModelGraph
import ModelTensors
import Testing

@testable import ModelOperations

@Suite struct OperationTableTests {
  @Test func versions() {
    #expect(OperationTable.introduced("conv") == 6)
    #expect(OperationTable.introduced("constexpr_cast") == 7)
    #expect(OperationTable.introduced("read_state") == 9)
    #expect(OperationTable.introduced("custom_layer") == nil)
    #expect(OperationTable.definition(of: "gather", version: 5) == nil)
    #expect(OperationTable.definition(of: "gather", version: 6)?.version == 6)
    #expect(OperationTable.definition(of: "gather", version: 10)?.version == 8)
    #expect(OperationTable.definition(of: "resize", version: 7) == nil)
    #expect(OperationTable.allTypes.count == 168)
    #expect(OperationTable.allTypes == OperationTable.allTypes.sorted())
  }

  @Test func inputs() throws {
    let conv = try #require(OperationTable.definition(of: "conv", version: 8))
    #expect(conv.inputs.map(\.name).prefix(3) == ["x", "weight", "bias"])
    let bias = try #require(conv.input("bias"))
    #expect(!bias.isRequired && !bias.isConst)
    #expect(bias.typeVariable == "U")
    #expect(bias.elementTypes == [.float16, .float32])
    #expect(OperationTable.definition(of: "conv", version: 7)?.input("bias")?.isConst == true)
    #expect(conv.input("strides")?.elementTypes == [.int32])
    #expect(OperationTable.definition(of: "cond", version: 6)?.blockCount == 2)
    #expect(OperationTable.definition(of: "concat", version: 6)?.input("values")?.kind == .tuple)
    #expect(OperationTable.definition(of: "const", version: 6)?.input("val")?.kind == .attribute)
    #expect(
      OperationTable.definition(of: "read_state", version: 9)?.input("input")?.kind == .state)
  }

  @Test func float16() {
    func accepts(_ type: String, _ version: Int, _ input: String) -> Bool {
      OperationTable.acceptsFloat16(operation: type, version: version, input: input)
    }
    #expect(accepts("conv", 6, "weight"))
    #expect(!accepts("lstm", 7, "weight_ih"))
    #expect(accepts("lstm", 8, "weight_ih"))
    #expect(!accepts("classify", 9, "probabilities"))
    #expect(!accepts("resample", 6, "coordinates"))
    #expect(accepts("concat", 6, "values"))
    #expect(!accepts("conv", 6, "nothing"))
    #expect(!accepts("unknown", 6, "x"))
  }

  @Test func typeVariables() {
    func variable(_ version: Int, _ input: String) -> String? {
      OperationTable.typeVariable(operation: "linear", version: version, input: input)
    }
    #expect(variable(7, "x") == "T")
    #expect(variable(7, "weight") == "T")
    #expect(variable(8, "weight") == "U")
    #expect(
      OperationTable.typeVariable(operation: "gather", version: 8, input: "indices") == "I")
    #expect(OperationTable.typeVariable(operation: "gather", version: 8, input: "axis") == nil)
  }

  @Test(
    .enabled(
      if: SharedData.isPresent("facts/mil-ops.tsv"), "the table of facts is not beside the package")
  )
  func agreesWithTheFacts() throws {
    let text = try String(contentsOfFile: SharedData.path("facts/mil-ops.tsv"), encoding: .utf8)
    var expected: [String: [OperationDefinition]] = [:]
    for line in text.split(separator: "\n").dropFirst() {
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      let version = try #require(Int(fields[1]))
      let domain = fields[6].split(separator: ":")
      let kind: OperationDefinition.Kind =
        switch fields[3] {
        case "tuple": .tuple
        case "list": .list
        case "state": .state
        case "tensor": .tensor
        case "listortensorordict": .any
        case let text where text.hasPrefix("attribute"): .attribute
        default: .block
        }
      let input = OperationDefinition.Input(
        name: fields[2], kind: kind, isRequired: fields[4] == "required",
        isConst: fields[5] == "const", typeVariable: domain.count == 2 ? String(domain[0]) : nil,
        elementTypes: (domain.last ?? "").split(separator: ",").compactMap {
          ElementType(rawValue: String($0))
        })
      var definitions = expected[fields[0]] ?? []
      if definitions.last?.version != version {
        definitions.append(
          OperationDefinition(type: fields[0], version: version, inputs: []))
      }
      definitions[definitions.count - 1].inputs.append(input)
      expected[fields[0]] = definitions
    }
    #expect(
      Set(OperationTable.allTypes)
        == Set(expected.keys).union(OperationTable.undeclaredTypes))
    for (type, definitions) in expected {
      #expect(OperationTable.definitions(of: type) == definitions, "\(type)")
    }
  }
}
