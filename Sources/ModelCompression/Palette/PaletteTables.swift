import CKernels
import ModelTensors

/// The tables of all groups and how values find their entries.
struct PaletteTables: Sendable {
  let format: PaletteFormat
  /// Bits of an index.
  let bits: Int
  /// Components of an entry.
  let vectorSize: Int
  /// Entries as they decode: 2^bits of `vectorSize` components for each group.
  var entries: [Float]
  /// How many entries of each table are used; the others are 0.
  var used: [Int]

  /// Tables of zeros.
  init(format: PaletteFormat, bits: Int, vectorSize: Int, groups: Int) {
    self.format = format
    self.bits = bits
    self.vectorSize = vectorSize
    entries = [Float](repeating: 0, count: (groups * vectorSize) << bits)
    used = [Int](repeating: 0, count: groups)
  }

  /// Components of a table.
  var tableCount: Int { vectorSize << bits }

  /// The entries in the weight's type.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entries.count * format.width)
    for entry in entries { format.append(entry, to: &bytes) }
    return bytes
  }

  /// Order keys between neighbouring entries of a scalar table: a value belongs to the entry whose
  /// number is the number of cuts below its key.
  func cuts(_ group: Int) -> [Int32] {
    let first = group * tableCount
    var cuts = [Int32](repeating: format.keyLimit, count: max(used[group] - 1, 0))
    // Nothing lies between equal entries; the lowest of them takes all.
    for entry in cuts.indices.reversed() {
      let (low, high) = (entries[first + entry], entries[first + entry + 1])
      if low < high {
        cuts[entry] = format.cut((Double(low) + Double(high)) / 2)
      } else if entry + 1 < cuts.count {
        cuts[entry] = cuts[entry + 1]
      }
    }
    return cuts
  }

  /// The error of values that take the nearest entry of a scalar table.
  static func error(
    _ space: ValueSpace, entries: UnsafePointer<Float>, used: Int
  ) -> ErrorSums {
    var sums = ErrorSums()
    if used == 0 || space.count == 0 { return sums }
    var entry = 0
    var decoded = Double(entries[0])
    var limit = used > 1 ? (decoded + Double(entries[1])) / 2 : Double.infinity
    var total = 0
    for index in 0..<space.count {
      let value = Double(space.values[index])
      while value > limit {
        entry += 1
        decoded = Double(entries[entry])
        limit = entry + 1 < used ? (decoded + Double(entries[entry + 1])) / 2 : .infinity
      }
      let weight = Double(space.counts[index])
      let distance = value - decoded
      total += Int(space.counts[index])
      sums.signal += weight * (value * value)
      sums.error += weight * (distance * distance)
      sums.maxAbsError = max(sums.maxAbsError, abs(distance))
    }
    sums.count = total
    sums.peak = max(abs(Double(space.values[0])), abs(Double(space.values[space.count - 1])))
    return sums
  }
}

/// Finds the entries of values with the cuts of one scalar table.
final class PaletteFinder: @unchecked Sendable {
  private let format: PaletteFormat
  private let level: KernelLevel
  private var cuts: [Int32] = []
  private var narrow: [Int16] = []
  private var table: [UInt8] = []
  private var hasTable = false
  private var group = -1

  /// Tables of at most as many cuts are searched by comparing with all.
  private static let compared = 15
  /// Runs of fewer values are searched without a table of all patterns.
  private static let shortRun = 4096

  init(format: PaletteFormat, level: KernelLevel) {
    self.format = format
    self.level = level
  }

  /// Makes the cuts of another group the current ones.
  func use(_ tables: PaletteTables, group: Int) {
    if group == self.group { return }
    self.group = group
    cuts = tables.cuts(group)
    narrow = format == .half ? cuts.map { Int16(truncatingIfNeeded: $0) } : []
    hasTable = false
  }

