import ModelTensors
import Testing

@testable import ModelCompression

@Suite struct GroupLayoutTests {
  static let cases: [([Int], [Int])] =
    ((0...3).flatMap { shapes(rank: $0, sizes: [1, 2, 3, 4]) } + shapes(rank: 4, sizes: [1, 2, 4]))
    .flatMap { shape in scaleShapes(shape).map { (shape, $0) } }

  @Test func everyElementIsInItsGroup() throws {
    for (shape, scales) in GroupLayoutTests.cases {
      let layout = try #require(GroupLayout(shape: shape, scaleShape: scales))
      let count = shape.reduce(1, *)
      #expect(layout.elementCount == count)
      #expect(layout.groupCount == scales.reduce(1, *))
      #expect(layout.groupSize * layout.groupCount == count)
      let groups = (0..<count).map { layout.group(of: $0) }
      #expect(groups == (0..<count).map { plainGroup($0, shape: shape, scaleShape: scales) })
      var walked: [Int] = []
      layout.forEachStretch(0..<count) { stretch, slab, position in
        for offset in 0..<stretch.count {
          let group = layout.isContiguous ? 0 : Int(layout.map[position + offset])
          walked.append(slab * layout.groupsPerSlab + group)
        }
      }
      #expect(walked == groups)
    }
  }

  @Test func commonGranularitiesStayCompact() throws {
    let channel = try #require(GroupLayout(shape: [64, 32, 3, 3], channelAxis: 0))
    #expect((channel.outer, channel.rows, channel.period) == (64, 288, 1))
    let block = try #require(GroupLayout(shape: [64, 96], scaleShape: [64, 3]))
    #expect((block.outer, block.rows, block.period) == (192, 32, 1))
    let last = try #require(GroupLayout(shape: [8, 64, 32], channelAxis: -1))
    #expect((last.outer, last.rows, last.period) == (1, 512, 32))
    let transposed = try #require(GroupLayout(shape: [16, 8, 2, 2], channelAxis: 1))
    #expect((transposed.outer, transposed.rows, transposed.period) == (1, 16, 32))
    #expect(transposed.groupsPerSlab == 8)
  }

  @Test func refusesWhatDoesNotDivide() {
    #expect(GroupLayout(shape: [4, 6], scaleShape: [4]) == nil)
    #expect(GroupLayout(shape: [4, 6], scaleShape: [4, 4]) == nil)
    #expect(GroupLayout(shape: [4, 6], scaleShape: [0, 6]) == nil)
    #expect(GroupLayout(shape: [4], channelAxis: 1) == nil)
    #expect(GroupLayout(shape: [0, 6], scaleShape: [1, 6])?.elementCount == 0)
  }
}
