import Foundation
import ModelGraph
import TestSupport
import Testing

/// The pages of `mlt plan --html`, as text and in a browser.
@Suite struct PlanPageTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// The page of a model.
  private func page(_ model: String, _ arguments: [String] = []) throws -> String {
    let result = try Executable.run(
      ["plan", model, "--html", "page.html", "--force"] + arguments, in: folder.path)
    #expect(result.status == 0, "\(result.error)")
    return String(decoding: try folder.bytes("page.html"), as: UTF8.self)
  }

  private func write(_ model: Model) throws -> String {
    try TestPackage.write(model, to: folder("m.mlpackage"))
    return "m.mlpackage"
  }

  /// Activation functions in turn, `count` of them; each tenth of a kind that the Neural Engine lacks.
  private func chain(_ count: Int, names: (Int) -> String = { "a\($0)" }) -> Model {
    var operations: [GraphOperation] = []
    for index in 0..<count {
      let input = index == 0 ? "x" : names(index - 1)
      let output = Make.tensor(names(index), [1, 64, 32])
      if index % 10 == 9 {
        var part = Make.operation("band_part", ["x": input], output)
        part.inputs["lower"] = .value(.int32(-1))
        part.inputs["upper"] = .value(.int32(0))
        operations.append(part)
      } else {
        operations.append(Make.operation("add", ["x": input, "y": "x"], output))
      }
    }
    return Make.model(
      9, [Make.tensor("x", [1, 64, 32])], operations,
      outputs: [Make.tensor(names(count - 1), [1, 64, 32])])
  }

  private static let encoder = "\(TestData.package)/samples/SentenceEncoder.mlpackage"

  private static let sections = [
    "summary", "timeline", "top", "types", "roofline", "memory", "advice", "operations",
    "assumptions",
  ]

  @Test func pagesHoldAllParts() throws {
    let page = try page(Self.encoder)
    for section in Self.sections {
      #expect(page.contains("<section id=\"\(section)\">"), "\(section)")
    }
    #expect(page.contains("<h1>SentenceEncoder</h1>"))
    #expect(page.contains("iPhone 15 Pro"))
    #expect(page.contains("block0_up"))
    #expect(page.contains("prefers-color-scheme:dark"))
    #expect(page.contains("@media print"))
    for external in ["http:", "https:", "src=", "@import", "url(", "<link"] {
      #expect(!page.contains(external), "\(external)")
    }
  }

  @Test func samePlanSamePage() throws {
    #expect(try page(Self.encoder) == page(Self.encoder))
  }

  @Test func namesAreEscaped() throws {
    let hostile = "<script>alert(1)</script>\"'&\u{202E}"
    let page = try page(try write(chain(12) { "\(hostile)\($0)" }))
    #expect(!page.contains("<script>alert"))
    #expect(!page.contains("\u{202E}"))
    #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\u{202E}11"))
  }

  @Test func pipelinesListTheirModels() throws {
    let page = try page("\(TestData.package)/Tests/Conformance/models/pipe_mlprogram.mlpackage")
    #expect(page.contains("<section id=\"children\">"))
    #expect(page.contains("model1/y1_cast_fp16"))
  }

  @Test(arguments: ["sk_rf.mlmodel", "sk_linreg.mlmodel"])
  func classicModelsHaveAPage(_ name: String) throws {
    let page = try page("\(TestData.package)/Tests/Conformance/models/\(name)")
    #expect(page.contains("<section id=\"operations\">"))
    #expect(!page.contains("nan") && !page.contains("inf%"))
  }

  @Test func pagesOfManyOperationsStaySmall() throws {
    let page = try page(try write(chain(10_000)))
    #expect(page.utf8.count < 1_500_000)
    #expect(page.contains("the 8500 others take"))
    #expect(page.components(separatedBy: "<rect").count < 5000)
  }

  // MARK: In a browser

  /// A browser, or nil where there is none.
  private static let browser: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return ["chromium", "chromium-browser", "google-chrome"].flatMap { name in
      folders.map { "\($0)/\(name)" }
    }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()
  private static let absence: Comment = "no chromium in PATH"

  /// The document after its scripts have run, and what the browser's console says.
  private func load(_ page: String) throws -> (document: String, console: [Substring]) {
    try folder.write("shown.html", Array(page.utf8))
    let arguments = [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--user-data-dir=\(folder("profile"))", "--enable-logging=stderr", "--window-size=1400,1000",
      "--dump-dom", "file://\(folder("shown.html"))",
    ]
    let result = try Executable.run(
      arguments, in: folder.path, environment: ["HOME": folder.path],
      script: "exec '\(Self.browser ?? "false")' \"$@\"")
    #expect(result.status == 0 && !result.isTimedOut, "\(result.error.suffix(2000))")
    return (
      result.output, result.error.split(separator: "\n").filter { $0.contains("CONSOLE") }
    )
  }

  @Test(.enabled(if: browser != nil, absence))
  func browsersShowThePageWithoutErrors() throws {
    // The control: what an error looks like.
    #expect(try load("<script>nothing()</script>").console.count == 1)
    let page = try page(Self.encoder)
    let shown = try load(page)
    #expect(shown.console == [])
    for section in Self.sections {
      #expect(shown.document.contains("<section id=\"\(section)\">"), "\(section)")
    }
    // The script has made the titles of columns into buttons.
    #expect(shown.document.contains("<th class=\"n\"><button>time</button></th>"))
    let press = "<script>document.querySelectorAll('th button')[4].click()</script></body>"
    let sorted = try load(page.replacingOccurrences(of: "</body>", with: press))
    #expect(sorted.console == [])
    #expect(sorted.document.contains("aria-sort=\"descending\""))
    let rows = try #require(sorted.document.components(separatedBy: "<tbody>").last)
    let first = try #require(rows.components(separatedBy: "</tr>").first)
    #expect(first.contains(">block0_up<"), "\(first)")
  }

  @Test(.enabled(if: browser != nil, absence))
  func browsersShowManyOperations() throws {
    let shown = try load(try page(try write(chain(10_000))))
    #expect(shown.console == [])
    #expect(shown.document.contains("<button>time</button>"))
  }
}
