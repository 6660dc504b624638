/// Sizes and ages as options give them.
enum Quantity {
  /// Bytes: `5MB`, `800 kB`, `1.5GB`, `12345`; also MiB and the like.
  static func bytes(_ text: String, option: String) throws -> Int {
    let units: [(String, Double)] = [
      ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("tb", 1e12), ("kib", 1024), ("mib", 1_048_576),
      ("gib", 1_073_741_824), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("b", 1), ("", 1),
    ]
    return Int(try number(text, units, option: option, example: "a size such as 5MB"))
  }

  /// Nanoseconds: `30d`, `12h`, `2w`, `45m`, `90s`.
  static func nanoseconds(_ text: String, option: String) throws -> Int64 {
    let units: [(String, Double)] = [
      ("s", 1), ("m", 60), ("h", 3600), ("d", 86400), ("w", 604_800), ("", 86400),
    ]
    let seconds = try number(text, units, option: option, example: "an age such as 30d")
    return Int64(min(seconds, 1e9) * 1e9)
  }

  private static func number(
    _ text: String, _ units: [(String, Double)], option: String, example: String
  ) throws -> Double {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = text.dropFirst(digits.count).filter { $0 != " " }.lowercased()
    guard let number = Double(digits), let factor = units.first(where: { $0.0 == unit })?.1,
      number >= 0, number * factor < 1e15
    else { throw UsageError("--\(option) is \(example), not \"\(text)\"") }
    return number * factor
  }
}
