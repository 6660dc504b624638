import ModelTensors
import Synchronization

/// Codes into a table for one weight of a neural network; one table of fp32 values per weight.
public struct TableCoding: Sendable {
  /// How the entries are chosen.
  public enum Entries: String, Sendable, Hashable {
    /// The optimal ones.
    case kmeans
    /// Evenly spaced levels from the least to the greatest value.
    case uniform
    /// The distinct values, with the narrowest codes that do.
    case unique
  }

  /// Codes packed by `HighFirstPacking`.
  public var codes: [UInt8]
  /// Bits of a code.
  public var bits: Int
  /// 2ⁿ values, rising; entries that are not needed follow as zeros.
  public var table: [Float]
  /// The error of the values as Core ML decodes them.
  public var sums: ErrorSums

  /// What came of a weight.
  public enum Outcome: Sendable {
    /// The weight cannot be coded so; a clause such as "holds 3 infinite values".
    case refused(reason: String)
    case coded(TableCoding)
  }

  /// Codes `values`, each by the entry nearest to it.
  ///
  /// - Parameter bits: 1…8; of no account for unique entries.
  public static func code(
    _ values: [Float], bits: Int, entries: Entries, parallel: Parallel
  ) throws -> Outcome {
    guard (1...8).contains(bits), values.count <= Int(UInt32.max) else {
      throw TensorError.malformed("\(bits) bits per code of \(values.count) values")
    }
    let source = try FloatTensor(shape: [values.count], values: values)
    guard let layout = GroupLayout(shape: source.shape, scaleShape: [1]) else {
      return .refused(reason: "holds no values")
    }
    let collector = ValueCollector(
      reader: GroupReader(source: source, layout: layout, mask: nil), format: .single,
      level: .current)
    if entries == .kmeans, values.count >= BinnedSingles.leastElements {
      switch try binned(collector.reader, bits: bits, parallel) {
      case .special:
        return .refused(reason: "holds \(try SpecialValues.count(source, parallel: parallel))")
      case .centroids(let centroids):
        var tables = PaletteTables(format: .single, bits: bits, vectorSize: 1, groups: 1)
        tables.used = [centroids.count]
        for (entry, value) in centroids.enumerated() { tables.entries[entry] = Float(value) + 0 }
        let codes = try codes(of: source, tables, parallel)
        return .coded(
          TableCoding(
            codes: HighFirstPacking.packed(codes, bits: bits), bits: bits, table: tables.entries,
            sums: try sums(of: values, codes, tables.entries, parallel)))
      case .unsuitable: break
      }
    }
    if entries == .uniform, values.count >= BinnedSingles.leastElements {
      if let coding = try uniform(source, collector.reader, bits: bits, parallel) {
        return .coded(coding)
      }
      return .refused(reason: "holds \(try SpecialValues.count(source, parallel: parallel))")
    }
    if entries == .unique, values.count >= BinnedSingles.leastElements {
      return try unique(source, parallel)
    }
    let found = Mutex<(tables: PaletteTables, sums: ErrorSums)?>(nil)
    let isFinite = try collector.forEachGroup(
      parallel: parallel, spaces: ObjectPool { ValueSpace() }
    ) { _, space in
      guard let tables = choose(space, bits: bits, entries) else { return }
      let sums = error(of: tables, space)
      found.withLock { $0 = (tables, sums) }
    }
    guard isFinite else {
      return .refused(reason: "holds \(try SpecialValues.count(source, parallel: parallel))")
    }
    guard let (tables, sums) = found.withLock({ $0 }) else {
      return .refused(reason: "has more than 256 distinct values")
    }
    let codes = try codes(of: source, tables, parallel)
    return .coded(
      TableCoding(
        codes: HighFirstPacking.packed(codes, bits: tables.bits), bits: tables.bits,
        table: tables.entries, sums: sums))
  }

  /// The optimal entries for many values, which are not sorted.
  private static func binned(
    _ reader: GroupReader, bits: Int, _ parallel: Parallel
  ) throws -> BinnedSingles.Outcome {
    try BinnedSingles(reader: reader, level: .current, parallel: parallel)
      .cluster(0, clusters: 1 << bits, space: ValueSpace())
  }

  /// The error of values that decode to the entries of their codes.
  private static func sums(
    of values: [Float], _ codes: [UInt8], _ table: [Float], _ parallel: Parallel
  ) throws -> ErrorSums {
    let pieces = ElementPieces(values.count, elements: 1 << 18)
    let parts = try filledArray(repeating: ErrorSums(), count: pieces.count) { parts in
      try parallel.forEach(pieces.count) { piece in
        var sums = ErrorSums()
        for index in pieces[piece] {
          sums.add(Double(values[index]), decoded: Double(table[Int(codes[index])]))
        }
        parts.pointer[piece] = sums
      }
    }
    return PaletteJob.total(parts)
  }

