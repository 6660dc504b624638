import Foundation
import TestSupport
import Testing

@Suite struct CommandLineTests {
  @Test(arguments: CommandLineCase.all)
  func commandLine(_ testCase: CommandLineCase) throws {
    if testCase.isMissingData { return }
    try testCase.run()
  }

  @Test(
    .enabled(if: TestFiles.exists("/dev/full"), "the system has no /dev/full"),
    arguments: [["--help"], ["--version"], ["quantize", "--help"], ["inspect", "--help"]])
  func standardOutputThatIsFull(_ arguments: [String]) throws {
    let result = try Executable.run(arguments, in: "/", outputFile: "/dev/full")
    #expect(result.status == 74)
    #expect(result.error.hasPrefix("mlt: error: standard output: "))
  }

  @Test func casesAreFound() { #expect(CommandLineCase.all.count > 40) }

  @Test func patternsMatchWhatTheySay() {
    func matches(_ text: String, _ pattern: String) -> Bool {
      TextPattern.matches(
        text.split(separator: "\n", omittingEmptySubsequences: false)[...],
        pattern.split(separator: "\n", omittingEmptySubsequences: false)[...])
    }
    #expect(matches("a\nb\nc", "a\n...\nc"))
    #expect(matches("a\nc", "a\n...\nc"))
    #expect(matches("one 12 two", "one * two"))
    #expect(!matches("a\nb\nc", "a\nc"))
    #expect(!matches("a\nb", "a"))
    #expect(!matches("one two", "one * three"))
  }
}
