import ModelGraph
import ModelTensors
import TestSupport
import Testing

/// Every kind of value and type, as it is written and read again.
@Suite struct MILPrinterTests {
  /// The text of a constant's value, read again as the same value.
  private func text(_ value: Value, version: Int = 9) throws -> String {
    let program = MILText.program([.const("c", value)], version: version)
    let printer = MILPrinter(specificationVersion: version)
    let text = try printer.text(of: program)
    let document = try MILParser().parse(text)
    #expect(try MILPrinter(document: document).text(of: document.program) == text)
    let start = try #require(text.range(of: ", val = "))
    let end = try #require(text.range(of: "];\n        } ->"))
    return String(text[start.upperBound..<end.lowerBound])
  }

  @Test func layoutOfAProgram() throws {
    let program = MILText.program(
      [
        .const("k", .int32(3)),
        Make.operation("add", ["y": "k", "x": "x"], Make.tensor("z", [1, 2], .float16)),
      ], version: 9, inputs: [Make.tensor("x", [1, 2])], outputs: ["z"])
    var printer = MILPrinter(
      specificationVersion: 9, buildInfo: ["coremlc-version": "1", "coremlc-component-MIL": "2"])
    let expected = """
      program(1.3)
      [buildInfo = dict<string, string>({{"coremlc-component-MIL", "2"}, {"coremlc-version", "1"}})]
      {
          func main<ios18>(tensor<fp16, [1, 2]> x) {
                  int32 k = const()[name = string("k"), val = int32(3)];
                  tensor<fp16, [1, 2]> z = add(x = x, y = k)[name = string("z")];
              } -> (z);
      }
      """
    #expect(try printer.text(of: program) == expected)
    #expect(try printer.bytes(of: program).report == MILPrinter.Report())
    printer.endsWithNewline = true
    #expect(try printer.text(of: program) == expected + "\n")
    #expect(try MILParser().parse(expected + "\n").endsWithNewline)
    #expect(try !MILParser().parse(expected).endsWithNewline)
  }

