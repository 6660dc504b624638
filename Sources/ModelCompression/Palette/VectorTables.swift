import CKernels
import ModelTensors

/// Reads a weight as vectors along an axis.
struct VectorReader: Sendable {
  let source: any TensorSource
  /// Components of a vector.
  let width: Int
  /// Elements after the axis.
  let inner: Int
  /// A power of two that brings the values of fp32 weights near 1.
  let factor: Float

  /// Below this many elements after the axis whole rows are read and taken apart.
  private static let shortRow = 256

  /// Fills `planes`, component c of the k-th vector at `c * plane + k`.
  func read(
    _ range: Range<Int>, into planes: UnsafeMutablePointer<Float>, plane: Int
  ) throws {
    if inner == 0 { return }
    if inner >= VectorReader.shortRow {
      var start = range.lowerBound
      while start < range.upperBound {
        let row = start / inner
        let end = min((row + 1) * inner, range.upperBound)
        for component in 0..<width {
          let first = (row * width + component) * inner + start - row * inner
          try CodeReader.readFloats(
            source, first..<first + end - start,
            into: UnsafeMutableBufferPointer(
              start: planes + component * plane + start - range.lowerBound, count: end - start))
        }
        start = end
      }
    } else {
      let rows = range.lowerBound / inner..<(range.upperBound + inner - 1) / inner
      let elements = rows.lowerBound * width * inner..<rows.upperBound * width * inner
      try withScratch(Float.self, elements.count) { values in
        try CodeReader.readFloats(source, elements, into: values)
        guard let base = values.baseAddress else { return }
        var row = 0
        var place = range.lowerBound - rows.lowerBound * inner
        for index in 0..<range.count {
          for component in 0..<width {
            planes[component * plane + index] = base[(row * width + component) * inner + place]
          }
          place += 1
          if place == inner {
            place = 0
            row += 1
          }
        }
      }
    }
    if factor != 1 {
      for component in 0..<width {
        let base = planes + component * plane
        for index in 0..<range.count { base[index] *= factor }
      }
    }
  }
}

extension PaletteJob {
  /// Vectors of a group that take part in the choice of its table.
  private static let trained = 1 << 22

  /// Tables of vectors.
  func vectors(_ grouping: PaletteGrouping) throws -> PalettePreparation {
    let width = settings.clusterDimension
    try require(width > 0, "vectors of \(width) components")
    try require(settings.mode == .kmeans, "only k-means makes tables of vectors")
    try require(mask == nil, "tables of vectors need all values")
    guard let axis = Shape.normalized(axis: settings.vectorAxis, rank: source.shape.count) else {
      throw TensorError.malformed(
        "axis \(settings.vectorAxis) is outside the rank \(source.shape.count)")
    }
    let channels = source.shape[axis]
    if channels % width != 0 {
      return .refused(reason: "its \(channels) channels do not divide into vectors of \(width)")
    }
    let (shape, refusal) = try groupShape(grouping)
    if let refusal { return .refused(reason: refusal) }
    var indexShape = source.shape
    indexShape[axis] /= width
    if indexShape[axis] % shape[axis] != 0 {
      return .refused(
        reason: "its groups of \(channels / shape[axis]) channels hold no whole vectors of \(width)"
      )
    }
    guard let layout = GroupLayout(shape: indexShape, scaleShape: shape) else {
      return .refused(reason: "its shape \(source.shape) has no groups \(shape)")
    }
    guard try isFinite() else { return try specialValues() }
    let reader = VectorReader(
      source: source, width: width, inner: source.shape[(axis + 1)...].reduce(1, *),
      factor: try vectorFactor())
    let groups = GroupReader(source: source, layout: layout, mask: nil)
    var tables = PaletteTables(
      format: format, bits: settings.bits, vectorSize: width, groups: layout.groupCount)
    let found = try filledArray(repeating: [Float](), count: layout.groupCount) { found in
      let several = layout.groupCount >= parallel.threads
      let inside = several ? Parallel(threads: 1) : parallel
      try Parallel(threads: several ? parallel.threads : 1).forEach(layout.groupCount) { group in
        found.pointer[group] = try centroids(group, groups, reader, inside)
      }
    }
    if source.byteCount > AffineQuantizer.releaseBytes { source.release(0..<source.elementCount) }
    for (group, centroids) in found.enumerated() {
      tables.used[group] = centroids.count / width
      for (index, value) in centroids.enumerated() {
        tables.entries[group * tables.tableCount + index] =
          format.round(Double(value) / Double(reader.factor)) + 0
      }
    }
    let quantized = quantize(&tables)
    return try .ready(
      palettizer(
        tables, layout: layout, shape: shape, sums: nil, quantized: quantized,
        indexShape: indexShape, vectorFactor: reader.factor))
  }