  /// The table of the values in `space`; nil when they are too many for unique entries.
  private static func choose(
    _ space: ValueSpace, bits: Int, _ entries: Entries
  ) -> PaletteTables? {
    switch entries {
    case .kmeans:
      var tables = PaletteTables(format: .single, bits: bits, vectorSize: 1, groups: 1)
      tables.used = [space.cluster(1 << bits, shifted: true)]
      for entry in 0..<tables.used[0] { tables.entries[entry] = Float(space.centroids[entry]) + 0 }
      return tables
    case .uniform: return uniform(space, bits: bits)
    case .unique:
      guard let bits = (1...8).first(where: { 1 << $0 >= space.count }) else { return nil }
      var tables = PaletteTables(format: .single, bits: bits, vectorSize: 1, groups: 1)
      for index in 0..<space.count { tables.entries[index] = space.values[index] }
      tables.used = [space.count]
      return tables
    }
  }

  /// Even levels; of the step in double precision and the fp32 steps beside it the one of least
  /// error.
  private static func uniform(_ space: ValueSpace, bits: Int) -> PaletteTables {
    var best = PaletteTables(format: .single, bits: bits, vectorSize: 1, groups: 1)
    guard space.count > 0 else { return best }
    var least = Double.infinity
    for tables in levels(space.values[0], space.values[space.count - 1], bits: bits) {
      let error = error(of: tables, space).error
      if error < least { (best, least) = (tables, error) }
    }
    return best
  }

  /// The tables of even levels that are tried.
  private static func levels(_ low: Float, _ high: Float, bits: Int) -> [PaletteTables] {
    let last = (1 << bits) - 1
    let step = (Double(high) - Double(low)) / Double(last)
    let rounded = Float(step)
    let steps = [step] + [rounded, rounded.nextUp, rounded.nextDown].map(Double.init)
    return steps.map { step in
      var tables = PaletteTables(format: .single, bits: bits, vectorSize: 1, groups: 1)
      for level in 0...last {
        tables.entries[level] = Float(Double(low) + Double(level) * step) + 0
      }
      tables.used = [last + 1]
      return tables
    }
  }

  /// Even levels for many values, which are not sorted; nil when some are not finite.
  private static func uniform(
    _ source: FloatTensor, _ reader: GroupReader, bits: Int, _ parallel: Parallel
  ) throws -> TableCoding? {
    let binned = BinnedSingles(reader: reader, level: .current, parallel: parallel)
    guard let range = try binned.range(0) else { return nil }
    var best: TableCoding?
    for tables in levels(range.low, range.high, bits: bits)
    where tables.entries.allSatisfy(\.isFinite) {
      let codes = try codes(of: source, tables, parallel)
      let sums = try sums(of: source.values, codes, tables.entries, parallel)
      if best.map({ sums.error < $0.sums.error }) ?? true {
        best = TableCoding(
          codes: HighFirstPacking.packed(codes, bits: bits), bits: bits, table: tables.entries,
          sums: sums)
      }
    }
    return best
  }

  /// The distinct values of many, which are not sorted.
  private static func unique(_ source: FloatTensor, _ parallel: Parallel) throws -> Outcome {
    var distinct: Set<Float> = []
    var last = Float.nan
    for value in source.values where value != last {
      last = value
      distinct.insert(value)
      if distinct.count > 256 || !value.isFinite { break }
    }
    let special = try SpecialValues.count(source, parallel: parallel)
    if special.nan + special.infinite > 0 { return .refused(reason: "holds \(special)") }
    guard let bits = (1...8).first(where: { 1 << $0 >= distinct.count }) else {
      return .refused(reason: "has more than 256 distinct values")
    }
    var tables = PaletteTables(format: .single, bits: bits, vectorSize: 1, groups: 1)
    for (entry, value) in distinct.sorted().enumerated() { tables.entries[entry] = value }
    tables.used = [distinct.count]
    let codes = try codes(of: source, tables, parallel)
    return .coded(
      TableCoding(
        codes: HighFirstPacking.packed(codes, bits: bits), bits: bits, table: tables.entries,
        sums: try sums(of: source.values, codes, tables.entries, parallel)))
  }

  private static func error(of tables: PaletteTables, _ space: ValueSpace) -> ErrorSums {
    tables.entries.withUnsafeBufferPointer { table in
      table.baseAddress.map { PaletteTables.error(space, entries: $0, used: tables.used[0]) }
    } ?? ErrorSums()
  }

  /// A byte per value: the number of the nearest entry, of two equally near ones the lower.
  private static func codes(
    of source: FloatTensor, _ tables: PaletteTables, _ parallel: Parallel
  ) throws -> [UInt8] {
    let pieces = ElementPieces(source.elementCount, elements: 1 << 18)
    let finders = ObjectPool { PaletteFinder(format: .single, level: .current) }
    return try filledArray(repeating: UInt8(0), count: source.elementCount) { codes in
      try parallel.forEach(pieces.count) { index in
        let range = pieces[index]
        try source.withElements(range) { bytes in
          guard let base = bytes.baseAddress else { return }
          finders.with { finder in
            finder.use(tables, group: 0)
            finder.find(base, range.count, into: codes.pointer + range.lowerBound)
          }
        }
      }
    }
  }
}