  @Test func headerAndOpsetByVersion() throws {
    let expected = [
      6: "program(1.0) ios15", 7: "program(1.0) ios16", 8: "program(1.0) ios17",
      9: "program(1.3) ios18", 10: "program(1.3) ios19",
    ]
    for (version, text) in expected {
      let program = MILText.program([], version: version)
      let (bytes, report) = try MILPrinter(specificationVersion: version).bytes(of: program)
      let parts = text.split(separator: " ")
      #expect(
        String(decoding: bytes, as: UTF8.self)
          == "\(parts[0])\n{\n    func main<\(parts[1])>() {\n        } -> ();\n}")
      #expect(report.unproved.count == [6: 2, 10: 2][version, default: 0])
      #expect(try MILParser().parse(bytes).program == program)
    }
    // The header follows the model, the opset the function.
    let older = try MILPrinter(specificationVersion: 9).text(of: MILText.program([], version: 8))
    #expect(older.hasPrefix("program(1.3)\n{\n    func main<ios17>"))
  }

  @Test func buildInfoIsMerged() throws {
    var program = MILText.program([])
    program.attributes = ["z": .int32(1), "a": .int32(2)]
    var printer = MILPrinter(specificationVersion: 8, buildInfo: ["b": "1", "a": "2"])
    let first = try MILParser().parse(printer.text(of: program)).program
    printer.buildInfo = ["b": "3", "c": "\""]
    let second = try printer.text(of: first)
    #expect(
      second.split(separator: "\n")[1]
        == "[a = tensor<int32, []>(2), buildInfo = dict<tensor<string, []>, tensor<string, []>>("
        + ##"{{"a", "2"}, {"b", "3"}, {"c", "\""}}), z = tensor<int32, []>(1)]"##)
    program.attributes = ["buildInfo": .int32(1)]
    #expect(throws: MILTextError.self) { try printer.text(of: program) }
    printer.buildInfo = [:]
    #expect(try printer.text(of: program).contains("[buildInfo = tensor<int32, []>(1)]"))
  }

  @Test func inputsAreSorted() throws {
    let inputs = [Make.tensor("h", [1]), Make.tensor("c", [2]), Make.tensor("B", [3])]
    let program = MILText.program([], inputs: inputs)
    var printer = MILPrinter(specificationVersion: 9)
    let sorted = "func main<ios18>(tensor<fp16, [3]> B, tensor<fp16, [2]> c, tensor<fp16, [1]> h) {"
    #expect(try printer.text(of: program).contains(sorted))
    printer.sortsInputs = false
    let text = try printer.text(of: program)
    #expect(!text.contains(sorted))
    let document = try MILParser().parse(text)
    #expect(try MILPrinter(document: document).text(of: document.program) == text)
  }

  @Test func functionsAreSorted() throws {
    var program = MILText.program([])
    program.functions["b"] = program.functions["main"]
    program.functions["a\"c"] = program.functions["main"]
    let (bytes, report) = try MILPrinter(specificationVersion: 9).bytes(of: program)
    let again = try MILParser().parse(bytes).program
    #expect(again.functions.keys == ["a\"c", "b", "main"])
    #expect(report.unproved.contains("names that are no identifiers"))
  }

  @Test func scalarsByVersion() throws {
    #expect(try text(.int32(-7)) == "int32(-7)")
    #expect(try text(.int32(-7), version: 8) == "tensor<int32, []>(-7)")
    #expect(try text(.bool(true)) == "bool(true)")
    #expect(try text(.string("same"), version: 7) == #"tensor<string, []>("same")"#)
    #expect(try text(Value(.float32, [], .floats([0.5]))) == "fp32(0x1p-1)")
  }

  @Test func everyElementType() throws {
    let cases: [(Value, String)] = [
      (Value(.float16, [2], .bytes([0, 0x3C, 1, 0x80])), "tensor<fp16, [2]>([0x1p+0, -0x1p-24])"),
      (
        Value(
          .float32, [4], .floats([1.5, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude])),
        "tensor<fp32, [4]>([0x1.8p+0, -0x0p+0, 0x1p-149, 0x1.fffffep+127])"
      ),
      (
        Value(.float64, [2], .doubles([0.1, .leastNonzeroMagnitude])),
        "tensor<fp64, [2]>([0x1.999999999999ap-4, 0x1p-1074])"
      ),
      (
        Value(.float32, [3], .floats([.infinity, -.infinity, .nan])),
        "tensor<fp32, [3]>([inf, -inf, nan])"
      ),
      (Value(.float32, [], .floats([Float(bitPattern: 0xFF80_0001)])), "fp32(-nan(0x7f800001))"),
      (Value(.bfloat16, [1], .bytes([0x80, 0x3F])), "tensor<bf16, [1]>([0x1p+0])"),
      (
        Value(.float8E4M3FN, [3], .bytes([0x7E, 0x7F, 0x01])),
        "tensor<fp8e4m3fn, [3]>([0x1.cp+8, nan, 0x1p-9])"
      ),
      (
        Value(.float8E5M2, [3], .bytes([0x7C, 0x7B, 0x81])),
        "tensor<fp8e5m2, [3]>([inf, 0x1.cp+15, -0x1p-16])"
      ),
      (Value(.int8, [2], .bytes([0x80, 0x7F])), "tensor<int8, [2]>([-128, 127])"),
      (Value(.uint8, [2], .bytes([0x80, 0xFF])), "tensor<uint8, [2]>([128, 255])"),
      (Value(.int16, [2], .ints([-32768, 32767])), "tensor<int16, [2]>([-32768, 32767])"),
      (Value(.uint16, [1], .ints([65535])), "tensor<uint16, [1]>([65535])"),
      (Value(.int32, [1], .ints([.min])), "tensor<int32, [1]>([-2147483648])"),
      (Value(.uint32, [1], .bytes([255, 255, 255, 255])), "tensor<uint32, [1]>([4294967295])"),
      (Value(.int64, [1], .longInts([.min])), "tensor<int64, [1]>([-9223372036854775808])"),
      (Value(.uint64, [1], .longInts([-1])), "tensor<uint64, [1]>([18446744073709551615])"),
      (Value(.int4, [3], .bytes([0x78, 0x0F])), "tensor<int4, [3]>([-8, 7, -1])"),
      (Value(.uint4, [3], .bytes([0xF0, 0x01])), "tensor<uint4, [3]>([0, 15, 1])"),
      (Value(.uint1, [9], .bytes([0b101, 1])), "tensor<uint1, [9]>([1, 0, 1, 0, 0, 0, 0, 0, 1])"),
      (Value(.uint2, [4], .bytes([0b11_10_01_00])), "tensor<uint2, [4]>([0, 1, 2, 3])"),
      (Value(.uint3, [3], .bytes([0b10_001_111, 1])), "tensor<uint3, [3]>([7, 1, 6])"),
      (Value(.uint6, [2], .bytes([0xFF, 0x0F])), "tensor<uint6, [2]>([63, 63])"),
      (Value(.bool, [2], .bools([true, false])), "tensor<bool, [2]>([true, false])"),
    ]
    for (value, expected) in cases { #expect(try text(value) == expected) }
    #expect(
      Set(cases.compactMap { $0.0.type?.tensor?.elementType }).count == ElementType.allCases.count
        - 1)
  }

  @Test func nestedAndEmptyTensors() throws {
    #expect(
      try text(Value(.int32, [2, 1, 2], .ints([1, 2, 3, 4])))
        == "tensor<int32, [2, 1, 2]>([[[1, 2]], [[3, 4]]])")
    #expect(try text(Value(.float32, [0], .floats([]))) == "tensor<fp32, [0]>([])")
    #expect(try text(Value(.float32, [2, 0], .floats([]))) == "tensor<fp32, [2, 0]>([[], []])")
    #expect(try text(Value(.string, [0, 9], .strings([]))) == "tensor<string, [0, 9]>([])")
    let open = ValueType(
      .tensor(
        TensorType(
          dataType: DataType(.int32), rank: 2,
          dimensions: [Dimension(.unknown(variadic: false)), Dimension(.constant(2))])))
    let value = Value(
      type: open, content: .immediate(ImmediateValue(.tensor(.ints([1, 2, 3, 4])))))
    #expect(try text(value) == "tensor<int32, [?, 2]>([[1, 2], [3, 4]])")
  }

  @Test func aggregates() throws {
    let list = Value(
      type: ValueType(.list(element: .tensor(.int32, [2]), length: Dimension(.constant(2)))),
      content: .immediate(ImmediateValue(.list([.int32s([1, 2]), .int32s([3, 4])]))))
    #expect(try text(list) == "list<tensor<int32, [2]>, 2>([[1, 2], [3, 4]])")
    let tuple = Value(
      type: ValueType(.tuple([.tensor(.string), list.type ?? ValueType(.absent)])),
      content: .immediate(ImmediateValue(.tuple([.string("a"), list]))))
    #expect(
      try text(tuple)
        == #"tuple<string, list<tensor<int32, [2]>, 2>>(("a", [[1, 2], [3, 4]]))"#)
    let dictionary = Value(
      type: ValueType(.dictionary(key: .tensor(.int64), value: .tensor(.string))),
      content: .immediate(
        ImmediateValue(
          .dictionary([.init(key: Value(.int64, [], .longInts([5])), value: .string("five"))]))))
    #expect(try text(dictionary) == #"dict<int64, string>({{5, "five"}})"#)
    let noLength = Value(
      type: ValueType(.list(element: .tensor(.bool), length: nil)),
      content: .immediate(ImmediateValue(.list([]))))
    #expect(try text(noLength) == "list<bool>([])")
    for value in [list, tuple, dictionary, noLength] {
      let program = MILText.program([.const("c", value)])
      let (bytes, report) = try MILPrinter(specificationVersion: 9).bytes(of: program)
      #expect(try MILParser().parse(bytes).program == program)
      #expect(report.unproved == ["list, tuple and dictionary constants"])
    }
  }

  @Test func weightsByVersion() throws {
    let weight = Value.weight(
      Weight(
        reference: BlobReference(fileName: Make.weightFile, offset: 64),
        source: AbsentTensor(elementType: .int4, shape: [2, 8])))
    #expect(
      try text(weight)
        == #"tensor<int4, [2, 8]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), "#
        + "offset = uint64(64)))")
    #expect(
      try text(weight, version: 8)
        == #"tensor<int4, [2, 8]>(BLOBFILE(path = tensor<string, []>("#
        + #""@model_path/weights/weight.bin"), offset = tensor<uint64, []>(64)))"#)
  }

  @Test func stringsSurvive() throws {
    let odd = "q\"b\\n\nr\rt\t0\u{0}\u{7F}é😀'/*//"
    #expect(
      try text(.string(odd)) == #"string("q\"b\\n\nr\rt\t0\x00\x7fé😀'/*//")"#)
    let program = MILText.program([.const("c", .string(odd))])
    let (bytes, report) = try MILPrinter(specificationVersion: 9).bytes(of: program)
    #expect(try MILParser().parse(bytes).program == program)
    #expect(report.unproved == ["escape sequences in strings"])
  }

  @Test func statesAndOtherOperations() throws {
    let state = ValueType(.state(.tensor(.float16, [4])))
    let write = GraphOperation(
      type: "write_state", inputs: ["input": .name("kv"), "data": .name("a")], outputs: [])
    let split = GraphOperation(
      type: "split",
      inputs: ["x": .name("a"), "axis": .value(.int32(0))],
      outputs: [Make.tensor("b", [2]), Make.tensor("c", [2])], attributes: ["name": .string("s")])
    let concat = GraphOperation(
      type: "concat",
      inputs: [
        "values": Argument([.init(.name("b")), .init(.name("c d")), .init(.value(.bool(true)))])
      ],
      outputs: [Make.tensor("d", [4])])
    let program = MILText.program(
      [write, split, concat], inputs: [NamedValueType("kv", state)], outputs: ["d", "b"])
    let (bytes, report) = try MILPrinter(specificationVersion: 9).bytes(of: program)
    #expect(
      String(decoding: bytes, as: UTF8.self) == """
        program(1.3)
        {
            func main<ios18>(state<tensor<fp16, [4]>> kv) {
                    write_state(data = a, input = kv);
                    tensor<fp16, [2]> b, tensor<fp16, [2]> c = split(axis = int32(0), x = a)[name = string("s")];
                    tensor<fp16, [4]> d = concat(values = (b, "c d", bool(true)));
                } -> (d, b);
        }
        """)
    #expect(report.unproved.count == 4)
    let again = try MILParser().parse(bytes).program
    #expect(again.functions["main"]?.activeBlock?.operations[2] == concat)
  }

  @Test func nestedBlocks() throws {
    let inner = Block(
      inputs: [Make.tensor("p", [1])], outputs: ["q"],
      operations: [Make.operation("relu", ["x": "p"], Make.tensor("q", [1]))],
      attributes: ["tag": .string("t")])
    let loop = Make.operation(
      "while_loop", ["loop_vars": "a"], Make.tensor("r", [1]),
      blocks: [inner, Block(outputs: ["p"], operations: [])])
    let program = MILText.program([loop], outputs: ["r"])
    let (bytes, report) = try MILPrinter(specificationVersion: 9).bytes(of: program)
    #expect(
      String(decoding: bytes, as: UTF8.self) == """
        program(1.3)
        {
            func main<ios18>() {
                    tensor<fp16, [1]> r = while_loop(loop_vars = a)[name = string("r")] {
                        block(tensor<fp16, [1]> p) [tag = string("t")] {
                                tensor<fp16, [1]> q = relu(x = p)[name = string("q")];
                            } -> (q);
                        block() {
                            } -> (p);
                    };
                } -> (r);
        }
        """)
    #expect(report.unproved == ["nested blocks"])
    #expect(try MILParser().parse(bytes).program == program)
  }

  @Test func whatTextCannotHoldIsListed() throws {
    var value = Value.int32(1)
    value.docString = "one"
    var program = MILText.program([.const("c", value), .const("d", Value(.int8, [1], .ints([3])))])
    program.functions["main"]?.specializations["CoreML7"] = Block(outputs: [], operations: [])
    program.unknownFields = UnknownFields([.init(number: 99, wireType: 0, bytes: [1])])
    let report = try MILPrinter(specificationVersion: 9).bytes(of: program).report
    #expect(
      report.dropped == [
        "doc strings", "fields that the schema does not name",
        "lists of elements other than the one that the type uses",
        "specializations other than the active one",
      ])
  }

  @Test func programsThatAreNoTextAreErrors() {
    let cases: [GraphOperation] = [
      .const("c", Value(.int32, [3], .ints([1]))), .const("c", Value(.float16, [1], .bytes([1]))),
      .const("c", Value(.int32, [1], .floats([1]))),
      .const("c", Value(.int16, [1], .ints([99999]))),
      .const("c", Value(type: nil, content: .absent)),
      .const("c", Value(.float32, [1 << 40, 0], .floats([]))),
      GraphOperation(type: "relu", outputs: [NamedValueType("y", nil)]),
      GraphOperation(type: "relu", inputs: ["x": Argument([.init(.absent)])], outputs: []),
    ]
    for operation in cases {
      #expect(throws: MILTextError.self) {
        try MILPrinter(specificationVersion: 9).bytes(of: MILText.program([operation]))
      }
    }
  }

  @Test func sinkErrorsPass() {
    struct Full: Error {}
    #expect(throws: Full.self) {
      try MILPrinter(specificationVersion: 9).print(MILText.program([])) { _ in throw Full() }
    }
  }
}

/// Programs for tests of MIL text.
enum MILText {
  static func program(
    _ operations: [GraphOperation], version: Int = 9, inputs: [NamedValueType] = [],
    outputs: [String] = []
  ) -> Program {
    Program(functions: ["main": Make.function(version, inputs, operations, outputs: outputs)])
  }
}
