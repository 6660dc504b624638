import Testing

@testable import ModelPasses

/// YAML as PyYAML, and with it coremltools, reads it.
@Suite struct ConfigSyntaxTests {
  private func value(_ text: String) throws -> ConfigNode {
    let documents = try ConfigReader.documents(Array("a: \(text)\n".utf8))
    guard case .map(let members) = documents.first, let first = members.first else {
      throw ConfigError(message: "no mapping")
    }
    return first.value
  }

  @Test func truthValues() throws {
    for word in ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"] {
      #expect(try value(word) == .bool(true))
    }
    for word in ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"] {
      #expect(try value(word) == .bool(false))
    }
    for word in ["y", "n", "yEs", "\"yes\"", "'off'"] {
      #expect(try value(word) == .string(word.filter { $0 != "\"" && $0 != "'" }))
    }
    for word in ["", "~", "null", "Null", "NULL"] { #expect(try value(word) == .null) }
  }

  @Test(
    arguments: [
      ("0", 0), ("12", 12), ("-3", -3), ("+7", 7), ("1_000", 1000), ("0x1F", 31), ("-0x1f", -31),
      ("0b101", 5), ("010", 8), ("-010", -8), ("0x1_0", 16),
    ])
  func integers(_ text: String, _ number: Int) throws {
    #expect(try value(text) == .integer(number))
  }

  @Test func numbers() throws {
    #expect(try value("1.5") == .number(1.5))
    #expect(try value(".5") == .number(0.5))
    #expect(try value("1e-12") == .number(1e-12))
    #expect(try value("-1.5E+3") == .number(-1500))
    #expect(try value("1_0.5") == .number(10.5))
    for text in ["08", "0x", "0xG", "1-2", "e", ".", "1:30", "--1", "0b2", "_1", "1e", "0x-1"] {
      #expect(try value(text) == .string(text))
    }
    #expect(try value("99999999999999999999") == .string("99999999999999999999"))
  }

  /// Names of operations that look like something else.
  @Test func keysAreTexts() throws {
    let documents = try ConfigReader.documents(Array("{on: 1, 0x10: 2, 010: 3, ~: 4}".utf8))
    guard case .map(let members) = documents.first else { throw ConfigError(message: "no mapping") }
    #expect(members.map(\.key) == ["on", "0x10", "010", "~"])
  }

  private func members(_ text: String) throws -> ConfigNode {
    guard case .map(let members) = try ConfigReader.documents(Array(text.utf8)).first,
      let last = members.last
    else { throw ConfigError(message: "no mapping") }
    return last.value
  }

  @Test func mergeKeys() throws {
    let bases = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\n"
    #expect(
      try members(bases + "c: {<<: *a, y: 5, w: 6}\n")
        == .map([("x", .integer(1)), ("y", .integer(5)), ("w", .integer(6))]))
    #expect(
      try members(bases + "c: {w: 6, <<: [*a, *b]}\n")
        == .map([
          ("x", .integer(1)), ("y", .integer(2)), ("z", .integer(4)), ("w", .integer(6)),
        ]))
    #expect(
      try members(bases + "d: &d {<<: *a, z: 7}\ne: {<<: *d}\n")
        == .map([("x", .integer(1)), ("y", .integer(2)), ("z", .integer(7))]))
    #expect(try members(bases + "c: {\"<<\": 1}\n") == .map([("<<", .integer(1))]))
    for wrong in ["c: {<<: 1}\n", "c: {<<: [*a, 1]}\n", "c: {<<: *a, <<: *b}\n"] {
      #expect(throws: ConfigError.self) { try members(bases + wrong) }
    }
  }

  @Test func namesGivenTwice() {
    for text in ["{a: 1, a: 2}", "{a: 1, \"a\": 2}"] {
      #expect(throws: ConfigError.self) { try ConfigReader.documents(Array(text.utf8)) }
    }
    let config = "config_type: OpPalettizerConfig\nop_name_configs: {w: null, \"\\\\w\": null}\n"
    #expect(throws: ConfigError.self) { try CompressionConfig.documents(Array(config.utf8)) }
  }
}
