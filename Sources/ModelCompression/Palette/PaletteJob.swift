import CKernels
import ModelTensors
import Synchronization

/// The choice of the tables of one weight.
struct PaletteJob: Sendable {
  let source: any TensorSource
  let format: PaletteFormat
  let settings: PaletteSettings
  let mask: (any TensorSource)?
  let parallel: Parallel
  let level: KernelLevel
  let spaces: ObjectPool<ValueSpace>

  init(
    source: any TensorSource, format: PaletteFormat, settings: PaletteSettings,
    mask: (any TensorSource)?, parallel: Parallel, level: KernelLevel
  ) {
    self.source = source
    self.format = format
    self.settings = settings
    self.mask = mask
    self.parallel = parallel
    self.level = level
    spaces = ObjectPool { ValueSpace(level: level) }
  }

  /// The shape of the tables without the last two axes, or the reason why there is none.
  func groupShape(_ grouping: PaletteGrouping) throws -> (shape: [Int], refusal: String?) {
    var shape = [Int](repeating: 1, count: source.shape.count)
    if case .channels(let given, let size) = grouping {
      guard let axis = Shape.normalized(axis: given, rank: source.shape.count) else {
        throw TensorError.malformed("axis \(given) is outside the rank \(source.shape.count)")
      }
      try require(size > 0, "groups of \(size) channels")
      let channels = source.shape[axis]
      if channels % size != 0 {
        return ([], "its \(channels) channels do not divide into groups of \(size)")
      }
      shape[axis] = max(channels / size, 1)
    }
    return (shape, nil)
  }

  func specialValues() throws -> PalettePreparation {
    let counts = try SpecialValues.count(source, parallel: parallel)
    return .refused(reason: "holds \(counts.description)")
  }

  /// Whether all values of the weight are finite; integers are.
  func isFinite() throws -> Bool {
    if !format.isFloat { return true }
    let greatest = Mutex<UInt32>(0)
    let pieces = ElementPieces(source.elementCount, elements: GroupReader.pieceElements)
    try parallel.forEach(pieces.count) { index in
      try source.withElements(pieces[index]) { bytes in
        guard let base = bytes.baseAddress else { return }
        let peak =
          format == .half
          ? mlt_peak16(
            level.rawValue, base.assumingMemoryBound(to: UInt16.self), pieces[index].count)
          : mlt_peak32(
            level.rawValue, base.assumingMemoryBound(to: UInt32.self), pieces[index].count)
        greatest.withLock { $0 = max($0, peak) }
      }
    }
    return greatest.withLock { $0 } < (format == .half ? 0x7C00 : 0x7F80_0000)
  }

  /// Tables of scalars.
  func scalars(_ grouping: PaletteGrouping) throws -> PalettePreparation {
    let (shape, refusal) = try groupShape(grouping)
    if let refusal { return .refused(reason: refusal) }
    guard let layout = GroupLayout(shape: source.shape, scaleShape: shape) else {
      return .refused(reason: "its shape \(source.shape) has no groups \(shape)")
    }
    if mask != nil && format.isFloat {
      // Values outside the mask must be finite too.
      guard try isFinite() else { return try specialValues() }
    }
    let collector = ValueCollector(
      reader: GroupReader(source: source, layout: layout, mask: mask), format: format,
      level: level)
    let tables: PaletteTables
    switch settings.mode {
    case .unique:
      switch try uniqueTables(collector) {
      case .special: return try specialValues()
      case .tooMany(let text): return .refused(reason: text)
      case .tables(let found): tables = found
      }
    case .kmeans, .uniform:
      guard let found = try chosenTables(collector) else { return try specialValues() }
      if let sums = found.sums {
        return try .ready(palettizer(found.tables, layout: layout, shape: shape, sums: sums))
      }
      tables = found.tables
    }
    var stored = tables
    let quantized = quantize(&stored)
    let sums = isBinned(layout) ? nil : try errors(stored, collector)
    return try .ready(
      palettizer(stored, layout: layout, shape: shape, sums: sums, quantized: quantized))
  }

  func palettizer(
    _ tables: PaletteTables, layout: GroupLayout, shape: [Int], sums: ErrorSums?,
    quantized: QuantizedPaletteTable? = nil, indexShape: [Int]? = nil, vectorFactor: Float = 1
  ) throws -> Palettizer {
    guard let indexType = ElementType.unsigned(bits: tables.bits) else {
      throw TensorError.malformed("\(tables.bits) bits per index")
    }
    let kept = try Palettizer.keptCounts(mask, parallel: parallel)
    return Palettizer(
      source: source, settings: settings, mask: mask, bits: tables.bits, indexType: indexType,
      indexShape: kept.last.map { [$0] } ?? indexShape ?? source.shape,
      tableShape: shape + [1 << tables.bits, tables.vectorSize], tables: tables.bytes,
      quantizedTable: quantized, level: level,
      layout: layout, coded: tables, sums: sums, vectorFactor: vectorFactor, keptBefore: kept)
  }

