import Foundation
import TestSupport
import Testing

/// A test of the executable, as a folder of files.
///
/// - `command`: command lines, each a line of words; those before the last must succeed. Words with
///   spaces stand in double quotes. `{data}` is the folder of conformance data, `{work}` the folder
///   that the command runs in.
/// - `status`: the exit code of the last one.
/// - `stdout`, `stderr` (optional): what it prints. `*` stands for anything within a line, a line
///   `...` for any number of lines.
/// - `files` (optional): a path per line that must be there afterwards, or `!path` that must not.
/// - `input` (optional): a folder whose files are put into the working folder first.
/// - `setup` (optional): steps before that, one per line: `copy FROM TO`, `folder NAME`,
///   `truncate FILE SIZE`, `patch FILE OFFSET HEX`, `append FILE HEX`, `remove FILE`,
///   `replace FILE OLD NEW`.
/// - `environment` (optional): a line `NAME=value` per variable.
/// - `limit` (optional): the largest file that the process may write, in units of 512 bytes.
///
/// In every case: no file that was there before is changed or removed unless `files` names it, no
/// temporary file is left, no signal ends the process.
struct CommandLineCase: Sendable, CustomTestStringConvertible {
  let name: String
  private let folder: String

  static let all: [CommandLineCase] = {
    let root = "\(TestData.package)/Tests/CommandLineTests/Cases"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return names.sorted().filter { TestFiles.exists("\(root)/\($0)/command") }.map {
      CommandLineCase(name: $0, folder: "\(root)/\($0)")
    }
  }()

  var testDescription: String { name }

  /// Whether the case needs data that is not at hand.
  var isMissingData: Bool {
    guard TestData.conformance == nil else { return false }
    return ["command", "setup"].contains { (text($0) ?? "").contains("{data}") }
  }

  private func text(_ file: String) -> String? {
    try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
  }

  private func lines(_ file: String) -> [String] {
    (text(file) ?? "").split(separator: "\n").map(String.init)
  }

  func run() throws {
    let work = try TestFolder()
    for file in TestFiles.exists("\(folder)/input") ? try TestFiles.list("\(folder)/input") : [] {
      try work.copy("\(folder)/input/\(file)", as: file)
    }
    for line in lines("setup") { try SetupStep.run(words(line, work), in: work) }
    var environment: [String: String] = [:]
    for line in lines("environment") {
      let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
      environment[parts[0]] = parts.count > 1 ? parts[1] : ""
    }
    let commands = lines("command")
    let command = try #require(commands.last, "the case has no command")
    for line in commands.dropLast() {
      let result = try Executable.run(arguments(line, work), in: work.path)
      #expect(result.status == 0, "\(line): \(result.error)")
    }
    let before = try contents(work)
    let result = try Executable.run(
      arguments(command, work), in: work.path, environment: environment,
      fileSizeLimit: text("limit").flatMap { Int($0.filter(\.isNumber)) })
    #expect(!result.isTimedOut)
    let status = try #require(text("status").flatMap { Int($0.filter(\.isNumber)) })
    #expect(result.status == status, "\(result.output)\(result.error)")
    expect(result.output, "stdout", work)
    expect(result.error, "stderr", work)
    try checkFiles(before, work)
  }

  private func arguments(_ line: String, _ work: TestFolder) -> [String] {
    let words = words(line, work)
    return words.first == "mlt" ? Array(words.dropFirst()) : words
  }

  /// The words of a line with the placeholders filled in.
  private func words(_ line: String, _ work: TestFolder) -> [String] {
    var words: [String] = []
    var word = ""
    var isOpen = false
    var isQuoted = false
    for character in line {
      switch character {
      case "\"":
        isQuoted.toggle()
        isOpen = true
      case " " where !isQuoted:
        if isOpen { words.append(word) }
        (word, isOpen) = ("", false)
      default:
        word.append(character)
        isOpen = true
      }
    }
    if isOpen { words.append(word) }
    return words.map {
      $0.replacingOccurrences(of: "{data}", with: TestData.conformance(""))
        .replacingOccurrences(of: "//", with: "/")
        .replacingOccurrences(of: "{work}", with: work.path)
    }
  }

