/// Orders the versions that authors give their models.
///
/// Runs of digits compare as numbers, other runs as texts; numbers come after texts, so that 1.10
/// follows 1.9 and 1.0 follows 1.0-beta. A model without a version comes first.
enum VersionOrder {
  private enum Part: Comparable {
    /// What stands where one version has ended: behind a pre-release, before a further number.
    case text(String)
    case end
    case number(String)

    static func < (left: Part, right: Part) -> Bool {
      switch (left, right) {
      case (.text(let left), .text(let right)): left < right
      case (.number(let left), .number(let right)):
        (left.utf8.count, left) < (right.utf8.count, right)
      case (.text, _): if case .text = right { false } else { true }
      case (.end, .number): true
      default: false
      }
    }
  }

  /// Whether `left` is the older version.
  static func precedes(_ left: String, _ right: String) -> Bool {
    if left.isEmpty || right.isEmpty { return left.isEmpty && !right.isEmpty }
    let (left, right) = (parts(left), parts(right))
    for index in 0..<max(left.count, right.count) {
      let own = index < left.count ? left[index] : .end
      let other = index < right.count ? right[index] : .end
      if own != other { return own < other }
    }
    return false
  }

  private static func parts(_ version: String) -> [Part] {
    var text = Substring(version)
    if text.first == "v" || text.first == "V" { text = text.dropFirst() }
    var parts: [Part] = []
    while let first = text.first {
      if first.isASCII && first.isNumber {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let number = digits.drop { $0 == "0" }
        parts.append(.number(String(number)))
        text = text.dropFirst(digits.count)
      } else {
        let word = text.prefix { !($0.isASCII && $0.isNumber) }
        let name = word.filter { $0.isLetter }
        if !name.isEmpty { parts.append(.text(name.lowercased())) }
        text = text.dropFirst(word.count)
      }
    }
    return parts
  }
}
