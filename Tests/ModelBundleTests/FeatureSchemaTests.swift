import ModelGraph
import Testing

@testable import ModelBundle

@Suite struct FeatureSchemaTests {
  private func schema(_ kind: FeatureType.Kind, isOptional: Bool = false) -> FeatureSchema {
    var type = FeatureType(kind)
    type.isOptional = isOptional
    return FeatureSchema(FeatureDescription(name: "f", type: type))
  }

  @Test func arrays() {
    let fixed = schema(.multiArray(ArrayType(shape: [1, 10], dataType: .float16)))
    #expect(fixed.formattedType == "MultiArray (Float16 1 × 10)")
    #expect(fixed.shape == "[1, 10]" && fixed.hasShapeFlexibility == "0")
    #expect(fixed.isOptional == "0" && fixed.shapeRange == nil)
    let bare = schema(.multiArray(ArrayType(shape: [], dataType: .float64)), isOptional: true)
    #expect(bare.formattedType == "MultiArray (Double)")
    #expect(bare.shape == "[]" && bare.isOptional == "1")
  }

  @Test func flexibleArrays() {
    var range = ArrayType(shape: [1, 4], dataType: .float32)
    range.flexibility = .range([
      SizeRange(lowerBound: 1, upperBound: 4), SizeRange(lowerBound: 4, upperBound: 4),
      SizeRange(lowerBound: 2, upperBound: -1),
    ])
    let ranged = schema(.multiArray(range))
    #expect(ranged.hasShapeFlexibility == "1")
    #expect(ranged.shapeRange == "[[1, 4], [4, 4], [2, -1]]")
    #expect(ranged.shapeFlexibility == "1...4 × 4 × 2...")
    var listed = ArrayType(shape: [1], dataType: .int32)
    listed.flexibility = .enumerated([.init(sizes: [1]), .init(sizes: [2]), .init(sizes: [4])])
    let enumerated = schema(.multiArray(listed))
    #expect(enumerated.enumeratedShapes == "[[1], [2], [4]]")
    #expect(enumerated.shapeFlexibility == "1 | 2 | 4")
  }

  @Test func images() {
    let color = schema(
      .image(ImageType(width: 600, height: 375, colorSpace: .init(rawValue: 20))))
    #expect(color.formattedType == "Image (Color 600 × 375)")
    #expect(color.colorspace == "RGB" && color.isColor == "1" && color.width == "600")
    var gray = ImageType(width: 28, height: 28, colorSpace: .init(rawValue: 10))
    gray.flexibility = .range(width: SizeRange(lowerBound: 28, upperBound: -1), height: nil)
    let ranged = schema(.image(gray))
    #expect(ranged.isColor == "0" && ranged.hasSizeFlexibility == "1")
    #expect(ranged.sizeRange == "[[28, -1], [28, 28]]")
    #expect(ranged.dataType == nil && ranged.shape == nil)
  }

  @Test func otherTypes() {
    #expect(schema(.dictionary(.string)).formattedType == "Dictionary (String → Double)")
    #expect(schema(.dictionary(.int64)).keyType == "Int64")
    #expect(schema(.sequence(.string, size: nil)).formattedType == "Sequence (String)")
    #expect(schema(.int64).type == "Int64" && schema(.string).type == "String")
    let state = schema(.state(ArrayType(shape: [1, 2], dataType: .float16)))
    #expect(state.type == "State" && state.formattedType == "State (Float16 1 × 2)")
  }

  @Test(arguments: [
    ("reduce_argmax", "CoreML6", "Ios16.reduceArgmax"),
    ("slice_by_index", "CoreML6", "SliceByIndex"),
    ("slice_by_index", "CoreML7", "Ios17.sliceByIndex"),
    ("select", "CoreML8", "Select"), ("reduce_mean", "CoreML8", "Ios16.reduceMean"),
    ("mul", "CoreML6", "Ios16.mul"), ("mul", "CoreML5", "Mul"),
    ("softmax", "CoreML7", "Ios16.softmax"), ("softmax", "CoreML8", "Ios18.softmax"),
    ("constexpr_affine_dequantize", "CoreML7", "Ios16.constexprAffineDequantize"),
  ]) func operationNames(_ type: String, _ opset: String, _ expected: String) {
    let (name, isObserved) = OperationNames.name(of: type, opset: opset)
    #expect(name == expected && isObserved)
    #expect(!OperationNames.name(of: "unheard_of", opset: opset).isObserved)
  }
}
