import ModelTensors
import Testing

@testable import ModelFiles

@Suite struct BlobTests {
  static let blobTypes = ElementType.allCases.filter(\.isBlobType)

  /// Writes records of these element counts, each byte different, and gives back their bytes.
  func fill(_ sink: any BlobSink, _ type: ElementType, counts: [Int]) throws -> [[UInt8]] {
    var all: [[UInt8]] = []
    for count in counts {
      let slot = try sink.reserve(type, count: count)
      let bytes = (0..<slot.byteCount).map { UInt8(truncatingIfNeeded: $0 * 7 + count) }
      try bytes.withUnsafeBytes { try sink.write($0, to: slot, at: 0) }
      all.append(bytes)
    }
    return all
  }

  @Test(arguments: blobTypes) func roundTrip(_ type: ElementType) throws {
    let scratch = try Scratch()
    let writer = try BlobFileWriter(path: scratch("w.bin"))
    let counts = [1, 7, 8, 13, 64, 1000]
    let written = try fill(writer, type, counts: counts)
    try writer.finish()
    let blob = try BlobFile(try MappedFile(path: scratch("w.bin")))
    let records = try blob.records()
    #expect(records.map(\.elementCount) == counts)
    #expect(records.allSatisfy { $0.elementType == type && $0.dataOffset == $0.offset + 64 })
    for (record, bytes) in zip(records, written) {
      #expect(try blob.record(at: record.offset) == record)
      let tensor = try blob.tensor(record, shape: [record.elementCount])
      #expect(try tensor.bytes() == bytes)
      tensor.release(0..<record.elementCount)
      #expect(try tensor.bytes() == bytes)
      #expect(fileError { _ = try blob.tensor(record, shape: [record.elementCount + 1]) } != nil)
      #expect(throws: TensorError.self) {
        try tensor.withElements(0..<record.elementCount + 8) { _ in }
      }
    }
    let counting = CountingBlobSink()
    _ = try fill(counting, type, counts: counts)
    #expect(counting.byteCount == blob.file.count)
    #expect(counting.recordCount == counts.count)
    #expect(counting.dataByteCount == written.reduce(0) { $0 + $1.count })
  }

  @Test func typesOutsideBlobs() throws {
    let sink = CountingBlobSink()
    for type in ElementType.allCases where !type.isBlobType {
      #expect(fileError { _ = try sink.reserve(type, count: 1) } != nil)
    }
    #expect(fileError { _ = try sink.reserve(.float32, count: .max) } != nil)
    #expect(fileError { _ = try sink.reserve(.float32, count: -1) } != nil)
    #expect(sink.byteCount == 0)
  }

  /// Two records as coremltools writes them: int4 [-8, 7, -1] and fp16 [1].
  static let example: [UInt8] = {
    var bytes = [UInt8](repeating: 0, count: 64 + 64 + 64 + 64 + 2)
    bytes.replaceSubrange(0..<8, with: [2, 0, 0, 0, 2, 0, 0, 0])
    let sentinel: [UInt8] = [0xEF, 0xBE, 0xAD, 0xDE]
    bytes.replaceSubrange(64..<72, with: sentinel + [8, 0, 0, 0])
    bytes[72] = 2
    bytes[80] = 128
    bytes[88] = 4
    bytes.replaceSubrange(128..<130, with: [0x78, 0x0F])
    bytes.replaceSubrange(192..<200, with: sentinel + [1, 0, 0, 0])
    bytes[200] = 2
    bytes[209] = 1
    bytes.replaceSubrange(256..<258, with: [0x00, 0x3C])
    return bytes
  }()

  @Test func exactLayout() throws {
    let scratch = try Scratch()
    let writer = try BlobFileWriter(path: scratch("w.bin"))
    let first = try writer.reserve(.int4, count: 3)
    let second = try writer.reserve(.float16, count: 1)
    #expect(first.recordOffset == 64 && second.recordOffset == 192)
    try [UInt8]([0x00, 0x3C]).withUnsafeBytes { try writer.write($0, to: second, at: 0) }
    try [UInt8]([0x0F]).withUnsafeBytes { try writer.write($0, to: first, at: 1) }
    try [UInt8]([0x78]).withUnsafeBytes { try writer.write($0, to: first, at: 0) }
    #expect(
      fileError { try [UInt8]([1]).withUnsafeBytes { try writer.write($0, to: first, at: 2) } }
        != nil)
    try writer.finish()
    try writer.synchronize()
    #expect(try scratch.bytes("w.bin") == BlobTests.example)
  }

  @Test func emptyWriterLeavesEmptyFile() throws {
    let scratch = try Scratch()
    try BlobFileWriter(path: scratch("w.bin")).finish()
    #expect(try scratch.bytes("w.bin").isEmpty)
    let blob = try BlobFile(try MappedFile(path: scratch("w.bin")))
    #expect(try blob.records().isEmpty)
    #expect(fileError { _ = try blob.record(at: 64) }?.message.contains("empty") == true)
  }

  @Test func unwrittenDataIsZero() throws {
    let scratch = try Scratch()
    let writer = try BlobFileWriter(path: scratch("w.bin"))
    _ = try writer.reserve(.float32, count: 100)
    try writer.finish()
    let blob = try BlobFile(try MappedFile(path: scratch("w.bin")))
    #expect(blob.file.count == 64 + 64 + 400)
    let tensor = try blob.tensor(try blob.record(at: 64), shape: [10, 10])
    #expect(try tensor.elements(as: Float.self) == [Float](repeating: 0, count: 100))
  }

  @Test func manyThreadsWriteOneFile() throws {
    let scratch = try Scratch()
    let writer = try BlobFileWriter(path: scratch("w.bin"))
    let slots = try (0..<50).map { try writer.reserve(.int32, count: 100 + $0) }
    try Parallel(threads: 4).forEach(slots.count) { index in
      let values = [Int32](repeating: Int32(index), count: 100 + index)
      try values.withUnsafeBytes { bytes in
        for start in stride(from: 0, to: bytes.count, by: 64) {
          let piece = UnsafeRawBufferPointer(
            rebasing: bytes[start..<min(start + 64, bytes.count)])
          try writer.write(piece, to: slots[index], at: start)
        }
      }
    }
    try writer.finish()
    let blob = try BlobFile(try MappedFile(path: scratch("w.bin")))
    for (index, record) in try blob.records().enumerated() {
      let values = try blob.tensor(record, shape: [100 + index]).elements(as: Int32.self)
      #expect(values == [Int32](repeating: Int32(index), count: 100 + index))
    }
  }

  @Test(arguments: [
    (64, UInt8(0), "sentinel 0xDEADBE00, expected 0xDEADBEEF (byte offset 64)"),
    (68, 99, "unknown element type 99 (byte offset 68)"), (68, 0, "unknown element type 0"),
    (79, 0xFF, "reach beyond the file"), (76, 1, "reach beyond the file"),
    (72, 131, "131 bytes of data at 128 reach beyond the file of 258 bytes"),
    (87, 0xFF, "is outside the file"), (80, 0, "data offset 0 is outside the file"),
    (80, 65, "overlaps the record's own metadata"),
    (88, 8, "8 bits of padding for 2 bytes of int4"), (95, 1, "bits of padding"),
    (88, 3, "no whole number of int4 elements"),
    (200, 1, "no whole number of fp16 elements"),
  ]) func corruptField(_ offset: Int, _ value: UInt8, _ message: String) throws {
    var bytes = BlobTests.example
    bytes[offset] = value
    let blob = try BlobFile(MappedFile(contents: bytes, path: "w.bin"))
    let record: UInt64 = offset < 192 ? 64 : 192
    let error = fileError { _ = try blob.record(at: record) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "no error")")
    #expect(error?.message.hasPrefix("blob record at \(record): ") == true)
    #expect(fileError { _ = try blob.records() } == error)
  }

  @Test(arguments: [0, 63, 65, 100, 195, 250, 1 << 40, UInt64.max, UInt64.max - 63])
  func wrongOffset(_ offset: UInt64) throws {
    let blob = try BlobFile(MappedFile(contents: BlobTests.example, path: "w.bin"))
    #expect(fileError { _ = try blob.record(at: offset) } != nil)
  }

  @Test func paddingOfWholeBytesIsIgnored() throws {
    var bytes = BlobTests.example
    bytes.replaceSubrange(216..<224, with: [1, 2, 3, 4, 5, 6, 7, 8])
    let blob = try BlobFile(MappedFile(contents: bytes, path: "w"))
    let record = try blob.record(at: 192)
    #expect(record.paddingBits == 0 && record.elementCount == 1)
  }

  @Test func headers() throws {
    var bytes = BlobTests.example
    bytes[4] = 1
    #expect(
      fileError { _ = try BlobFile(MappedFile(contents: bytes, path: "w")) }
        == .unsupported("w", "blob storage version 1, expected 2 (byte offset 4)"))
    bytes = BlobTests.example
    bytes[3] = 0xFF  // more records than the file holds
    let blob = try BlobFile(MappedFile(contents: bytes, path: "w"))
    #expect(fileError { _ = try blob.records() } != nil)
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    let error = fileError { _ = try BlobFile(MappedFile(contents: Array(pointer.utf8), path: "w")) }
    #expect(error?.hint?.contains("git lfs pull") == true)
  }

  @Test func truncation() throws {
    for length in 0..<BlobTests.example.count {
      let file = MappedFile(contents: Array(BlobTests.example.prefix(length)), path: "w")
      let error = fileError { _ = try BlobFile(file).records() }
      #expect((error == nil) == (length == 0), "\(length)")
    }
  }

  @Test func unalignedDataIsCopied() throws {
    var bytes = BlobTests.example
    bytes.insert(0, at: 192)  // the second record moves to 193, its data to 257
    bytes[209] = 0
    bytes[210] = 1
    bytes[193 + 16] = 1
    let blob = try BlobFile(MappedFile(contents: bytes, path: "w"))
    let record = try blob.record(at: 193)
    #expect(record.dataOffset == 257)
    let tensor = try blob.tensor(record, shape: [])
    #expect(try tensor.elements(as: UInt16.self) == [0x3C00])
    let same = try blob.tensor(record, shape: [1])
    #expect(tensor.identity == same.identity)
    let other = try blob.tensor(try blob.record(at: 64), shape: [3])
    #expect(tensor.identity != other.identity)
  }

  @Test(.enabled(if: FileSystem.exists("/dev/full"), "no /dev/full"))
  func fullDisk() throws {
    let writer = try BlobFileWriter(path: "/dev/full")
    let error = fileError { _ = try writer.reserve(.int8, count: 10) }
    #expect(error == .system("/dev/full", "write", errno: noSpace))
    #expect(error?.message == "cannot write: No space left on device")
  }

  @Test func mappedFiles() throws {
    let scratch = try Scratch()
    #expect(fileError { _ = try MappedFile(path: scratch("no")) } == .missing(scratch("no")))
    #expect(
      fileError { _ = try MappedFile(path: scratch.path) }?.message.contains("folder") == true)
    try scratch.write("e", [UInt8]())
    #expect(try MappedFile(path: scratch("e")).bytes.isEmpty)
    #expect(fileError { _ = try MappedFile(path: "/dev/null") }?.message == "not a regular file")
    let large = [UInt8](repeating: 9, count: 100_000)
    try scratch.write("l", large)
    let file = try MappedFile(path: scratch("l"))
    for range in [0..<100_000, 1..<99_999, -5..<200_000, 50..<51] { file.release(range) }
    #expect(Array(file.bytes) == large)
  }
}

extension BlobTests {
  /// Records beyond the size from which blocks are allocated ahead leave no tail.
  @Test func largeRecords() throws {
    let scratch = try Scratch()
    let writer = try BlobFileWriter(path: scratch("w.bin"))
    for count in [1, 3 << 20, 5, 2 << 20] {
      let slot = try writer.reserve(.uint8, count: count)
      try [UInt8(count & 7)].withUnsafeBytes { try writer.write($0, to: slot, at: count - 1) }
    }
    try writer.finish()
    let file = try MappedFile(path: scratch("w.bin"))
    #expect(file.count == writer.byteCount)
    let records = try BlobFile(file).records()
    #expect(records.map(\.byteCount) == [1, 3 << 20, 5, 2 << 20])
    #expect(records.map { file.bytes[Int($0.dataOffset) + $0.byteCount - 1] } == [1, 0, 5, 0])
  }
}
