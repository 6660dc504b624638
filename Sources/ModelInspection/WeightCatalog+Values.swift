import ModelGraph
import ModelTensors
import Synchronization

extension WeightCatalog {
  /// The values of a weight; compressed ones are decoded as they are read, those of neural
  /// networks now.
  ///
  /// - Throws: ``TensorError`` when the values are not at hand or malformed.
  public func source(of entry: Entry) throws -> any TensorSource {
    switch entry.location {
    case .stored(let source): return source
    case .encoded(let evaluator, let name):
      guard let source = try evaluator.tensor(named: name) else {
        throw TensorError.malformed("\(name) comes from an operation that is not known")
      }
      return source
    case .layer(let network, let layer, let weight, let form):
      return try network.values(of: network.layers[layer].weights[weight], form: form)
    case .absent:
      throw TensorError.malformed("the type of \(entry.fact.name) tells no fixed shape")
    }
  }

  /// Reads the values of all weights and adds their statistics to the facts.
  ///
  /// Small weights share the threads, large ones have all of them in turn, so that memory is
  /// bounded.
  ///
  /// - Parameter progress: Told the share of the values that are read, before each large weight.
  mutating func measure(
    _ parallel: Parallel, progress: (@Sendable (Double) -> Void)? = nil
  ) throws {
    let total = max(1, entries.reduce(0) { $0 &+ $1.fact.parameters })
    let done = Atomic<Int>(0)
    let isLarge = entries.map { $0.fact.parameters > 1 << 18 }
    let small = entries.indices.filter { !isLarge[$0] }
    let results = Collected<TensorStatistics>(count: entries.count)
    let catalog = self
    try parallel.forEach(small.count) { position in
      let index = small[position]
      results[index] = try catalog.statistics(of: index, Parallel(threads: 1))
      done.wrappingAdd(catalog.entries[index].fact.parameters, ordering: .relaxed)
    }
    for index in entries.indices where isLarge[index] {
      progress?(Double(done.load(ordering: .relaxed)) / Double(total))
      results[index] = try statistics(of: index, parallel)
      done.wrappingAdd(entries[index].fact.parameters, ordering: .relaxed)
    }
    for index in entries.indices { entries[index].fact.statistics = results[index] }
  }

  /// Nil for a weight whose type is not known.
  private func statistics(of index: Int, _ parallel: Parallel) throws -> TensorStatistics? {
    let entry = entries[index]
    if case .absent = entry.location { return nil }
    let source = try source(of: entry)
    defer { source.release(0..<source.elementCount) }
    return try TensorStatistics.measure(source, parallel: parallel)
  }

  // MARK: Finding a weight

  /// The weight called `name`, where there is one; a name may leave out the path of the model in a
  /// pipeline when it is then still the only one.
  ///
  /// - Parameter function: Only weights that this function uses, where several functions call
  ///   theirs the same.
  public func entry(named name: String, function: String? = nil) -> Entry? {
    let entries = entries.filter { entry in
      function.map { entry.fact.functions.contains($0) } ?? true
    }
    if let entry = entries.first(where: { $0.fact.name == name }) { return entry }
    let tails = entries.filter { $0.fact.name.hasSuffix("/" + name) }
    return tails.count == 1 ? tails[0] : nil
  }

  /// Names like `name`, the nearest first, for a hint.
  public func names(near name: String, limit: Int = 3) -> [String] {
    let wanted = Array(name.lowercased().utf8.prefix(NearestNames.lengthLimit))
    let rated = entries.map { entry in
      (name: entry.fact.name, distance: NearestNames.distance(wanted, entry.fact.name))
    }
    return rated.filter { $0.distance <= max(2, wanted.count / 2) }
      .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
      .prefix(limit).map(\.name)
  }
}

/// How far names are apart.
private enum NearestNames {
  static let lengthLimit = 128

  /// The edit distance; a name that holds the other costs a little only.
  static func distance(_ wanted: [UInt8], _ name: String) -> Int {
    let other = Array(name.lowercased().utf8.prefix(lengthLimit))
    if wanted.count >= 3, contains(other, wanted) { return 1 }
    var row = Array(0...other.count)
    for (index, byte) in wanted.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in other.indices {
        let cost = min(
          diagonal + (byte == other[column] ? 0 : 1), row[column] + 1, row[column + 1] + 1)
        diagonal = row[column + 1]
        row[column + 1] = cost
      }
    }
    return row[other.count]
  }

  private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    text.count >= part.count
      && (0...(text.count - part.count)).contains {
        text[$0..<($0 + part.count)].elementsEqual(part)
      }
  }
}
