import ModelToolchain
import TestSupport
import Testing

@testable import ModelPasses

/// A tensor of 2³¹ elements and more that makes its values when asked: what is decided without
/// reading it must not overflow.
@Suite struct HugeWeightTests {
  /// A source that has no bytes to give.
  private struct Simulated: TensorSource {
    var elementType: ElementType
    var shape: [Int]

    func withElements<R>(
      _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
      throw TensorError.unavailable("read \(range.count) of \(elementCount)")
    }
  }

  private func facts(_ type: ElementType, _ shape: [Int]) -> ConstantFacts {
    let source = Simulated(elementType: type, shape: shape)
    return ConstantFacts(
      name: "huge", elementType: type, shape: shape, elementCount: source.elementCount,
      byteCount: source.byteCount, encoding: WeightEncoding(mask: nil, core: .values(source)),
      source: source, axes: .axes(ChannelAxes(output: 0, input: 1)),
      consumers: [(name: "linear", type: "linear", input: "weight")],
      functions: ["main"], sites: [])
  }

  @Test(
    arguments: [
      [1 << 16, 1 << 15], [(1 << 16) + 1, 1 << 15], [1, 1 << 31], [1 << 31, 1], [7, 1 << 29],
    ],
    [ElementType.float16, .float32])
  func decisions(_ shape: [Int], _ type: ElementType) throws {
    let facts = facts(type, shape)
    #expect(facts.elementCount >= 1 << 31)
    #expect(facts.byteCount == facts.elementCount * type.bitWidth / 8)
    for pass in OddWeightTests.passes + [QuantizePass(), DecompressPass()] {
      for version in [7, 9] {
        guard case .encode(let recipe) = pass.decide(facts, version: version) else { continue }
        #expect(recipe.requirement.version >= 6)
        #expect(!recipe.identity.isEmpty)
        if let recipe = recipe as? PalettizeRecipe {
          let bytes = recipe.leastBytes(facts)
          #expect(bytes > 0 && bytes < facts.byteCount)
        }
        // Reading it is refused by the source, not by a trap.
        if !(pass is DecompressPass) {
          #expect(throws: TensorError.self) {
            try recipe.prepare(facts.source, parallel: Parallel(threads: 2))
          }
        }
      }
    }
    #expect(
      WeightPart(.uint4, shape).byteCount == facts.elementCount / 2
        + (facts.elementCount % 2 == 0 ? 0 : 1))
    #expect(WeightPart(.uint1, shape).byteCount == (facts.elementCount + 7) / 8)
  }

  /// Sizes that no Int holds are no tensors.
  @Test func overflow() {
    #expect(Shape.elementCount([1 << 40, 1 << 40]) == nil)
    #expect(WeightPart(.float32, [1 << 62]).byteCount == 0)
    #expect(WeightPart(.float16, [1 << 40, 1 << 40]).count == 0)
  }
}
