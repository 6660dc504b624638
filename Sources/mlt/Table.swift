/// Rows of text in aligned columns.
struct Table {
  enum Alignment: Sendable {
    case left
    case right
  }

  private let alignments: [Alignment]
  private var rows: [[String]] = []

  /// A table; `header` may be empty.
  init(_ header: [String] = [], alignments: [Alignment]) {
    self.alignments = alignments
    if !header.isEmpty { rows.append(header) }
  }

  mutating func add(_ cells: [String]) { rows.append(cells.map(\.onOneLine)) }

  var isEmpty: Bool { rows.isEmpty }

  /// The lines, each indented by `indent` spaces, two spaces between columns.
  func lines(indent: Int = 2) -> [String] {
    let widths = alignments.indices.map { column in
      rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.map { row in
      var line = String(repeating: " ", count: indent)
      for (column, cell) in row.enumerated() {
        if column > 0 { line += "  " }
        line +=
          alignments[column] == .left
          ? cell.padded(to: widths[column]) : cell.rightAligned(to: widths[column])
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}

/// Numbers as a person reads them.
enum Human {
  /// Bytes in decimal units with three digits: `37 B`, `1.05 MB`.
  static func bytes(_ count: Int) -> String {
    scaled(Double(count), ["B", "kB", "MB", "GB", "TB"])
  }

  /// A count in decimal units: `812`, `4.19 M`.
  static func count(_ count: Int) -> String {
    count < 10_000 ? String(count) : scaled(Double(count), ["", "k", "M", "G", "T"])
  }

  /// A number with `digits` digits behind the point.
  static func fixed(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    var factor = 1.0
    for _ in 0..<digits { factor *= 10 }
    let scaled = (abs(value) * factor).rounded()
    let whole = Int(scaled / factor)
    let sign = value < 0 && scaled > 0 ? "-" : ""
    if digits == 0 { return "\(sign)\(whole)" }
    let fraction = String(Int(scaled - Double(whole) * factor))
    return "\(sign)\(whole)." + String(repeating: "0", count: max(0, digits - fraction.count))
      + fraction
  }

  /// A number with four significant digits, in exponent form when it is very small or large.
  static func significant(_ value: Double) -> String {
    if value == 0 { return "0" }
    guard value.isFinite else { return "\(value)" }
    var exponent = 0
    var mantissa = abs(value)
    while mantissa >= 10, exponent < 400 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
    while mantissa < 1, exponent > -400 { (mantissa, exponent) = (mantissa * 10, exponent - 1) }
    if exponent < -4 || exponent > 6 {
      return (value < 0 ? "-" : "") + fixed(mantissa, 3) + "e\(exponent)"
    }
    return fixed(value, max(0, 3 - exponent))
  }

  private static func scaled(_ value: Double, _ units: [String]) -> String {
    var value = value
    var unit = 0
    while value >= 999.5, unit + 1 < units.count {
      value /= 1000
      unit += 1
    }
    let digits = unit == 0 ? 0 : value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
    return units[unit].isEmpty ? fixed(value, digits) : "\(fixed(value, digits)) \(units[unit])"
  }
}
