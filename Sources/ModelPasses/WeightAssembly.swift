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
  /// Where it lies now; nil for an immediate value.
  var key: WeightKey?
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

  private enum Storage: Sendable {
    case blob(BlobSlot, fileName: String)
    case memory(Buffer)
  }

  /// Bytes of a small part while it is encoded.
  private final class Buffer: Sendable {
    let bytes: Mutex<[UInt8]>
    init(count: Int) { bytes = Mutex([UInt8](repeating: 0, count: count)) }
  }

  private struct Job: Sendable {
    var source: any TensorSource
    /// Nil for bytes that are copied.
    var prepared: (any PreparedWeight)?
    var storage: [Storage]
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
    var jobs: [Job] = []
    var jobOfItem: [Int: Int] = [:]
    var jobByKey: [String: Int] = [:]
    var sinks: [(fileName: String, sink: any BlobSink)] = []
    for (index, item) in items.enumerated() {
      var prepared: (any PreparedWeight)?
      var key = "\(contents[index])"
      if let encoding = item.encoding {
        switch preparations[index] {
        case .ready(let weight):
          prepared = weight
          key += " \(item.kind)"
        case .refused(let reason):
          outcome.refused[encoding.constant] = reason
          if item.key == nil { continue }  // It stays in the program.
        case nil: throw PassError.invalidResult("a weight was not prepared")
        }
      }
      let place = try WeightAssembly.sinkIndex(for: item.fileName, &sinks, sink)
      key += " @\(place)"
      if let job = jobByKey[key] {
        jobOfItem[index] = job
        continue
      }
      let parts =
        prepared?.parts ?? [WeightPart(blobType(item.source.elementType), item.source.shape)]
      let storage = try parts.map { part -> Storage in
        if prepared != nil, part.count < WeightAssembly.smallestBlob {
          return .memory(Buffer(count: part.byteCount))
        }
        let slot = try sinks[place].sink.reserve(part.elementType, count: part.count)
        return .blob(slot, fileName: sinks[place].fileName)
      }
      jobByKey[key] = jobs.count
      jobOfItem[index] = jobs.count
      jobs.append(Job(source: item.source, prepared: prepared, storage: storage))
    }

    let sums = try write(jobs, sinks)
    for (index, item) in items.enumerated() {
      guard let number = jobOfItem[index] else { continue }
      let job = jobs[number]
      if let encoding = item.encoding, let prepared = job.prepared {
        outcome.encoded[encoding.constant] = EncodedConstant(
          prepared: prepared, parts: try WeightAssembly.values(job, prepared),
          afterBytes: prepared.parts.reduce(0) { $0 + $1.byteCount }, sums: sums[number])
      } else if let old = item.key, let new = WeightAssembly.reference(job) {
        outcome.places[old] = new
      }
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

  private func write(
    _ jobs: [Job], _ sinks: [(fileName: String, sink: any BlobSink)]
  ) throws -> [ErrorSums] {
    let sums = Mutex([ErrorSums](repeating: ErrorSums(), count: jobs.count))
    let byName = Dictionary(uniqueKeysWithValues: sinks.map { ($0.fileName, $0.sink) })
    try parallel.forEachBalanced(sizes: jobs.map(\.source.byteCount)) { index, threads in
      let job = jobs[index]
      let storage = job.storage
      let writer: PartWriter = { part, offset, bytes in
        switch storage[part] {
        case .blob(let slot, let fileName):
          try byName[fileName]?.write(bytes, to: slot, at: offset)
        case .memory(let buffer):
          try buffer.bytes.withLock { memory in
            guard offset >= 0, bytes.count <= memory.count - offset else {
              throw PassError.invalidResult("a part of a weight is larger than announced")
            }
            memory.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
          }
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
    let ranges = pieces(of: source, bytes: 1 << 20)
    try threads.forEach(ranges.count) { index in
      let range = ranges[index]
      try source.withElements(range) { bytes in
        try write(0, range.lowerBound * source.elementType.bitWidth / 8, bytes)
      }
      source.release(range)
    }
  }

  private static func sinkIndex(
    for fileName: String, _ sinks: inout [(fileName: String, sink: any BlobSink)],
    _ make: (String) throws -> any BlobSink
  ) throws -> Int {
    // Readers find a file by the last component of its name.
    let last = fileName.split(separator: "/").last ?? ""
    if let index = sinks.firstIndex(where: { $0.fileName.split(separator: "/").last == last }) {
      return index
    }
    sinks.append((fileName, try make(fileName)))
    return sinks.count - 1
  }

  private static func reference(_ job: Job) -> BlobReference? {
    guard case .blob(let slot, let fileName) = job.storage.first else { return nil }
    return BlobReference(fileName: fileName, offset: slot.recordOffset)
  }

  private static func values(_ job: Job, _ prepared: any PreparedWeight) throws -> [Value] {
    try zip(job.storage, prepared.parts).map { storage, part in
      switch storage {
      case .blob(let slot, let fileName):
        let reference = BlobReference(fileName: fileName, offset: slot.recordOffset)
        return .weight(
          Weight(
            reference: reference,
            source: AbsentTensor(elementType: part.elementType, shape: part.shape)))
      case .memory(let buffer):
        let bytes = buffer.bytes.withLock { $0 }
        guard let value = Value(part.elementType, part.shape, packed: bytes) else {
          throw PassError.invalidResult("a part of \(bytes.count) bytes is no tensor")
        }
        return value
      }
    }
  }
}

/// The type of a blob that holds elements of `type`; bools are bytes there.
private func blobType(_ type: ElementType) -> ElementType { type == .bool ? .uint8 : type }
