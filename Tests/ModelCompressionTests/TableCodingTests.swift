import ModelCompression
import ModelTensors
import TestSupport
import Testing

/// Tables of networks' weights.
@Suite struct TableCodingTests {
  private func coded(
    _ values: [Float], bits: Int, _ entries: TableCoding.Entries, threads: Int = 2
  ) throws -> TableCoding {
    let outcome = try TableCoding.code(
      values, bits: bits, entries: entries, parallel: Parallel(threads: threads))
    guard case .coded(let coding) = outcome else { throw TestFileError("\(outcome)") }
    return coding
  }

  private func decoded(_ coding: TableCoding, count: Int) -> [Float] {
    var codes = [UInt8](repeating: 0, count: count)
    coding.codes.withUnsafeBytes { bytes in
      codes.withUnsafeMutableBufferPointer {
        HighFirstPacking.unpack(bytes, bits: coding.bits, into: $0)
      }
    }
    return codes.map { coding.table[Int($0)] }
  }

  /// As many values as are counted in bins rather than sorted.
  @Test func manyValues() throws {
    let values = RandomNumbers.floats(600_000, seed: 11)
    for bits in [1, 5] {
      let coding = try coded(values, bits: bits, .kmeans)
      let result = decoded(coding, count: values.count)
      var sums = ErrorSums()
      for (value, decoded) in zip(values, result) {
        sums.add(Double(value), decoded: Double(decoded))
      }
      #expect(coding.table.count == 1 << bits)
      #expect(abs(coding.sums.error - sums.error) <= 1e-9 * sums.error)
      #expect(coding.sums.maxAbsError == sums.maxAbsError)
      #expect(coding.sums.count == values.count)
      // Even levels are not better.
      let even = try coded(values, bits: bits, .uniform)
      #expect(coding.sums.error < even.sums.error)
      #expect(even.table.first == values.min() && even.sums.count == values.count)
      let single = try coded(values, bits: bits, .kmeans, threads: 1)
      #expect(single.codes == coding.codes && single.table == coding.table)
    }
    var odd = values
    odd[599_999] = .nan
    let outcome = try TableCoding.code(
      odd, bits: 4, entries: .kmeans, parallel: Parallel(threads: 2))
    guard case .refused(let reason) = outcome else { throw TestFileError("\(outcome)") }
    #expect(reason == "holds 1 NaN value")
    #expect(throws: TestFileError.self) { try coded(odd, bits: 4, .uniform) }
  }

  /// Distinct values of as many as are not sorted.
  @Test func manyUniqueValues() throws {
    for count in [1, 2, 100, 256] {
      let values = (0..<600_000).map { Float(($0 * 7919) % count) - 50 }
      let coding = try coded(values, bits: 1, .unique)
      #expect(1 << coding.bits >= count && (coding.bits == 1 || 1 << (coding.bits - 1) < count))
      #expect(decoded(coding, count: values.count) == values)
      #expect(coding.sums.error == 0 && coding.sums.count == values.count)
    }
    func reason(_ values: [Float]) throws -> String? {
      let outcome = try TableCoding.code(
        values, bits: 8, entries: .unique, parallel: Parallel(threads: 2))
      if case .refused(let reason) = outcome { return reason }
      return nil
    }
    var many = (0..<600_000).map { Float($0 % 257) }
    #expect(try reason(many) == "has more than 256 distinct values")
    many[599_999] = .infinity
    #expect(try reason(many) == "holds 1 infinite value")
    var few = [Float](repeating: 1, count: 600_000)
    few[10] = .nan
    #expect(try reason(few) == "holds 1 NaN value")
  }

  @Test func evenLevelsReachBothEnds() throws {
    let values: [Float] = [-3, 5, 1, 0.9, 1.1]
    let coding = try coded(values, bits: 3, .uniform)
    #expect(coding.table.first == -3)
    #expect(coding.table.count == 8)
    #expect(abs((coding.table.last ?? 0) - 5) < 1e-5)
  }
}