  /// Tables by k-means or of even levels; with their errors unless they are to be quantized.
  private func chosenTables(
    _ collector: ValueCollector
  ) throws -> (tables: PaletteTables, sums: ErrorSums?)? {
    let groups = collector.reader.layout.groupCount
    var tables = PaletteTables(format: format, bits: settings.bits, vectorSize: 1, groups: groups)
    let size = 1 << settings.bits
    var finite = true
    let binned = isBinned(collector.reader.layout)
    let measured = settings.tableQuantization == nil && !binned
    var parts: [ErrorSums] = []
    var entries = tables.entries
    let used = try filledArray(repeating: 0, count: groups) { used in
      parts = try filledArray(repeating: ErrorSums(), count: measured ? groups : 1) { parts in
        try entries.withUnsafeMutableBufferPointer { buffer in
          guard let base = buffer.baseAddress else { return }
          let all = SharedPointer(base)
          if binned {
            for group in 0..<groups {
              guard
                let count = try chooseBinned(group, collector, into: all.pointer + group * size)
              else {
                finite = false
                return
              }
              used.pointer[group] = count
            }
            return
          }
          finite = try collector.forEachGroup(parallel: parallel, spaces: spaces) { group, space in
            let table = all.pointer + group * size
            used.pointer[group] = choose(space, into: table)
            if measured {
              parts.pointer[group] = PaletteTables.error(
                space, entries: table, used: used.pointer[group])
            }
          }
        }
      }
    }
    if !finite { return nil }
    tables.entries = entries
    tables.used = used
    return (tables, measured ? PaletteJob.total(parts) : nil)
  }

  /// Whether groups are so many singles that they are not sorted; errors are then found while the
  /// indices are written.
  private func isBinned(_ layout: GroupLayout) -> Bool {
    format == .single && mask == nil && layout.isContiguous && settings.mode != .unique
      && layout.groupSize >= BinnedSingles.leastElements
  }

  /// Chooses the table of one large group; nil when some value is not finite.
  private func chooseBinned(
    _ group: Int, _ collector: ValueCollector, into table: UnsafeMutablePointer<Float>
  ) throws -> Int? {
    let binned = BinnedSingles(reader: collector.reader, level: level, parallel: parallel)
    return try spaces.with { space in
      if settings.mode == .uniform {
        guard let range = try binned.range(group) else { return nil }
        space.set(values: [range.low, range.high], counts: [1, 1])
        return choose(space, into: table)
      }
      switch try binned.cluster(group, clusters: 1 << settings.bits, space: space) {
      case .special: return nil
      case .centroids(let centroids):
        for (entry, value) in centroids.enumerated() { table[entry] = format.round(value) + 0 }
        return centroids.count
      case .unsuitable:
        let target = SharedPointer(table)
        let used = try filledArray(repeating: 0, count: 1) { used in
          _ = try collector.forEachGroup(
            in: group..<group + 1, parallel: Parallel(threads: 1), spaces: spaces
          ) { _, space in
            used.pointer[0] = choose(space, into: target.pointer)
          }
        }
        return used[0]
      }
    }
  }

  static func total(_ parts: [ErrorSums]) -> ErrorSums {
    var sums = ErrorSums()
    for part in parts { sums += part }
    return sums
  }

  /// Chooses one table; returns the number of entries used.
  private func choose(_ space: ValueSpace, into table: UnsafeMutablePointer<Float>) -> Int {
    if space.count == 0 { return 0 }
    if settings.mode == .uniform { return chooseLevels(space, into: table) }
    let used = space.cluster(1 << settings.bits, shifted: format == .single)
    for entry in 0..<used { table[entry] = format.round(space.centroids[entry]) + 0 }
    return used
  }