  private func expect(_ output: String, _ file: String, _ work: TestFolder) {
    guard let expected = text(file) else { return }
    var output = output.replacingOccurrences(of: work.path, with: "{work}")
    if TestData.conformance != nil {
      output = output.replacingOccurrences(of: TestData.conformance(""), with: "{data}/")
    }
    let pattern = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(
      TextPattern.matches(lines[...], pattern[...]),
      "\(file) is\n\(output)\nexpected\n\(expected)")
  }

  private func contents(_ work: TestFolder) throws -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for file in try work.files() { contents[file] = try work.bytes(file) }
    return contents
  }

  private func checkFiles(_ before: [String: [UInt8]], _ work: TestFolder) throws {
    let named = lines("files")
    for line in named {
      if line.hasPrefix("!") {
        #expect(!TestFiles.exists(work(String(line.dropFirst()))), "\(line)")
      } else {
        #expect(TestFiles.exists(work(line)), "\(line)")
      }
    }
    let after = try contents(work)
    for (file, bytes) in before
    where !named.contains(where: { file == $0 || file.hasPrefix("\($0)/") }) {
      #expect(after[file] == bytes, "\(file) was changed")
    }
    let all = try FileManager.default.subpathsOfDirectory(atPath: work.path)
    for path in all where path.split(separator: "/").contains(where: { $0.hasSuffix(".tmp") }) {
      Issue.record("\(path) is left")
    }
  }
}

/// A step that prepares the working folder.
enum SetupStep {
  static func run(_ words: [String], in work: TestFolder) throws {
    func file(_ index: Int) -> String {
      words[index].hasPrefix("/") ? words[index] : work(words[index])
    }
    switch (words.first, words.count) {
    case ("copy", 3): try work.copy(file(1), as: words[2])
    case ("folder", 2):
      try FileManager.default.createDirectory(
        atPath: file(1), withIntermediateDirectories: true)
    case ("remove", 2): try FileManager.default.removeItem(atPath: file(1))
    case ("truncate", 3):
      try work.write(words[1], Array(try work.bytes(words[1]).prefix(try number(words[2]))))
    case ("append", 3): try work.write(words[1], try work.bytes(words[1]) + hex(words[2]))
    case ("patch", 4):
      var bytes = try work.bytes(words[1])
      let offset = try number(words[2])
      let patch = try hex(words[3])
      guard offset + patch.count <= bytes.count else { throw TestFileError("beyond \(words[1])") }
      bytes.replaceSubrange(offset..<offset + patch.count, with: patch)
      try work.write(words[1], bytes)
    case ("replace", 4):
      let text = String(decoding: try work.bytes(words[1]), as: UTF8.self)
      guard text.contains(words[2]) else { throw TestFileError("no \(words[2]) in \(words[1])") }
      try work.write(
        words[1], Array(text.replacingOccurrences(of: words[2], with: words[3]).utf8))
    default: throw TestFileError("unknown step: \(words.joined(separator: " "))")
    }
  }

  private static func number(_ text: String) throws -> Int {
    guard let number = Int(text), number >= 0 else { throw TestFileError("no number: \(text)") }
    return number
  }

  private static func hex(_ text: String) throws -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count % 2 == 0 else {
      throw TestFileError("no bytes: \(text)")
    }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}

/// Text with wildcards: `*` within a line, `...` for whole lines.
enum TextPattern {
  static func matches(_ lines: ArraySlice<Substring>, _ pattern: ArraySlice<Substring>) -> Bool {
    guard let first = pattern.first else { return lines.isEmpty }
    let rest = pattern.dropFirst()
    if first == "..." {
      return (lines.startIndex...lines.endIndex).contains { matches(lines[$0...], rest) }
    }
    guard let line = lines.first, matches(Array(line), Array(first)) else { return false }
    return matches(lines.dropFirst(), rest)
  }

  /// Whether a line matches; `*` stands for any characters.
  static func matches(_ text: [Character], _ pattern: [Character]) -> Bool {
    var index = 0
    var position = 0
    var star: (pattern: Int, text: Int)?
    while position < text.count {
      if index < pattern.count, pattern[index] == "*" {
        star = (index, position)
        index += 1
      } else if index < pattern.count, pattern[index] == text[position] {
        index += 1
        position += 1
      } else if let last = star {
        star = (last.pattern, last.text + 1)
        index = last.pattern + 1
        position = last.text + 1
      } else {
        return false
      }
    }
    return pattern[index...].allSatisfy { $0 == "*" }
  }
}
