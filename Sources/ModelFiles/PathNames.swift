/// Functions on path texts; nothing here touches the file system.
package enum PathNames {
  /// The path without slashes at its end; the root stays "/".
  package static func trimmed(_ path: String) -> String {
    var text = Substring(path)
    while text.utf8.count > 1 && text.hasSuffix("/") { text = text.dropLast() }
    return String(text)
  }

  /// The part after the last slash.
  package static func last(_ path: String) -> String {
    let text = trimmed(path)
    guard let slash = text.lastIndex(of: "/") else { return text }
    return String(text[text.index(after: slash)...])
  }

  /// The folder that holds the path; "." for a bare name.
  package static func parent(_ path: String) -> String {
    let text = trimmed(path)
    guard let slash = text.lastIndex(of: "/") else { return "." }
    return slash == text.startIndex ? "/" : String(text[..<slash])
  }

  /// Whether `name` ends in `suffix`, case ignored.
  static func hasSuffix(_ name: String, _ suffix: String) -> Bool {
    name.lowercased().hasSuffix(suffix)
  }

  /// Why a relative path from a file cannot be used, or nil when it names something below a base.
  static func fault(inRelative path: String) -> String? {
    if path.isEmpty { return "the name is empty" }
    if path.utf8.contains(0) { return "the name holds a zero byte" }
    if path.hasPrefix("/") { return "the name is absolute" }
    if path.utf8.contains(UInt8(ascii: "\\")) { return "the name holds a backslash" }
    if path.split(separator: "/").contains("..") { return "the name leaves its folder (..)" }
    if path.split(separator: "/").allSatisfy({ $0 == "." }) { return "the name is empty" }
    if path.split(separator: "/").count > FileTree.maximumDepth {
      return "the name has more than \(FileTree.maximumDepth) parts"
    }
    if path.utf8.count > 4096 { return "the name is longer than 4096 bytes" }
    return nil
  }

  /// The path without empty and "." components.
  static func normalized(_ path: String) -> String {
    path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
  }
}
