import TestSupport
import Testing

@testable import ModelPasses

/// Regular expressions on names.
@Suite struct NameExpressionTests {
  private func matches(_ text: String, _ name: String) throws -> Bool {
    try NameExpression(text).matches(name)
  }

  @Test(
    arguments: [
      ("fc", "my_fc1", true), ("^fc", "my_fc1", false), ("fc$", "fc1", false), ("", "a", false),
      ("x*", "a", false), ("x*", "ax", true), ("a|bc", "xbcx", true), ("^(a|bc)$", "bca", false),
      ("^block[0-3]_", "block3_x", true), ("^block[0-3]_", "block4_x", false),
      ("[^a-c]", "abc", false), ("[^a-c]", "abcd", true), ("[]x]", "]", true),
      ("[a-]", "-", true), ("a.c", "a\nc", false), ("a.c", "aéc", true),
      (#"\d{2,3}$"#, "x1", false), (#"\d{2,3}$"#, "x12", true), (#"^\w+$"#, "größe_1", true),
      (#"^\S+$"#, "a b", false), (#"a\.b"#, "axb", false), (#"a\.b"#, "a.b", true),
      (#"\bfc\b"#, "x.fc.y", true), (#"\bfc\b"#, "xfc", false), (#"a\Bb"#, "ab", true),
      ("^(?:ab)+?$", "abab", true), ("^(?<n>a)(?P<m>b)$", "ab", true), ("^a{2}$", "aaa", false),
      ("^a{2,}$", "aaaa", true), ("^a{0}b$", "b", true), ("^(a*)*b$", "aaab", true),
      ("^(a|ab)(c|bcd)$", "abcd", true), ("^()*a$", "a", true), (#"^[\d_-]+$"#, "1_-2", true),
      (#"^[\]\\]+$"#, #"]\"#, true), ("^(|a)b$", "ab", true), ("^$", "", false),
    ])
  func language(_ text: String, _ name: String, _ expected: Bool) throws {
    #expect(try matches(text, name) == expected, "\(text) on \(name)")
  }

  @Test(
    arguments: [
      "(", "a)", "*a", "a|*", "[a", "[b-a]", #"\1"#, "(?=a)", "(?<!a)", "(?i)a", "a++", "a{2",
      "a{3,2}", "a{x}", #"a\"#, #"\p{L}"#, "((a{100}){100}){100}", "a{100000}",
      String(repeating: "(", count: 100) + String(repeating: ")", count: 100),
    ])
  func errors(_ text: String) {
    #expect(throws: ConfigError.self, "\(text)") { try NameExpression(text) }
  }

  /// Expressions of the common language match as those of Swift do.
  @Test func asSwiftHasIt() throws {
    var random = RandomNumbers(seed: 30)
    func piece(_ depth: Int) -> String {
      switch Int.random(in: 0..<(depth > 2 ? 4 : 8), using: &random) {
      case 0: "a"
      case 1: "b"
      case 2: "."
      case 3: "[ab]"
      case 4: "(\(piece(depth + 1))|\(piece(depth + 1)))"
      case 5: "(\(piece(depth + 1))\(piece(depth + 1)))*"
      case 6: "(\(piece(depth + 1)))?\(piece(depth + 1))"
      default: "(\(piece(depth + 1))){1,2}"
      }
    }
    for _ in 0..<300 {
      let text = "^a\(piece(0))$"
      let own = try NameExpression(text)
      let regex = try Regex(text)
      for _ in 0..<20 {
        let name = String(
          (0..<Int.random(in: 1...6, using: &random)).map { _ in
            ["a", "b", "c"].randomElement(using: &random) ?? "a"
          })
        let expected = try regex.firstMatch(in: name) != nil
        #expect(own.matches(name) == expected, "\(text) on \(name)")
      }
    }
  }

  /// What would keep a backtracking matcher busy for years.
  @Test func hostileExpressions() throws {
    let name = String(repeating: "a", count: 3000)
    for text in ["^(a+)+$", "^(a|a)*$", "^(a*)*b", "(a?){30}a{30}b", "(.*)(.*)(.*)(.*)b$"] {
      #expect(try matches(text, name + "!") == false)
    }
  }
}
