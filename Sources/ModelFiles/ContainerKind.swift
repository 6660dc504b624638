/// The forms in which models come.
public enum ContainerKind: String, Sendable, CaseIterable {
  /// A package folder (`.mlpackage`) with a manifest.
  case package
  /// A zip archive that holds one of the others.
  case archive
  /// A single file: a serialized `Model` message (`.mlmodel`).
  case specification
  /// A compiled bundle folder (`.mlmodelc`).
  case compiled
}

/// Recognises files that are no model by their first bytes.
enum FileSignature {
  /// Throws when the bytes cannot start a serialized `Model` message.
  static func checkSpecification(_ file: MappedFile) throws(FileError) {
    if file.count == 0 { throw .malformed(file.path, "the file is empty") }
    if file.isLFSPointer { throw .malformed(file.path, FileError.lfsPointerMessage) }
    for (prefix, name) in signatures where file.bytes.starts(with: prefix) {
      throw .unsupported(file.path, "not a Core ML model but \(name)")
    }
    if file.count > 262, file.bytes[257..<262].elementsEqual("ustar".utf8) {
      throw .unsupported(file.path, "not a Core ML model but a tar archive")
    }
    guard startsLikeModel(file.bytes) else {
      throw .malformed(
        file.path, "not a Core ML model: its first bytes start no specification", offset: 0)
    }
  }

  private static let signatures: [(prefix: [UInt8], name: String)] = [
    ([0x1F, 0x8B], "gzip-compressed data (decompress it first)"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "xz-compressed data (decompress it first)"),
    ([0x28, 0xB5, 0x2F, 0xFD], "zstd-compressed data (decompress it first)"),
    (Array("BZh".utf8), "bzip2-compressed data (decompress it first)"),
    ([0x37, 0x7A, 0xBC, 0xAF], "a 7z archive"),
    ([0x89, 0x48, 0x44, 0x46], "an HDF5 file (Keras)"),
    ([0x93, 0x4E, 0x55, 0x4D, 0x50, 0x59], "a NumPy file"),
    (Array("GGUF".utf8), "a GGUF file"),
    ([0x80, 0x02], "a Python pickle"),
    (Array("{".utf8), "JSON text"),
    (Array("<".utf8), "an HTML or XML page (a failed download?)"),
  ]

  /// Whether the first bytes are the tag of a field that `Model` has: 1, 2, 10 or one of the model
  /// types, 200 to 3000; wire types varint and length-delimited.
  static func startsLikeModel(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var tag: UInt32 = 0
    for (index, byte) in bytes.prefix(3).enumerated() {
      tag |= UInt32(byte & 0x7F) << UInt32(7 * index)
      if byte & 0x80 == 0 {
        switch (tag >> 3, tag & 7) {
        case (1, 0), (10, 0), (2, 2), (200...4000, 2): return true
        default: return false
        }
      }
    }
    return false
  }
}
