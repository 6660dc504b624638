import ModelGraph
import ModelTensors
import TestSupport
import Testing

/// Numbers in every spelling, texts written by hand, and texts that are none.
@Suite struct MILParserTests {
  private func parse(_ value: String) throws -> TensorLiteral? {
    let text = "program(1.3){func main<ios18>(){ int32 c = const()[val = \(value)]; } -> ();}"
    return try MILParser().parse(text).program.functions["main"]?.activeBlock?.operations.first?
      .attributes["val"]?.literal
  }

  private func error(_ text: String) -> MILTextError? {
    do {
      _ = try MILParser().parse(text)
      return nil
    } catch {
      return error
    }
  }

  @Test func everyHalfSurvives() throws {
    let patterns = (0...UInt16.max).map { $0 }
    let bytes = patterns.withUnsafeBytes { Array($0) }
    let value = Value(.float16, [256, 256], .bytes(bytes))
    let program = MILText.program([.const("c", value)])
    let text = try MILPrinter(specificationVersion: 9).bytes(of: program).text
    let again = try MILParser().parse(text).program
    let literal = again.functions["main"]?.activeBlock?.operations.first?.attributes["val"]?.literal
    #expect(literal == .bytes(bytes))
  }

  @Test func everySmallFloatSurvives() throws {
    let bytes = (0...UInt8.max).map { $0 }
    for type in [ElementType.float8E4M3FN, .float8E5M2] {
      let program = MILText.program([.const("c", Value(type, [256], .bytes(bytes)))])
      let text = try MILPrinter(specificationVersion: 9).bytes(of: program).text
      #expect(try MILParser().parse(text).program == program)
    }
  }

  @Test func singlesAndDoublesSurvive() throws {
    var numbers = RandomNumbers(seed: 4)
    let singles = (0..<20_000).map { _ in
      Float(bitPattern: UInt32(truncatingIfNeeded: numbers.next()))
    }
    let doubles = (0..<20_000).map { _ in Double(bitPattern: numbers.next()) }
    let small = (0..<100).map { Double(bitPattern: 1 << UInt64($0 % 52)) }
    for value in [
      Value(.float32, [singles.count], .floats(singles)),
      Value(.float64, [doubles.count], .doubles(doubles)),
      Value(.float64, [small.count], .doubles(small)),
    ] {
      let program = MILText.program([.const("c", value)])
      let text = try MILPrinter(specificationVersion: 9).bytes(of: program).text
      let found = try MILParser().parse(text).program.functions["main"]?.activeBlock?
        .operations.first?.attributes["val"]?.literal
      #expect(try #require(found).isIdentical(to: #require(value.literal)))
    }
  }

