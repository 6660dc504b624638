import ModelGraph
import Testing

@testable import ModelInspection

@Suite struct FeatureTests {
  private func fact(_ kind: FeatureType.Kind, optional: Bool = false) throws -> FeatureFact {
    var type = FeatureType(kind)
    type.isOptional = optional
    var description = ModelDescription()
    description.inputs = [FeatureDescription(name: "f", type: type)]
    let facts = try report(Model(specificationVersion: 1, description: description, kind: .absent))
    return try #require(facts.functions.first?.inputs.first)
  }

  @Test func arrays() throws {
    var array = ArrayType(shape: [1, 3], dataType: .float32)
    let fixed = try fact(.multiArray(array), optional: true)
    #expect(fixed.kind == .array)
    #expect(fixed.dtype == "fp32")
    #expect(fixed.shape == [1, 3])
    #expect(fixed.flexibility == nil)
    #expect(fixed.isOptional)
    array.flexibility = .range([
      SizeRange(lowerBound: 1, upperBound: 1), SizeRange(lowerBound: 2, upperBound: -1),
    ])
    #expect(try fact(.multiArray(array)).flexibility == .range([(1, 1), (2, nil)]))
    array.shape = []
    #expect(try fact(.multiArray(array)).shape == [1, nil])
    array.flexibility = .enumerated([.init(sizes: [4, 5]), .init(sizes: [6, 7])])
    let enumerated = try fact(.multiArray(array))
    #expect(enumerated.flexibility == .enumerated([[4, 5], [6, 7]]))
    #expect(enumerated.shape == [4, 5])
  }

  @Test func imagesAreHeightByWidth() throws {
    var image = ImageType(width: 640, height: 480, colorSpace: .init(rawValue: 20))
    image.flexibility = .range(
      width: SizeRange(lowerBound: 32, upperBound: -1),
      height: SizeRange(lowerBound: 16, upperBound: 480))
    let fact = try fact(.image(image))
    #expect(fact.kind == .image)
    #expect(fact.dtype == "rgb")
    #expect(fact.shape == [480, 640])
    #expect(fact.flexibility == .range([(16, 480), (32, nil)]))
  }

  @Test func othersHaveNoShape() throws {
    #expect(try fact(.dictionary(.string)).dtype == "string")
    #expect(try fact(.int64).shape == [])
    let size = SizeRange(lowerBound: 1, upperBound: 9)
    #expect(try fact(.sequence(.int64, size: size)).flexibility == .range([(1, 9)]))
    #expect(try fact(.absent).kind == .unknown)
  }
}
