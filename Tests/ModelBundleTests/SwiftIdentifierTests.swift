import Testing

@testable import ModelBundle

@Suite struct SwiftIdentifierTests {
  @Test(arguments: [
    ("image", "image"), ("input-1", "input_1"), ("a.b c", "a_b_c"), ("1st", "_1st"), ("", "__"),
    ("_", "__"), ("$0", "_0"), ("🙂", "__"), ("naïve", "naïve"), ("名前", "名前"), ("a·b", "a_b"),
    ("a\nb", "a_b"), ("\u{301}x", "_\u{301}x"), ("\"", "__"),
  ])
  func membersKeepLettersOfAllScripts(_ name: String, _ expected: String) {
    #expect(
      Array(SwiftIdentifier.memberName(name).unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test(arguments: [
    ("Leaf Classifier", "Leaf_Classifier"), ("3D", "_3D"), ("naïve", "na_ve"), ("名前", "__"),
    ("", "__"),
  ])
  func typesAreASCII(_ name: String, _ expected: String) {
    #expect(SwiftIdentifier.typeName(name) == expected)
  }

  @Test func wordsOfTheLanguageTakeBackticks() {
    #expect(SwiftIdentifier.spelled("class") == "`class`")
    #expect(SwiftIdentifier.spelled("await") == "`await`")
    #expect(SwiftIdentifier.spelled("classes") == "classes")
    #expect(SwiftIdentifier.keywords.isDisjoint(with: SwiftIdentifier.reserved))
  }

  @Test func scopesGiveEachNameOnce() {
    var scope = SwiftScope(reserved: ["a"])
    #expect(scope.take("a") == "a_")
    #expect(scope.take("a") == "a__")
    #expect(scope.take("b") == "b")
    #expect(scope.free("b") == "b_")
    #expect(scope.take("b_") == "b_")
    #expect(scope.take("M", endings: ["Input"]) == "M")
    #expect(scope.take("MInput", endings: ["Input"]) == "MInput_")
    var other = SwiftScope(reserved: ["MInput"])
    #expect(other.take("M", endings: ["Input"]) == "M_")
  }

  @Test func textsBecomeLiterals() {
    #expect(SwiftSource.literal("a\"b\\c") == #""a\"b\\c""#)
    #expect(SwiftSource.literal("\\(x)") == #""\\(x)""#)
    #expect(SwiftSource.literal("\n\r\t\0\u{1F}") == #""\n\r\t\u{0}\u{1F}""#)
    #expect(SwiftSource.literal("\u{2028}\u{202E}\u{FEFF}") == #""\u{2028}\u{202E}\u{FEFF}""#)
    #expect(SwiftSource.literal("é 🙂 名") == "\"é 🙂 名\"")
  }

  @Test func commentsSurviveLineBreaks() {
    var source = SwiftSource()
    source.document("a\rb\r\nc\u{2028}d\u{85}e\u{B}f\u{202E}\u{0}", "", "g \n\n\n")
    #expect(source.text == "/// a\n/// b\n/// c\n/// d\n/// e\n/// f\n///\n/// g\n")
    #expect(SwiftSource.oneLine("a\r\nb\u{2029}\tc") == "a b  c")
  }

  @Test func membersNameOnlyReleasesBeyondThoseOfTheirType() {
    let base = InterfaceAvailability(specificationVersion: 6)
    #expect(
      base.attribute
        == "@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, visionOS 1.0, *)")
    #expect(base.attribute(ofMember: .configuration) == nil)
    #expect(
      base.attribute(ofMember: .shapedHalf)
        == "@available(macOS 15.0, iOS 16.0, tvOS 16.0, watchOS 9.0, visionOS 1.0, *)")
    let first = InterfaceAvailability(specificationVersion: 1)
    #expect(
      first.attribute(ofMember: .configuration)
        == "@available(macOS 10.14, iOS 12.0, tvOS 12.0, watchOS 5.0, visionOS 1.0, *)")
    #expect(InterfaceAvailability(specificationVersion: -5) == first)
    #expect(
      InterfaceAvailability(specificationVersion: 1000)
        == InterfaceAvailability(specificationVersion: 10))
  }
}
