import Testing

@testable import ModelFiles

@Suite struct DigestTests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ]) func knownVectors(_ text: String, _ expected: String) {
    var digest = ContentDigest()
    digest.update(Array(text.utf8))
    #expect(digest.hexadecimal == expected)
  }

  @Test func piecesDoNotMatter() {
    let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
    for length in [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 300] {
      var whole = ContentDigest()
      whole.update(Array(bytes.prefix(length)))
      for step in [1, 3, 64, 100] {
        var pieces = ContentDigest()
        for start in stride(from: 0, to: length, by: step) {
          pieces.update(Array(bytes[start..<min(length, start + step)]))
        }
        #expect(pieces.hexadecimal == whole.hexadecimal)
      }
    }
  }

  @Test func manifestIdentifiers() {
    let first = Manifest.identifier(specification: [1], itemPath: "a")
    #expect(first == Manifest.identifier(specification: [1], itemPath: "a"))
    #expect(first != Manifest.identifier(specification: [2], itemPath: "a"))
    #expect(first != Manifest.identifier(specification: [1], itemPath: "b"))
    let parts = first.split(separator: "-")
    #expect(parts.map(\.count) == [8, 4, 4, 4, 12])
    #expect(parts[2].first == "5" && first == first.lowercased())
  }
}