  @Test func spellingsOfNumbers() throws {
    let halves: [(String, UInt16)] = [
      ("0.5", 0x3800), ("-1", 0xBC00), ("1e3", 0x63D0), ("0x.8p1", 0x3C00), ("0X1P+0", 0x3C00),
      ("0x3", 0x4200), ("65504", 0x7BFF), ("65519.9", 0x7BFF), ("1e-9", 0), ("-0.0", 0x8000),
      ("0x1.002p0", 0x3C00), ("0x1.0020000000000000000000001p0", 0x3C01), ("0x1.006p0", 0x3C02),
      ("0x1p-25", 0), ("0x1.8p-25", 1), ("-inf", 0xFC00), ("+infinity", 0x7C00), ("nan", 0x7E00),
      ("0x0.0000000000000000000000001p100", 0x3C00), ("0x1p-99999999999999999999", 0),
    ]
    for (text, bits) in halves {
      #expect(
        try parse("fp16(\(text))") == .bytes([UInt8(bits & 255), UInt8(bits >> 8)]), "\(text)")
    }
    #expect(try parse("fp32(16777217)") == .floats([16_777_216]))
    #expect(try parse("fp32(0x1.000001p0)") == .floats([1]))
    #expect(try parse("fp32(0x1.000003p0)") == .floats([1 + 0x1p-22]))
    #expect(try parse("fp64(4.9e-324)") == .doubles([.leastNonzeroMagnitude]))
    #expect(try parse("uint64(18446744073709551615)") == .longInts([-1]))
    #expect(try parse("tensor<int64, []>(-9223372036854775808)") == .longInts([.min]))
    let wrong = [
      "fp16(65520)", "fp16(1e999)", "fp32(0x1p128)", "fp32(0x1p99999999999999999999)", "fp16()",
      "fp16(0x)", "fp16(0x1p)", "fp16(1.2.3)", "fp16(1x)", "fp16(nan(0x1))", "fp16(nan(0xFFFFF))",
      "fp8e4m3fn(inf)", "fp8e4m3fn(480)", "int8(128)", "int8(-129)", "uint8(-1)", "int4(8)",
      "uint1(2)", "uint3(8)", "int32(2147483648)", "int64(9223372036854775808)", "uint64(-1)",
      "uint64(18446744073709551616)", "int32(1.0)", "int32(1e3)", "int32(true)", "bool(1)",
      "bool(truer)", "string(a)", "string(\"a)", "string(\"\\q\")", "string(\"\\xfg\")",
      "string(\"\\xff\")", "fp16(\(String(repeating: "9", count: 2000)))",
      "tensor<int32, [99999999999999999999]>([])", "tensor<int32, [9223372036854775808]>([])",
      "tensor<fp16, [4611686018427387904, 4]>(BLOBFILE(path = string(\"a\"), offset = uint64(0)))",
      "tensor<fp16, [1]>(BLOBFILE(path = string(\"a\")))",
      "tensor<string, [1]>(BLOBFILE(path = string(\"a\"), offset = uint64(0)))",
      "tensor<fp16, [?]>(BLOBFILE(path = string(\"a\"), offset = uint64(0)))",
      "tensor<fp16, [1]>(BLOBFILE(path = string(\"a\"), offset = int64(-1)))",
      "tensor<int32, [2]>([1])", "tensor<int32, [2]>([1, 2, 3])", "tensor<int32, [2]>(1)",
      "tensor<int32, [?, ?]>([[1], [2, 3]])", "tensor<int32, ?>(1)", "tensor<int32, [...]>([1])",
      "tuple<int32>((1, 2))", "tuple<int32, int32>((1))", "dict<int32, int32>({{1}})",
      "state<int32>(1)", "float(1)", "tensor<tensor<int32, []>, []>(1)",
    ]
    for text in wrong { #expect(throws: MILTextError.self, "\(text)") { try parse(text) } }
  }

  @Test func openShapesAreNotLost() throws {
    func type(_ value: String) throws -> ValueType? {
      let text = "program(1.3)[a = \(value)]{}"
      let program = try MILParser().parse(text).program
      let again = try MILPrinter(specificationVersion: 9).bytes(of: program).text
      #expect(try MILParser().parse(again).program == program)
      return program.attributes["a"]?.type
    }
    #expect(try type("tensor<int32, [?, 2]>([[1, 2]])")?.tensor?.shape == nil)
    #expect(try type("tensor<int32, [?, ?]>([[1, 2]])") == .tensor(.int32, [1, 2]))
    #expect(try type("tensor<uint4, [?]>([1, 2, 3])") == .tensor(.uint4, [3]))
    #expect(try type("tensor<int32, [?, 0]>([[], []])") == .tensor(.int32, [2, 0]))
    #expect(try type("tensor<int32, [?, ?]>([])") == .tensor(.int32, [0, 0]))
  }

  @Test func handWrittenText() throws {
    let text = """
      // a comment
      program ( 1.0 ) /* another
      one */ [ buildInfo=dict<string,tensor<string,[]>>({{"a","b"}}) ]
      { func main < ios26 > ( tensor<fp16,[1,4]>x,state<tensor<fp16,[4]>>kv )
        [A=int32(1),B=tuple<int32,list<bool,?>>((1,[true]))]
        {
      \tint32 tensor=const()[name=string("tensor"),val=tensor<int32,[]>(+3)];\r
          tensor<fp16,[2]>a,tensor<fp16,[2]>b=split(x=x,axis=tensor,sizes=(tensor,int32(4)));
          write_state(input=kv,data=a);// no outputs
        } ->(a,b)
      }

      """
    let document = try MILParser().parse(text)
    #expect(document.version == MILVersion(major: 1, minor: 0))
    #expect(document.endsWithNewline)
    let function = try #require(document.program.functions["main"])
    #expect(function.opset == "CoreML9")
    #expect(function.inputs.map(\.name) == ["x", "kv"])
    let block = try #require(function.activeBlock)
    #expect(block.operations.map(\.type) == ["const", "split", "write_state"])
    #expect(block.operations[1].inputs["sizes"]?.bindings.first?.name == "tensor")
    #expect(block.operations[1].inputs["sizes"]?.bindings.last?.value == .int32(4))
    #expect(block.outputs == ["a", "b"])
    #expect(document.program.attributes["buildInfo"]?.type?.kind != nil)
    #expect(function.attributes["A"] == .int32(1))
  }

