import ModelCompression
import ModelFiles
import ModelGraph
import ModelTensors
import Synchronization

/// A weight of the new model, before it is written.
struct AssemblyItem: Sendable {
  var source: any TensorSource
  /// The weight file that it belongs to.
  var fileName: String
  /// The blobs that it is stored in now; none for immediate values.
  var weights: [Weight]
  /// How it is encoded; nil for bytes that are kept.
  var encoding: Encoding?

  /// A recipe for a constant of the index.
  struct Encoding: Sendable {
    var constant: Int
    var recipe: any WeightRecipe
  }

  /// Equal for items that may share their place when their bytes are equal.
  var kind: String { encoding.map { "\(source.shape) \($0.recipe.identity)" } ?? "" }
}

/// What became of an encoded constant.
struct EncodedConstant: Sendable {
  var prepared: any PreparedWeight
  var parts: [Value]
  var afterBytes: Int
  var sums: ErrorSums
}

/// Lays the weights of a model out in new blob files and streams them there.
///
/// All values are looked at first, in parallel; then sizes and refusals are known and places are
/// given in file order; then everything is written, in parallel. The layout is thus the same for
/// any number of threads.
struct WeightAssembly {
  /// Tensors of fewer elements stand in the program itself, as Core ML's own tools have it.
  static let smallestBlob = 10

  var parallel: Parallel
  /// Called with the bytes that were just dealt with.
  var progress: @Sendable (Int) -> Void = { _ in }

  /// The outcome for all items.
  struct Outcome {
    /// New places of carried weights.
    var places: [WeightKey: BlobReference] = [:]
    var encoded: [Int: EncodedConstant] = [:]
    /// Reasons by constant.
    var refused: [Int: String] = [:]
  }

  /// Writes all items.
  ///
  /// - Parameters:
  ///   - items: In file order; an item's index is the order of its place.
  ///   - sink: The sink of a weight file, made when first asked for.
  func run(
    _ items: [AssemblyItem], sink: (_ fileName: String) throws -> any BlobSink
  ) throws -> Outcome {
    var classes = ContentClasses()
    let contents = try items.map { try classes.classify($0.source) }
    let preparations = try prepare(items, contents)

    var outcome = Outcome()
    try withoutActuallyEscaping(sink) { sink in
      var layout = AssemblyLayout(makeSink: sink)
      var encodings: [(constant: Int, job: Int)] = []
      var carried: [(key: WeightKey, job: Int)] = []
      for (index, item) in items.enumerated() {
        if let encoding = item.encoding {
          guard let preparation = preparations[index] else {
            throw PassError.invalidResult("a weight was not prepared")
          }
          switch preparation {
          case .ready(let weight):
            let job = try layout.place(
              weight, of: item.source, content: contents[index], identity: item.kind,
              in: item.fileName)
            encodings.append((encoding.constant, job))
            continue
          case .refused(let reason): outcome.refused[encoding.constant] = reason
          }
        }
        for weight in item.weights {
          let content =
            item.weights.count == 1 && item.encoding == nil
            ? contents[index] : try classes.classify(weight.source)
          carried.append((weight.key, try layout.place(weight, content: content)))
        }
      }
      let sums = try write(layout)
      for (constant, job) in encodings {
        guard let prepared = layout.jobs[job].prepared else { continue }
        outcome.encoded[constant] = EncodedConstant(
          prepared: prepared, parts: try layout.values(job),
          afterBytes: prepared.parts.reduce(0) { $0 + $1.byteCount }, sums: sums[job])
      }
      for (key, job) in carried { outcome.places[key] = layout.reference(job) }
    }
    return outcome
  }

  /// Lets every recipe see its weight; equal weights with equal recipes are seen once.
  private func prepare(
    _ items: [AssemblyItem], _ contents: [Int]
  ) throws -> [RecipePreparation?] {
    var first: [String: Int] = [:]
    var same: [Int: Int] = [:]
    var unique: [Int] = []
    for (index, item) in items.enumerated() {
      if item.encoding == nil { continue }
      let key = "\(contents[index]) \(item.kind)"
      if let other = first[key] {
        same[index] = other
      } else {
        first[key] = index
        unique.append(index)
      }
    }
    let results = Mutex([RecipePreparation?](repeating: nil, count: items.count))
    let order = unique
    try parallel.forEachBalanced(sizes: order.map { items[$0].source.byteCount }) {
      position, threads in
      let index = order[position]
      guard let encoding = items[index].encoding else { return }
      let source = items[index].source
      let preparation = try encoding.recipe.prepare(source, parallel: threads)
      source.release(0..<source.elementCount)
      progress(source.byteCount)
      results.withLock { $0[index] = preparation }
    }
    var preparations = results.withLock { $0 }
    for (index, other) in same { preparations[index] = preparations[other] }
    return preparations
  }

  private func write(_ layout: AssemblyLayout) throws -> [ErrorSums] {
    let jobs = layout.jobs
    let sinks = layout.sinkByName
    let sums = Mutex([ErrorSums](repeating: ErrorSums(), count: jobs.count))
    try parallel.forEachBalanced(sizes: jobs.map(\.source.byteCount)) { index, threads in
      let job = jobs[index]
      let storage = job.storage
      let writer: PartWriter = { part, offset, bytes in
        switch storage[part] {
        case .blob(let slot, let fileName):
          try sinks[fileName]?.write(bytes, to: slot, at: offset)
        case .memory(let buffer): try buffer.write(bytes, at: offset)
        }
      }
      if let prepared = job.prepared {
        let result = try prepared.encode(parallel: threads, write: writer)
        sums.withLock { $0[index] = result }
      } else {
        try copy(job.source, threads, writer)
      }
      progress(job.source.byteCount)
    }
    return sums.withLock { $0 }
  }

  private func copy(
    _ source: any TensorSource, _ threads: Parallel, _ write: @escaping PartWriter
  ) throws {
    try copyPart(source, to: 0, threads, write)
  }
}
