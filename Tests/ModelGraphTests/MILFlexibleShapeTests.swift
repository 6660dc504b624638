import ModelGraph
import ModelTensors
import TestSupport
import Testing

/// The function attribute that says which shapes inputs may take.
@Suite struct MILFlexibleShapeTests {
  private func array(_ name: String, _ shape: [Int64], _ flexibility: ArrayType.Flexibility)
    -> FeatureDescription
  {
    var type = ArrayType(shape: shape, dataType: .float16)
    type.flexibility = flexibility
    return FeatureDescription(name: name, type: FeatureType(.multiArray(type)))
  }

  private func attribute(
    _ features: [FeatureDescription], _ inputs: [NamedValueType], version: Int = 9
  ) throws -> (text: String, report: MILPrinter.Report) {
    var description = ModelDescription()
    description.inputs = features
    let program = MILText.program([], version: version, inputs: inputs)
    let printer = MILPrinter(specificationVersion: version, description: description)
    let (bytes, report) = try printer.bytes(of: program)
    let document = try MILParser().parse(bytes)
    #expect(try MILPrinter(document: document).bytes(of: document.program).text == bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    guard let start = text.range(of: ") ["), let end = text.range(of: "] {\n        }") else {
      return ("", report)
    }
    return (String(text[start.upperBound..<end.lowerBound]), report)
  }

  @Test func ranges() throws {
    let ranges = [SizeRange(lowerBound: 1, upperBound: 4), .init(lowerBound: 4, upperBound: 4)]
    let (text, report) = try attribute(
      [array("in", [1, 4], .range(ranges)), array("fixed", [2], .fixed)],
      [Make.tensor("in", [1, 4]), Make.tensor("fixed", [2])])
    #expect(
      text
        == "FlexibleShapeInformation = tuple<tuple<string, dict<string, tensor<int32, [?]>>>, "
        + "tuple<string, dict<string, list<tensor<int32, [2]>, ?>>>>((("
        + #""DefaultShapes", {{"in", [1, 4]}}), ("RangeDims", {{"in", [[1, 4], [4, 4]]}})))"#)
    #expect(report == MILPrinter.Report())
    let unbounded = [SizeRange(lowerBound: 3, upperBound: -1)]
    let open = try attribute(
      [array("a", [], .range(unbounded))], [Make.tensor("a", [3])], version: 7)
    #expect(
      open.text
        == "FlexibleShapeInformation = tuple<tuple<tensor<string, []>, dict<tensor<string, []>, "
        + "tensor<int32, [?]>>>, tuple<tensor<string, []>, dict<tensor<string, []>, "
        + #"list<tensor<int32, [2]>, ?>>>>((("DefaultShapes", {{"a", [3]}}), "#
        + #"("RangeDims", {{"a", [[3, -1]]}})))"#)
    #expect(open.report.unproved == ["ranges without an upper bound"])
  }

  @Test func enumerations() throws {
    let shapes = [[1], [2], [4], [2]].map { ArrayType.EnumeratedShape(sizes: $0) }
    let (text, report) = try attribute(
      [array("input", [1], .enumerated(shapes))], [Make.tensor("input", [1])])
    #expect(
      text.hasPrefix(
        "FlexibleShapeInformation = tuple<tuple<string, dict<string, tensor<int32, [?]>>>, "
          + "tuple<string, dict<string, dict<string, tensor<int32, [?]>>>>>((("
          + #""DefaultShapes", {{"input", [1]}}), ("EnumeratedShapes", {{""#))
    let keys = text.split(separator: "\"").map { String($0) }.filter { part in
      part.count == 8 && part.allSatisfy(\.isHexDigit)
    }
    #expect(keys.count == 3 && keys == keys.sorted())
    #expect(report.unproved == ["the keys of enumerated shapes"])
  }

  @Test func images() throws {
    var image = ImageType(width: 8, height: 6, colorSpace: .init(rawValue: 20))
    image.flexibility = .range(
      width: SizeRange(lowerBound: 8, upperBound: 16), height: nil)
    let (text, report) = try attribute(
      [FeatureDescription(name: "im", type: FeatureType(.image(image)))],
      [Make.tensor("im", [1, 3, 6, 8])])
    #expect(text.hasSuffix(#"("RangeDims", {{"im", [[1, 1], [3, 3], [6, 6], [8, 16]]}})))"#))
    #expect(report.unproved == ["flexible image sizes"])
  }

  @Test func nothingFlexible() throws {
    let fixed = [SizeRange(lowerBound: 4, upperBound: 4)]
    let (text, report) = try attribute(
      [array("a", [4], .range(fixed)), array("gone", [4], .enumerated([.init(sizes: [4])]))],
      [Make.tensor("a", [4])])
    #expect(text.isEmpty)
    #expect(report.dropped == ["flexible shapes of inputs that the function does not have"])
  }
}
