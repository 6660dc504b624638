#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One item of a package's manifest.
public struct PackageItem: Sendable, Equatable {
  /// The key of the item, a UUID.
  public var identifier: String
  /// Who defined the item, such as `com.apple.CoreML`.
  public var author: String
  /// The item's name, such as `model.mlmodel` or `weights`.
  public var name: String
  /// What the item is, in words.
  public var description: String
  /// The file or folder, relative to the package's `Data` folder.
  public var path: String
  /// Whether this is the specification.
  public var isRoot: Bool

  /// Whether the item is a weights folder or file.
  public var isWeights: Bool {
    !isRoot && (name == "weights" || PathNames.last(path) == "weights")
  }
}

/// The contents of a package's `Manifest.json`.
struct Manifest: Equatable {
  /// The specification first, then by path.
  var items: [PackageItem]

  /// The item of the specification.
  var root: PackageItem? { items.first(where: \.isRoot) }

  private struct Fields: Decodable {
    var fileFormatVersion: String?
    var itemInfoEntries: [String: ItemFields]?
    var rootModelIdentifier: String?
  }

  private struct ItemFields: Decodable {
    var author: String?
    var name: String?
    var description: String?
    var path: String?
  }

  /// The largest manifest that is parsed.
  static let maximumBytes = 16 << 20

  init(items: [PackageItem]) { self.items = items }

  /// Parses a manifest and checks that it names a root and paths below its folder.
  init(json: UnsafeRawBufferPointer, path file: String) throws(FileError) {
    if json.starts(with: "version https://git-lfs".utf8) {
      throw .malformed(file, FileError.lfsPointerMessage)
    }
    if json.isEmpty { throw .malformed(file, "the manifest is empty") }
    if json.count > Manifest.maximumBytes {
      throw .unsupported(file, "a manifest of \(json.count) bytes")
    }
    let fields: Fields
    do {
      fields = try JSONDecoder().decode(Fields.self, from: Data(json))
    } catch let error as DecodingError {
      throw .malformed(file, Manifest.text(of: error))
    } catch {
      throw .malformed(file, "the manifest is not valid JSON")
    }
    guard let version = fields.fileFormatVersion else {
      throw .malformed(file, "the manifest has no fileFormatVersion")
    }
    guard version.split(separator: ".").first == "1" else {
      throw .unsupported(file, "manifest version \(version), expected 1.0.0")
    }
    guard let entries = fields.itemInfoEntries else {
      throw .malformed(file, "the manifest has no itemInfoEntries")
    }
    guard let root = fields.rootModelIdentifier else {
      throw .malformed(file, "the manifest has no rootModelIdentifier")
    }
    guard entries[root] != nil else {
      throw .malformed(file, "rootModelIdentifier \(root) is not among the manifest's items")
    }
    var paths: [String: String] = [:]
    var items: [PackageItem] = []
    for (identifier, entry) in entries.sorted(by: { $0.key < $1.key }) {
      guard let path = entry.path else {
        throw .malformed(file, "manifest item \(identifier) has no path")
      }
      if let fault = PathNames.fault(inRelative: path) {
        throw .malformed(file, "manifest item \(identifier): path \"\(path)\": \(fault)")
      }
      let normal = PathNames.normalized(path)
      if let other = paths.updateValue(identifier, forKey: normal) {
        throw .malformed(
          file, "manifest items \(other) and \(identifier) have the same path \"\(path)\"")
      }
      items.append(
        PackageItem(
          identifier: identifier, author: entry.author ?? "", name: entry.name ?? "",
          description: entry.description ?? "", path: normal, isRoot: identifier == root))
    }
    self.items = items.sorted {
      $0.isRoot != $1.isRoot ? $0.isRoot : $0.path.utf8.lexicographicallyPrecedes($1.path.utf8)
    }
  }

  private static func text(of error: DecodingError) -> String {
    switch error {
    case .typeMismatch(_, let context), .valueNotFound(_, let context),
      .keyNotFound(_, let context):
      let place = context.codingPath.map(\.stringValue).joined(separator: ".")
      return "the manifest has a value of the wrong type at \(place.isEmpty ? "its top" : place)"
    default: return "the manifest is not valid JSON"
    }
  }

  /// The text that Apple's library writes: 4 spaces, sorted keys, a newline at the end.
  var json: String {
    var text = "{\n    \"fileFormatVersion\": \"1.0.0\",\n    \"itemInfoEntries\": {\n"
    let sorted = items.sorted { $0.identifier < $1.identifier }
    for (index, item) in sorted.enumerated() {
      text += "        \(Manifest.quoted(item.identifier)): {\n"
      text += "            \"author\": \(Manifest.quoted(item.author)),\n"
      text += "            \"description\": \(Manifest.quoted(item.description)),\n"
      text += "            \"name\": \(Manifest.quoted(item.name)),\n"
      text += "            \"path\": \(Manifest.quoted(item.path))\n"
      text += index + 1 < sorted.count ? "        },\n" : "        }\n"
    }
    text += "    },\n    \"rootModelIdentifier\": \(Manifest.quoted(root?.identifier ?? ""))\n}\n"
    return text
  }

  private static func quoted(_ string: String) -> String {
    var text = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }

  /// A UUID in the form of version 5, from a digest of the specification and the item's path.
  static func identifier(specification: [UInt8], itemPath: String) -> String {
    var digest = ContentDigest()
    digest.update(specification)
    digest.update(Array(itemPath.utf8))
    var bytes = Array(digest.bytes.prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x50
    bytes[8] = bytes[8] & 0x3F | 0x80
    let parts = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
    return parts.map { ContentDigest.hexadecimal(bytes[$0]) }.joined(separator: "-")
  }
}