  @Test func weightsComeFromTheResolver() throws {
    struct Missing: Error {}
    let text = """
      program(1.3)
      {
          func main<ios18>() {
                  tensor<fp16, [2]> w = const()[val = tensor<fp16, [2]>(BLOBFILE(path = string("f"), offset = uint64(64)))];
              } -> (w);
      }
      """
    let parser = MILParser { reference, type, shape in
      #expect(reference == BlobReference(fileName: "f", offset: 64))
      return try MemoryTensor(elementType: type, shape: shape, bytes: [1, 2, 3, 4])
    }
    let block = try parser.parse(text).program.functions["main"]?.activeBlock
    let weight = try #require(block?.operations.first?.attributes["val"]?.weight)
    #expect(try weight.source.bytes() == [1, 2, 3, 4])
    do {
      _ = try MILParser { _, _, _ in throw Missing() }.parse(text)
      Issue.record("no error")
    } catch {
      #expect(error.position == .init(line: 4, column: 67))
      #expect(error.underlying is Missing)
    }
  }

  @Test func errorsHavePlaces() {
    let cases: [(String, Int, Int)] = [
      ("", 1, 1), ("program(2.0)", 1, 9), ("program(1.3)\n{\n  fun", 3, 3),
      ("program(1.3) {} x", 1, 17), ("program(1.3) [a = int32(1), a = int32(2)] {}", 1, 29),
      ("program(1.3)\n{ func f<ios18>() {\n  int33 x = const();", 3, 3),
      ("program(1.3)\n{ func f<ios18>() {} -> ();\n func f<ios18>() {} -> (); }", 3, 7),
      ("program(1.3)\n{ func f<ios18>() {\n  y(x = a, x = b); } -> (); }", 3, 12),
      ("program(1.3)\n /* open", 2, 2), ("program(1.3) [a = string(\"open)] {}", 1, 26),
    ]
    for (text, line, column) in cases {
      #expect(error(text)?.position == .init(line: line, column: column), "\(text)")
    }
  }

  @Test func textCutAnywhereIsAnError() throws {
    let inner = Block(outputs: ["q"], operations: [.const("q", .string("a\n\u{1}"))])
    let program = MILText.program(
      [
        .const("c", Value(.float16, [2, 2], .bytes([0, 60, 0, 188, 1, 0, 0, 126]))),
        .const(
          "w",
          .weight(
            Weight(
              reference: BlobReference(fileName: Make.weightFile, offset: 64),
              source: AbsentTensor(elementType: .uint4, shape: [3])))),
        Make.operation("cond", ["pred": "c"], Make.tensor("r", [1]), blocks: [inner, inner]),
      ], inputs: [Make.tensor("x", [1])], outputs: ["r"])
    let text = try MILPrinter(specificationVersion: 8, buildInfo: ["a": "b"]).bytes(of: program)
      .text
    for length in 0..<text.count {
      #expect(throws: MILTextError.self) { try MILParser().parse(Array(text[..<length])) }
    }
    // A changed byte may give another text, never a crash.
    for index in text.indices {
      for byte: UInt8 in [0, 0x22, 0x28, 0x3C, 0x5B, 0x7B, 0xFF] {
        var changed = text
        changed[index] = byte
        _ = try? MILParser().parse(changed)
      }
    }
  }

  @Test func depthIsBounded() {
    func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
    let count = 200_000
    let texts = [
      "[a = \(many("list<", count))",
      "[a = \(many("list<", 60))int32\(many(">", 60))(\(many("[", 60))\(many("]", 60)))]",
      "{ func f<ios18>() { \(many("y() { block() {", count))",
      "[a = tensor<int32, [\(many("1, ", count))1]>(\(many("[", count))",
    ]
    #expect(error("program(1.3)" + texts[0])?.message == "nested deeper than 100")
    #expect(error("program(1.3)" + texts[1] + "{}") == nil)
    #expect(error("program(1.3)" + texts[2])?.message == "nested deeper than 100")
    #expect(error("program(1.3)" + texts[3])?.message == "a constant of rank 200001")
  }

  @Test func longTextsTakeLinearTime() throws {
    let clock = ContinuousClock()
    let many = 100_000
    let arguments = (0..<many).map { "a\($0) = b" }.joined(separator: ", ")
    let comments = String(repeating: "/**/", count: many)
    let text = """
      program(1.3) { func f<ios18>() { y(\(arguments)); \(comments)
      int32 z = const()[val = string("\(String(repeating: "\\\\", count: many))")];
      \(String(repeating: "y();\n", count: many))
      } -> (); }
      """
    let time = try clock.measure { _ = try MILParser().parse(text) }
    #expect(time < .seconds(20))
  }
}
