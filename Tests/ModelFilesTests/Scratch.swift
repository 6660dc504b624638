import CZip
import Testing

@testable import ModelFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A folder for one test, removed when the test lets it go.
final class Scratch: Sendable {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  var path: String { folder.path }

  func callAsFunction(_ name: String) -> String { folder.path + "/" + name }

  /// Writes a file and the folders above it.
  @discardableResult
  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try FileSystem.makeFolders(PathNames.parent(name), in: path)
    _ = unlink(self(name))
    try bytes.withUnsafeBytes { try FileSystem.create(self(name), $0) }
    return self(name)
  }

  @discardableResult
  func write(_ name: String, _ text: String) throws -> String {
    try write(name, Array(text.utf8))
  }

  func bytes(_ name: String) throws -> [UInt8] {
    try MappedFile(path: self(name)).withBytes { Array($0) }
  }

  /// All paths below a folder, hidden ones too.
  func names(_ name: String = "") throws -> [String] {
    let tree = try FileTree(folder: name.isEmpty ? path : self(name))
    return tree.files.map(\.path) + tree.emptyFolders.map { $0 + "/" }
  }
}

/// The error that `body` throws, or nil.
func fileError(_ body: () throws -> Void) -> FileError? {
  do {
    try body()
    return nil
  } catch { return error as? FileError }
}

/// A minimal serialized `Model`: specificationVersion 7, an empty description.
let smallSpecification: [UInt8] = [0x08, 0x07, 0x12, 0x00]

/// An entry of a zip archive that a test makes by hand.
struct ZipItem {
  var name: String
  var bytes: [UInt8] = []
  var stored = false
  var mode: UInt32? = nil
  /// Overrides the size in the directory and the local header.
  var declaredSize: UInt32? = nil
}

/// A zip archive written byte by byte, so that it may be wrong.
func makeZip(_ items: [ZipItem]) throws -> [UInt8] {
  var archive: [UInt8] = []
  var directory: [UInt8] = []
  func add<T: FixedWidthInteger>(_ value: T, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }
  for item in items {
    let (data, crc) = try deflated(item.bytes)
    let body = item.stored ? item.bytes : data
    let size = item.declaredSize ?? UInt32(item.bytes.count)
    var common: [UInt8] = []
    add(UInt16(20), to: &common)
    add(UInt16(1 << 11), to: &common)  // names are UTF-8
    add(UInt16(item.stored ? 0 : 8), to: &common)
    add(UInt32(0x21 << 16), to: &common)
    add(crc, to: &common)
    add(UInt32(body.count), to: &common)
    add(size, to: &common)
    add(UInt16(item.name.utf8.count), to: &common)
    add(UInt16(0), to: &common)
    let offset = UInt32(archive.count)
    archive += [0x50, 0x4B, 3, 4] + common + Array(item.name.utf8) + body
    directory += [0x50, 0x4B, 1, 2]
    add(UInt16(3 << 8 | 20), to: &directory)
    directory += common
    add(UInt16(0), to: &directory)
    add(UInt32(0), to: &directory)
    add(UInt32(item.mode ?? 0o100644) << 16, to: &directory)
    add(offset, to: &directory)
    directory += Array(item.name.utf8)
  }
  var end: [UInt8] = [0x50, 0x4B, 5, 6, 0, 0, 0, 0]
  add(UInt16(items.count), to: &end)
  add(UInt16(items.count), to: &end)
  add(UInt32(directory.count), to: &end)
  add(UInt32(archive.count), to: &end)
  add(UInt16(0), to: &end)
  return archive + directory + end
}

/// The raw deflate stream and the CRC-32 of bytes, cut out of an archive that libzip wrote.
private func deflated(_ bytes: [UInt8]) throws -> ([UInt8], UInt32) {
  let scratch = try Scratch()
  let source = try scratch.write("data", bytes)
  try ZipWriter.write(files: [("n", source)], to: scratch("zip"))
  let zip = try scratch.bytes("zip")
  // libzip stores what does not shrink; such data is wrapped in stored deflate blocks by hand.
  let crc = zip[14..<18].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
  let size = zip[18..<22].reversed().reduce(0) { $0 << 8 | Int($1) }
  let start = 30 + 1 + Int(zip[28]) + Int(zip[29]) << 8
  if zip[8] == 8 { return (Array(zip[start..<start + size]), crc) }
  var stream: [UInt8] = []
  var rest = bytes[...]
  repeat {
    let block = rest.prefix(65535)
    rest = rest.dropFirst(block.count)
    let length = UInt16(block.count)
    stream += [rest.isEmpty ? 1 : 0, UInt8(length & 255), UInt8(length >> 8)]
    stream += [UInt8(~length & 255), UInt8(~length >> 8)] + block
  } while !rest.isEmpty
  return (stream, crc)
}