  /// Writes the index of the nearest entry of every value, a byte each; ties go to the lower one.
  func find(_ base: UnsafeRawPointer, _ count: Int, into codes: UnsafeMutablePointer<UInt8>) {
    switch format {
    case .half:
      let data = base.assumingMemoryBound(to: UInt16.self)
      if narrow.count <= PaletteFinder.compared {
        mlt_index16(level.rawValue, data, count, narrow, narrow.count, codes)
      } else if hasTable || count >= PaletteFinder.shortRun {
        makeTable(65536)
        mlt_lookup16(data, count, table, codes)
      } else {
        mlt_search16(data, count, narrow, narrow.count, codes)
      }
    case .single:
      let data = base.assumingMemoryBound(to: UInt32.self)
      if cuts.count <= PaletteFinder.compared {
        mlt_index32(level.rawValue, data, count, cuts, cuts.count, codes)
      } else if count < PaletteFinder.shortRun && !hasTable {
        mlt_search32(data, count, cuts, cuts.count, codes)
      } else {
        makeTable(65536)
        mlt_lookup32(data, count, table, cuts, cuts.count, codes)
      }
    case .int8, .uint8:
      makeTable(256)
      mlt_lookup8(base.assumingMemoryBound(to: UInt8.self), count, table, codes)
    }
  }

  private func makeTable(_ size: Int) {
    if hasTable { return }
    hasTable = true
    if table.count != size { table = [UInt8](repeating: 0, count: size) }
    // From the lowest key to the highest, filled in stretches between cuts.
    var next = format == .single || format == .half ? -32768 : format == .int8 ? -128 : 0
    let end = next + size
    table.withUnsafeMutableBufferPointer { table in
      for code in 0...cuts.count {
        var last = end
        if code < cuts.count {
          let cut = Int(cuts[code])
          last = min(max(format == .single ? cut >> 16 : cut, next - 1) + 1, end)
        }
        fill(table, next..<max(next, last), UInt8(code))
        next = max(next, last)
      }
    }
  }

  private func fill(
    _ table: UnsafeMutableBufferPointer<UInt8>, _ keys: Range<Int>, _ code: UInt8
  ) {
    guard let base = table.baseAddress, !keys.isEmpty else { return }
    switch format {
    case .half:
      // Negative keys are patterns in falling order.
      let negative = keys.clamped(to: -32768..<0)
      let positive = keys.clamped(to: 0..<32768)
      if !negative.isEmpty {
        (base + 0x7FFF - negative.upperBound + 1).update(repeating: code, count: negative.count)
      }
      (base + positive.lowerBound).update(repeating: code, count: positive.count)
    case .single:
      (base + keys.lowerBound + 32768).update(repeating: code, count: keys.count)
    case .int8: for key in keys { table[key & 255] = code }
    case .uint8: (base + keys.lowerBound).update(repeating: code, count: keys.count)
    }
  }
}

/// The cuts of all scalar tables of a layout whose groups alternate within a row.
struct AlternatingCuts: Sendable {
  private let format: PaletteFormat
  private let level: KernelLevel
  private let count: Int
  private let wide: [Int32]
  private let narrow: [Int16]

  init(_ tables: PaletteTables, level: KernelLevel) {
    format = tables.format
    self.level = level
    count = max((tables.used.max() ?? 1) - 1, 0)
    var all: [Int32] = []
    all.reserveCapacity(count * tables.used.count)
    for group in tables.used.indices {
      let cuts = tables.cuts(group)
      all += cuts
      all += [Int32](repeating: format.keyLimit, count: count - cuts.count)
    }
    narrow = format == .single ? [] : all.map { Int16(truncatingIfNeeded: $0) }
    wide = format == .single ? all : []
  }

  /// Writes the index of the nearest entry of every value of a run of one group.
  func find(
    _ base: UnsafeRawPointer, _ length: Int, group: Int, into codes: UnsafeMutablePointer<UInt8>
  ) {
    switch format {
    case .half:
      let data = base.assumingMemoryBound(to: UInt16.self)
      narrow.withUnsafeBufferPointer { cuts in
        let first = cuts.baseAddress.map { $0 + group * count }
        if count <= 15 {
          mlt_index16(level.rawValue, data, length, first, count, codes)
        } else {
          mlt_search16(data, length, first, count, codes)
        }
      }
    case .single:
      let data = base.assumingMemoryBound(to: UInt32.self)
      wide.withUnsafeBufferPointer { cuts in
        let first = cuts.baseAddress.map { $0 + group * count }
        if count <= 15 {
          mlt_index32(level.rawValue, data, length, first, count, codes)
        } else {
          mlt_search32(data, length, first, count, codes)
        }
      }
    case .int8, .uint8:
      let data = base.assumingMemoryBound(to: UInt8.self)
      for index in 0..<length {
        let key = format == .int8 ? Int16(Int8(bitPattern: data[index])) : Int16(data[index])
        var code = 0
        while code < count && key > narrow[group * count + code] { code += 1 }
        codes[index] = UInt8(code)
      }
    }
  }
}