  /// 1 for narrow types, else the power of two that brings the greatest value near 1.
  func vectorFactor() throws -> Float {
    guard format == .single else { return 1 }
    let pieces = ElementPieces(source.elementCount, elements: GroupReader.pieceElements)
    let peaks = try filledArray(repeating: UInt32(0), count: pieces.count) { peaks in
      try parallel.forEach(pieces.count) { index in
        try source.withElements(pieces[index]) { bytes in
          guard let base = bytes.baseAddress else { return }
          peaks.pointer[index] = mlt_peak32(
            level.rawValue, base.assumingMemoryBound(to: UInt32.self), pieces[index].count)
        }
      }
    }
    return VectorEncoder.factor(peak: Float(bitPattern: peaks.max() ?? 0))
  }

  private func centroids(
    _ group: Int, _ groups: GroupReader, _ reader: VectorReader, _ parallel: Parallel
  ) throws -> [Float] {
    let layout = groups.layout
    let size = layout.groupSize
    if size == 0 { return [] }
    // Stretches of 256 vectors at even distances where a group is too large.
    let chunk = 256
    let skip = max(1, (size + PaletteJob.trained - 1) / PaletteJob.trained)
    let room = skip == 1 ? size : (size / (chunk * skip) + 1) * chunk
    return try withScratch(Float.self, room * reader.width) { planes in
      guard let base = planes.baseAddress else { return [] }
      var count = 0
      let ranges = groups.ranges(group)
      var position = 0
      for range in ranges {
        if skip == 1 {
          try reader.read(range, into: base + count, plane: room)
          count += range.count
          continue
        }
        var start = range.lowerBound
        while start < range.upperBound {
          let end = min(start + chunk - position % chunk, range.upperBound)
          if position / chunk % skip == 0 && count + end - start <= room {
            try reader.read(start..<end, into: base + count, plane: room)
            count += end - start
          }
          position += end - start
          start = end
        }
      }
      if count < room {
        for component in 1..<max(reader.width, 2) where component < reader.width {
          (base + component * count).update(from: base + component * room, count: count)
        }
      }
      return try VectorKMeans(
        memory: SharedPointer(base), count: count, width: reader.width,
        clusters: 1 << settings.bits,
        level: level, parallel: parallel
      ).solve(restarts: settings.restarts, seed: settings.seed &+ UInt64(group))
    }
  }
}

extension GroupReader {
  /// The stretches of elements that make up a group, in rising order.
  func ranges(_ group: Int) -> [Range<Int>] {
    if layout.isContiguous { return [group * layout.rows..<(group + 1) * layout.rows] }
    let slab = group / layout.groupsPerSlab
    let start = slab * layout.slabCount
    return (0..<layout.rows).flatMap { row in
      runs(group - slab * layout.groupsPerSlab).map {
        start + row * layout.period + $0.lowerBound..<start + row * layout.period + $0.upperBound
      }
    }
  }
}

/// Finds the indices of vectors; measures what they decode to.
struct VectorEncoder: Sendable {
  private let palettizer: Palettizer
  private let reader: VectorReader
  private let scaled: [Float]

  init(_ palettizer: Palettizer) {
    self.palettizer = palettizer
    let axis =
      Shape.normalized(
        axis: palettizer.settings.vectorAxis, rank: palettizer.source.shape.count) ?? 0
    let factor = palettizer.vectorFactor
    reader = VectorReader(
      source: palettizer.source, width: palettizer.coded.vectorSize,
      inner: palettizer.source.shape[(axis + 1)...].reduce(1, *), factor: factor)
    scaled = palettizer.coded.entries.map { $0 * factor }
  }

  /// The power of two that brings `peak` near 1.
  static func factor(peak: Float) -> Float {
    peak > 0
      ? Float(sign: .plus, exponent: -max(min(Int(peak.exponent), 126), -126), significand: 1)
      : 1
  }

  /// Writes the index of every vector of `range`, a byte each.
  func find(_ range: Range<Int>, into codes: UnsafeMutablePointer<UInt8>) throws -> ErrorSums {
    let width = reader.width
    let layout = palettizer.layout
    let tables = palettizer.coded
    var sums = ErrorSums()
    try withScratch(Float.self, range.count * width) { planes in
      guard let base = planes.baseAddress else { return }
      try reader.read(range, into: base, plane: range.count)
      layout.forEachStretch(range) { stretch, slab, position in
        var start = stretch.lowerBound
        while start < stretch.upperBound {
          let place = position + start - stretch.lowerBound
          var end = stretch.upperBound
          var group = slab
          if !layout.isContiguous {
            group = slab * layout.groupsPerSlab + Int(layout.map[place])
            var next = place + 1
            while start + next - place < stretch.upperBound
              && layout.map[next] == layout.map[place]
            { next += 1 }
            end = start + next - place
          }
          let offset = start - range.lowerBound
          scaled.withUnsafeBufferPointer { entries in
            guard let first = entries.baseAddress else { return }
            mlt_nearest_vectors(
              palettizer.level.rawValue, base + offset, range.count, end - start, width,
              first + group * tables.tableCount, tables.used[group], codes + offset, nil)
          }
          for component in 0..<width {
            let plane = base + component * range.count
            for index in offset..<offset + end - start {
              let entry = group * tables.tableCount + Int(codes[index]) * width + component
              sums.add(
                Double(plane[index]) / Double(reader.factor),
                decoded: Double(tables.entries[entry]))
            }
          }
          start = end
        }
      }
    }
    return sums
  }
}
