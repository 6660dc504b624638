import ModelFiles
import ModelGraph
import ModelTensors
import Synchronization

/// Gives the weights of a model their places in new blob files, in the order in which it is asked.
struct AssemblyLayout {
  /// Where a part goes.
  enum Storage: Sendable {
    case blob(BlobSlot, fileName: String)
    case memory(PartBuffer)
  }

  /// A weight with its places.
  struct Job: Sendable {
    var source: any TensorSource
    /// Nil for bytes that are copied.
    var prepared: (any PreparedWeight)?
    var storage: [Storage]
  }

  private(set) var jobs: [Job] = []
  private var jobByKey: [String: Int] = [:]
  private var sinks: [(fileName: String, sink: any BlobSink)] = []
  private let makeSink: (String) throws -> any BlobSink

  init(makeSink: @escaping (String) throws -> any BlobSink) { self.makeSink = makeSink }

  /// The sinks by the file names that references use.
  var sinkByName: [String: any BlobSink] {
    Dictionary(sinks.map { ($0.fileName, $0.sink) }, uniquingKeysWith: { first, _ in first })
  }

  /// Places an encoded weight; equal contents with equal recipes share a place.
  mutating func place(
    _ prepared: any PreparedWeight, of source: any TensorSource, content: Int, identity: String,
    in fileName: String
  ) throws -> Int {
    let sink = try sinkIndex(for: fileName)
    return try job("\(content) \(identity) @\(sink)") { layout in
      let storage = try prepared.parts.map { part -> Storage in
        if part.count < WeightAssembly.smallestBlob {
          return .memory(PartBuffer(count: part.byteCount))
        }
        return try layout.reserve(part.elementType, part.count, sink)
      }
      return Job(source: source, prepared: prepared, storage: storage)
    }
  }

  /// Places bytes that are kept; equal contents share a place.
  mutating func place(_ weight: Weight, content: Int) throws -> Int {
    let sink = try sinkIndex(for: weight.reference.fileName)
    return try job("\(content) @\(sink)") { layout in
      // A blob of bools is one of bytes.
      let type: ElementType =
        weight.source.elementType == .bool ? .uint8 : weight.source.elementType
      let storage = try layout.reserve(type, weight.source.elementCount, sink)
      return Job(source: weight.source, prepared: nil, storage: [storage])
    }
  }

  private mutating func job(
    _ key: String, _ make: (inout AssemblyLayout) throws -> Job
  ) throws -> Int {
    if let job = jobByKey[key] { return job }
    let job = try make(&self)
    jobByKey[key] = jobs.count
    jobs.append(job)
    return jobs.count - 1
  }

  private mutating func reserve(
    _ type: ElementType, _ count: Int, _ sink: Int
  ) throws -> Storage {
    .blob(try sinks[sink].sink.reserve(type, count: count), fileName: sinks[sink].fileName)
  }

  private mutating func sinkIndex(for fileName: String) throws -> Int {
    // Readers find a file by the last component of its name.
    let last = fileName.split(separator: "/").last ?? ""
    if let index = sinks.firstIndex(where: { $0.fileName.split(separator: "/").last == last }) {
      return index
    }
    sinks.append((fileName, try makeSink(fileName)))
    return sinks.count - 1
  }

  /// The place of a job's only part; nil for one in memory.
  func reference(_ job: Int) -> BlobReference? {
    guard case .blob(let slot, let fileName) = jobs[job].storage.first else { return nil }
    return BlobReference(fileName: fileName, offset: slot.recordOffset)
  }

  /// The parts of an encoded weight as values of a program.
  func values(_ job: Int) throws -> [Value] {
    let parts = jobs[job].prepared?.parts ?? []
    return try zip(jobs[job].storage, parts).map { storage, part in
      switch storage {
      case .blob(let slot, let fileName):
        return .weight(
          Weight(
            reference: BlobReference(fileName: fileName, offset: slot.recordOffset),
            source: AbsentTensor(elementType: part.elementType, shape: part.shape)))
      case .memory(let buffer):
        guard let value = Value(part.elementType, part.shape, packed: buffer.bytes) else {
          throw PassError.invalidResult("a part of \(part.byteCount) bytes is no tensor")
        }
        return value
      }
    }
  }
}

/// The bytes of a small part while it is encoded.
final class PartBuffer: Sendable {
  private let memory: Mutex<[UInt8]>

  init(count: Int) { memory = Mutex([UInt8](repeating: 0, count: count)) }

  var bytes: [UInt8] { memory.withLock { $0 } }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    try memory.withLock { memory in
      guard offset >= 0, bytes.count <= memory.count - offset else {
        throw PassError.invalidResult("a part of a weight is larger than announced")
      }
      memory.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    }
  }
}
