import ModelTensors

/// A reader of "MIL blob storage v2", the weight files of model packages.
public struct BlobFile: Sendable {
  /// The mapped file.
  public let file: MappedFile
  /// The number of records that the header declares.
  public let declaredCount: Int

  /// Checks the header; a file of 0 bytes holds no records.
  public init(_ file: MappedFile) throws(FileError) {
    self.file = file
    if file.count == 0 {
      declaredCount = 0
      return
    }
    if file.isLFSPointer { throw .malformed(file.path, FileError.lfsPointerMessage) }
    guard file.count >= BlobFormat.alignment, let count = file.integer(UInt32.self, at: 0),
      let version = file.integer(UInt32.self, at: 4)
    else {
      throw .malformed(
        file.path, "blob header: the file ends after \(file.count) of 64 bytes", offset: 0)
    }
    guard version == BlobFormat.version else {
      throw .unsupported(file.path, "blob storage version \(version), expected 2 (byte offset 4)")
    }
    declaredCount = Int(count)
  }

  /// The record whose metadata starts at `offset`.
  ///
  /// - Throws: ``FileError`` when a field of the metadata is impossible.
  public func record(at offset: UInt64) throws(FileError) -> BlobRecord {
    func fault(_ message: String, _ field: UInt64 = 0) -> FileError {
      .malformed(file.path, "blob record at \(offset): \(message)", offset: offset &+ field)
    }
    let size = UInt64(file.count)
    if file.count == 0 { throw fault("the weight file is empty") }
    guard offset >= 64 else { throw fault("the offset lies inside the file header") }
    guard size >= 64, offset <= size - 64 else {
      throw fault("the metadata ends beyond the file of \(size) bytes")
    }
    let start = Int(offset)
    guard let sentinel = file.integer(UInt32.self, at: start),
      let code = file.integer(UInt32.self, at: start + 4),
      let byteCount = file.integer(UInt64.self, at: start + 8),
      let dataOffset = file.integer(UInt64.self, at: start + 16),
      let paddingField = file.integer(UInt64.self, at: start + 24)
    else { throw fault("the metadata ends beyond the file of \(size) bytes") }
    guard sentinel == BlobFormat.sentinel else {
      throw fault("sentinel 0x\(hexadecimal(sentinel)), expected 0xDEADBEEF")
    }
    guard let type = BlobFormat.elementType(code: code) else {
      throw fault("unknown element type \(code)", 4)
    }
    guard dataOffset >= 64, dataOffset <= size else {
      throw fault("data offset \(dataOffset) is outside the file of \(size) bytes", 16)
    }
    guard byteCount <= size - dataOffset else {
      throw fault(
        "\(byteCount) bytes of data at \(dataOffset) reach beyond the file of \(size) bytes", 8)
    }
    guard byteCount <= UInt64(Int.max / 8) else { throw fault("\(byteCount) bytes of data", 8) }
    if byteCount > 0 && dataOffset < offset + 64 && dataOffset + byteCount > offset {
      throw fault("the data at \(dataOffset) overlaps the record's own metadata", 16)
    }
    let bits = Int(byteCount) * 8
    // Writers before sub-byte types left this field uninitialised.
    let padding = type.isSubByte ? paddingField : 0
    guard padding < 8, padding <= UInt64(bits) else {
      throw fault("\(padding) bits of padding for \(byteCount) bytes of \(type.rawValue)", 24)
    }
    guard (bits - Int(padding)) % type.bitWidth == 0 else {
      throw fault(
        "\(byteCount) bytes less \(padding) bits are no whole number of \(type.rawValue) elements",
        8)
    }
    return BlobRecord(
      elementType: type, offset: offset, dataOffset: dataOffset, byteCount: Int(byteCount),
      paddingBits: Int(padding))
  }

  /// All records in file order, each where the end of the one before puts it.
  public func records() throws(FileError) -> [BlobRecord] {
    var records: [BlobRecord] = []
    var offset: UInt64 = 64
    for _ in 0..<declaredCount {
      let record = try record(at: offset)
      records.append(record)
      let end = (record.dataOffset + UInt64(record.byteCount) + 63) / 64 * 64
      offset = max(end, offset + 64)
    }
    return records
  }

  /// The record's data as a tensor of this shape.
  public func tensor(_ record: BlobRecord, shape: [Int]) throws(FileError) -> MappedTensor {
    guard let count = Shape.elementCount(shape), count == record.elementCount else {
      throw .malformed(
        file.path,
        "blob record at \(record.offset): \(record.elementCount) elements of "
          + "\(record.elementType.rawValue) for the shape \(shape)", offset: record.offset)
    }
    guard record.dataOffset <= UInt64(file.count),
      UInt64(record.byteCount) <= UInt64(file.count) - record.dataOffset
    else {
      throw .malformed(
        file.path, "blob record at \(record.offset): not a record of this file",
        offset: record.offset)
    }
    return MappedTensor(file: file, record: record, shape: shape)
  }

  private func hexadecimal(_ value: UInt32) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}
