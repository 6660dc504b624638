import ModelTensors

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Where a command's results, notes and progress go.
struct Console: Sendable {
  /// Whether the result is one JSON document.
  let isJSON: Bool
  let isQuiet: Bool
  let parallel: Parallel

  init(isJSON: Bool = false, isQuiet: Bool = false, parallel: Parallel = Parallel()) {
    self.isJSON = isJSON
    self.isQuiet = isQuiet
    self.parallel = parallel
  }

  /// Prints a result to standard output.
  func print(_ text: String) throws { try write(text + "\n") }

  /// Writes a text that ends its own lines to standard output.
  func write(_ text: String) throws { try write(text, to: STDOUT_FILENO) }

  /// Prints the JSON document.
  func print(_ json: JSONValue) throws { try print(json.text) }

  /// Prints a note to standard error.
  func note(_ text: String) {
    if !isQuiet { try? write("mlt: \(text.onOneLine)\n", to: STDERR_FILENO) }
  }

  /// Prints an error: one line to standard error, a hint below it, with `--json` an object to
  /// standard output as well.
  func report(_ failure: Failure) {
    let place = failure.path.isEmpty ? "" : "\(failure.path): "
    var text = "mlt: error: \((place + failure.message).onOneLine)\n"
    if let hint = failure.hint { text += "hint: \(hint.onOneLine)\n" }
    try? write(text, to: STDERR_FILENO)
    if isJSON {
      try? print(
        .object([
          (
            "error",
            .object([
              ("code", .integer(Int(failure.code))), ("kind", .string(failure.kind)),
              ("message", .string(failure.message)),
              ("path", failure.path.isEmpty ? .null : .string(failure.path)),
            ])
          )
        ]))
    }
  }

  /// Shows how far a long job is: a bar, on a terminal only.
  ///
  /// A `fraction` of nil removes it.
  func progress(_ fraction: Double?, _ label: String) {
    guard !isQuiet, isatty(STDERR_FILENO) == 1 else { return }
    guard let fraction else {
      try? write("\r\u{1B}[K", to: STDERR_FILENO)
      return
    }
    let filled = Int(max(0, min(1, fraction)) * 30)
    let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: 30 - filled)
    try? write("\r\u{1B}[K[\(bar)] \(Int(fraction * 100))% \(label)", to: STDERR_FILENO)
  }

  private func write(_ text: String, to file: Int32) throws {
    var text = text
    try text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        #if canImport(Darwin)
          let count = Darwin.write(file, rest.baseAddress, rest.count)
        #elseif canImport(Musl)
          let count = Musl.write(file, rest.baseAddress, rest.count)
        #else
          let count = Glibc.write(file, rest.baseAddress, rest.count)
        #endif
        if count < 0 {
          if errno == EINTR { continue }
          throw Failure(
            code: 74, kind: "system", message: "cannot write: \(String(cString: strerror(errno)))",
            path: "standard output")
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
    }
  }
}
