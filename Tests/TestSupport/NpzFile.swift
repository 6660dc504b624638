import CZip
import Foundation

/// An array of a `.npz` file.
public struct NpyArray: Sendable {
  /// NumPy's type descriptor, `<f4`.
  public var type: String
  /// The sizes of the axes.
  public var shape: [Int]
  /// The elements, packed and row-major.
  public var bytes: [UInt8]
}

/// What is wrong with a file that a test reads.
public struct TestFileError: Error, CustomStringConvertible {
  /// One line.
  public var description: String

  /// An error with this text.
  public init(_ text: String) { description = text }
}

/// The arrays of a NumPy archive, stored or deflated.
public struct NpzFile: Sendable {
  /// The arrays by name, without `.npy`.
  public private(set) var arrays: [String: NpyArray] = [:]

  /// Reads the archive at `path`.
  public init(path: String) throws {
    var code: Int32 = 0
    guard let archive = zip_open(path, ZIP_RDONLY, &code) else {
      throw TestFileError("\(path): no archive (libzip error \(code))")
    }
    defer { zip_discard(archive) }
    for index in 0..<zip_get_num_entries(archive, 0) {
      var entry = zip_stat_t()
      guard zip_stat_index(archive, UInt64(index), 0, &entry) == 0, let name = entry.name,
        let file = zip_fopen_index(archive, UInt64(index), 0)
      else { throw TestFileError("\(path): entry \(index) cannot be read") }
      defer { zip_fclose(file) }
      var bytes = [UInt8](repeating: 0, count: Int(entry.size))
      var position = 0
      while position < bytes.count {
        let count = bytes.withUnsafeMutableBytes {
          zip_fread(file, $0.baseAddress?.advanced(by: position), UInt64($0.count - position))
        }
        guard count > 0 else { throw TestFileError("\(path): entry \(index) is cut off") }
        position += Int(count)
      }
      let title = String(cString: name)
      let key = title.hasSuffix(".npy") ? String(title.dropLast(4)) : title
      arrays[key] = try NpzFile.array(bytes, "\(path): \(title)")
    }
  }

  /// Takes a `.npy` file of format 1 to 3 apart.
  private static func array(_ bytes: [UInt8], _ place: String) throws -> NpyArray {
    guard bytes.starts(with: [0x93] + Array("NUMPY".utf8)), bytes.count > 12 else {
      throw TestFileError("\(place): no .npy file")
    }
    let isShort = bytes[6] == 1
    let length = bytes[8..<(isShort ? 10 : 12)].reversed().reduce(0) { $0 << 8 | Int($1) }
    let start = isShort ? 10 : 12
    let header = String(decoding: bytes[start..<start + length], as: UTF8.self)
    guard let type = header.firstMatch(of: /'descr': *'([^']*)'/),
      let sizes = header.firstMatch(of: /'shape': *\(([^)]*)\)/)
    else { throw TestFileError("\(place): header \(header)") }
    let shape = sizes.1.split(separator: ",").compactMap {
      Int($0.trimmingCharacters(in: .whitespaces))
    }
    let content = Array(bytes[(start + length)...])
    return NpyArray(
      type: String(type.1), shape: shape,
      bytes: header.contains("'fortran_order': True") ? rowMajor(content, shape) : content)
  }

  /// The bytes of a column-major array in row-major order.
  private static func rowMajor(_ bytes: [UInt8], _ shape: [Int]) -> [UInt8] {
    let count = shape.reduce(1, *)
    if count == 0 { return bytes }
    let size = bytes.count / count
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    for index in 0..<count {
      var rest = index
      var digits: [Int] = []
      for length in shape.reversed() {
        digits.append(rest % length)
        rest /= length
      }
      var place = 0
      for (digit, length) in zip(digits, shape.reversed()) { place = place * length + digit }
      result += bytes[(place * size)..<(place * size + size)]
    }
    return result
  }
}
