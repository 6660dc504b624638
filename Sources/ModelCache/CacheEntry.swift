import ModelBundle
import ModelFiles
import ModelInspection

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the cache knows of one bundle: the content of its `entry.json`.
public struct CacheEntry: Codable, Sendable, Equatable {
  /// One file of the bundle.
  public struct File: Codable, Sendable, Equatable {
    /// The path relative to the bundle.
    public var path: String
    /// The size in bytes.
    public var bytes: Int
    /// When it was written, in nanoseconds since 1970.
    public var modified: Int64
    /// The SHA-256 of the contents in hexadecimal.
    public var sha256: String
  }

  /// The form of this record.
  var schema = CacheEntry.currentSchema
  static let currentSchema = 1

  /// What the bundle is found by.
  public var key: CacheKey
  /// The versions under which the bundle was asked for, oldest first; "" where a model has none.
  public var versions: [String]
  /// The model that it was made from.
  public var source: String
  /// The files of the model, to tell what has changed.
  var sourceFiles: [SourceContent.File]
  /// When it was made, in nanoseconds since 1970.
  public var created: Int64
  /// The files of the bundle, sorted by path.
  public var files: [File]
  /// What the bundle rests on and lacks.
  public var unproved: [String]
  /// What the program holds and the bundle cannot.
  public var dropped: [String]

  /// The bytes of all files.
  public var byteCount: Int { files.reduce(0) { $0 &+ $1.bytes } }
}

/// What a bundle is found by: equal keys, equal bytes.
public struct CacheKey: Codable, Sendable, Hashable {
  /// The name of the model, which is also that of the class that Xcode would generate.
  public var name: String
  /// The SHA-256 of the model's files with their names, in hexadecimal.
  public var content: String
  /// The specification version of the target.
  public var target: Int
  /// ``BundleCompiler/formatVersion`` of the compiler.
  public var format: Int

  /// The key in 64 hexadecimal digits, the name of the entry's folder.
  public var digest: String {
    var digest = ContentDigest()
    digest.update(
      Array("mlt bundle\n\(name.utf8.count) \(name)\n\(content)\n\(target)\n\(format)\n".utf8))
    return digest.hexadecimal
  }

  /// The first release of iOS that loads the bundle, `iOS16`.
  public var targetName: String {
    MinimumOS.label(specificationVersion: target).split(separator: " ").joined()
  }
}

/// Reads and writes the records of the cache.
enum CacheRecord {
  /// Records of models with the most files that a container may have are smaller.
  private static let maximumBytes = 64 << 20

  /// The record in a file, or nil where there is none that can be read.
  static func read<Record: Decodable>(_ path: String, as type: Record.Type) -> Record? {
    guard let file = try? MappedFile(path: path), file.count <= maximumBytes else { return nil }
    return file.withBytes { bytes in
      try? JSONDecoder().decode(type, from: Data(bytes))
    }
  }

  static func bytes(of record: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(record))
  }
}