  /// Even levels from the least to the greatest value.
  ///
  /// Halves round them in one of two ways, whichever has less error: each level for itself, or by
  /// steps of the rounded distance.
  private func chooseLevels(_ space: ValueSpace, into table: UnsafeMutablePointer<Float>) -> Int {
    let low = Double(space.values[0])
    let high = Double(space.values[space.count - 1])
    let count = 1 << settings.bits
    for level in 0..<count {
      let part = Double(level) / Double(count - 1)
      table[level] = format.round(low * (1 - part) + high * part) + 0
    }
    let step = Double(format.round(Double(format.round(high - low)) / Double(count - 1)))
    guard format == .half, step.isFinite else { return count }
    withScratch(Float.self, count) { scratch in
      guard let other = scratch.baseAddress else { return }
      for level in 0..<count { other[level] = format.round(low + Double(level) * step) + 0 }
      guard other[count - 1].isFinite,
        PaletteTables.error(space, entries: other, used: count).error
          < PaletteTables.error(space, entries: table, used: count).error
      else { return }
      table.update(from: other, count: count)
    }
    return count
  }

  private enum Unique {
    case special
    case tooMany(String)
    case tables(PaletteTables)
  }

  private func uniqueTables(_ collector: ValueCollector) throws -> Unique {
    let groups = collector.reader.layout.groupCount
    let found = Mutex<(most: Int, values: [Int: [Float]])>((0, [:]))
    let finite = try collector.forEachGroup(parallel: parallel, spaces: spaces) { group, space in
      let count = space.count
      let values = count <= 256 ? (0..<count).map { space.values[$0] } : []
      found.withLock {
        $0.most = max($0.most, count)
        if $0.most <= 256 { $0.values[group] = values }
      }
    }
    if !finite { return .special }
    let (most, values) = found.withLock { $0 }
    guard let bits = PaletteSettings.allowedBits.first(where: { 1 << $0 >= most }) else {
      return .tooMany(
        "has \(most) distinct values\(groups > 1 ? " in a group" : ""), more than 256")
    }
    var tables = PaletteTables(format: format, bits: bits, vectorSize: 1, groups: groups)
    for (group, values) in values {
      tables.used[group] = values.count
      for (index, value) in values.enumerated() {
        tables.entries[group << bits + index] = value
      }
    }
    return .tables(tables)
  }

  /// The errors of tables that changed after they were chosen.
  func errors(_ tables: PaletteTables, _ collector: ValueCollector) throws -> ErrorSums {
    let parts = try filledArray(repeating: ErrorSums(), count: tables.used.count) { parts in
      _ = try collector.forEachGroup(parallel: parallel, spaces: spaces) { group, space in
        tables.entries.withUnsafeBufferPointer { entries in
          guard let base = entries.baseAddress else { return }
          parts.pointer[group] = PaletteTables.error(
            space, entries: base + group * tables.tableCount, used: tables.used[group])
        }
      }
    }
    return PaletteJob.total(parts)
  }

  /// Stores the tables in 8 bits; `tables` then holds what they decode to.
  func quantize(_ tables: inout PaletteTables) -> QuantizedPaletteTable? {
    guard let mode = settings.tableQuantization, format.isFloat else { return nil }
    var low = 0.0
    var high = 0.0
    for entry in tables.entries {
      low = min(low, Double(entry))
      high = max(high, Double(entry))
    }
    let span = mode == .symmetric ? max(-low, high) / 127 : (high - low) / 255
    var scale = Double(format.round(span))
    if scale == 0 || !scale.isFinite {
      scale = span > 0 ? Double(format == .half ? Float(0x1p-24) : Float.leastNonzeroMagnitude) : 1
    }
    let limits = mode == .symmetric ? -127.0...127.0 : -128.0...127.0
    var zero = 0.0
    if mode == .affine {
      zero = min(max((-128 - low / scale).rounded(.toNearestOrEven), -128), 127)
    }
    let largest = format == .half ? 65504.0 : Double(Float.greatestFiniteMagnitude)
    var codes: [UInt8] = []
    codes.reserveCapacity(tables.entries.count)
    let size = tables.tableCount
    for index in tables.entries.indices {
      var code = zero
      if index % size < tables.used[index / size] * tables.vectorSize {
        code = (Double(tables.entries[index]) / scale).rounded(.toNearestOrEven) + zero
        code = min(max(code, limits.lowerBound), limits.upperBound)
        while abs((code - zero) * scale) > largest { code += code > zero ? -1 : 1 }
      }
      codes.append(UInt8(bitPattern: Int8(code)))
      tables.entries[index] = format.round((code - zero) * scale) + 0
    }
    var bytes: [UInt8] = []
    format.append(Float(scale), to: &bytes)
    return QuantizedPaletteTable(
      codes: codes, scale: bytes, zeroPoint: mode == .affine ? Int8(zero) : nil)
  }
}
