import ModelBundle
import ModelFiles
import ModelGraph
import ModelPlan
import ModelSpec

/// Where the operations of a model would run, and what they would cost.
enum PlanCommand: Command {
  static let name = "plan"
  static let summary = "estimate where each operation runs, how long it takes and why"
  static let options: [Option] = [
    .value("device", "NAME", "a device or chip, iphone-15-pro (default), m1-max, a16"),
    .value("units", "all|cpu|cpu-gpu|cpu-ne", "the units that may run operations (all)"),
    .value(
      "shape", "INPUT=1,3,640,640", "the shape of a flexible input (default: its own; repeatable)",
      repeatable: true),
    .value("function", "NAME", "the function of the program (default: its default one)"),
    .value("compare", "OTHER", "a model or device to set beside: a table of differences"),
    .value("html", "FILE", "write the plan as a page that stands alone"),
    .flag("force", "replace FILE if it exists"),
    .flag("devices", "list the devices and chips with their figures"),
    .value("device-file", "FILE", "a JSON file with devices and chips of your own"),
  ]
  static let operands = "MODEL"
  static let discussion = """
    An estimate from the graph alone: no Apple hardware or runtime takes part. Every placement has a
    reason with its source and confidence: A documented by Apple, M measured by others, R reported,
    D derived. The latency is fitted to published ones of the Neural Engine; the range should hold
    four of five. Neural networks have no plan.
    """

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    var catalog = DeviceCatalog.standard
    if let file = arguments.string("device-file") {
      let bytes = try MappedFile(path: file).withBytes { Array($0) }
      do {
        catalog = catalog.adding(try DeviceCatalog(json: bytes))
      } catch {
        throw Failure(code: 2, kind: "malformed", message: error.message, path: file)
      }
    }
    if arguments.has("devices") {
      guard arguments.operands.isEmpty else { throw UsageError("--devices takes no MODEL") }
      try PlanDevices(catalog: catalog).show(console)
      return 0
    }
    let path = try arguments.operand("MODEL")
    let model = try LoadedModel.open(path: path, readingWeights: false).loaded.model
    let planner = try self.planner(
      arguments.string("device") ?? "iphone-15-pro", catalog, arguments)
    let shapes = try self.shapes(arguments)
    let plan = try planner.plan(model, function: arguments.string("function"), shapes: shapes)
    if let page = arguments.string("html") {
      try FileOutput.check(page, "--html", against: [(path, "MODEL")])
      let text = PlanPage(plan: plan, title: ModelName.stem(of: path), model: path).html
      try AtomicFile.write(Array(text.utf8), to: page, force: arguments.has("force"))
    } else if arguments.has("force") {
      throw UsageError("--force replaces the file of --html")
    }
    if let other = arguments.string("compare") {
      let second = try compared(other, planner, model, shapes, catalog, arguments)
      let comparison = PlanComparison(
        left: plan, right: second.plan, leftName: second.isDevice ? planner.device.title : path,
        rightName: second.name)
      try show(comparison.json(path), comparison.lines, console)
    } else {
      try show(PlanJSON.document(plan, path: path), PlanText(plan: plan, path: path).lines, console)
    }
    return 0
  }

  private static func show(_ json: JSONValue, _ lines: [String], _ console: Console) throws {
    if console.isJSON {
      try console.print(json)
    } else {
      try console.print(lines.map(\.onOneLine).joined(separator: "\n"))
    }
  }

  private static func planner(
    _ name: String, _ catalog: DeviceCatalog, _ arguments: Arguments
  ) throws -> Planner {
    guard let device = catalog.choice(name) else {
      let near = Arguments.nearest(to: name.lowercased(), in: catalog.names)
      throw UsageError(
        "there is no device \"\(name)\"",
        hint: near.map { "did you mean \($0)? mlt plan --devices lists all" }
          ?? "mlt plan --devices lists all")
    }
    var planner = Planner(device: device, sources: catalog.sources)
    planner.units = arguments.string("units").flatMap(Planner.Units.init) ?? .all
    return planner
  }

  /// The other side of a comparison: a device where the name is one, else a model.
  private static func compared(
    _ other: String, _ planner: Planner, _ model: Model, _ shapes: [String: [Int]],
    _ catalog: DeviceCatalog, _ arguments: Arguments
  ) throws -> (plan: Plan, name: String, isDevice: Bool) {
    let function = arguments.string("function")
    if catalog.choice(other) != nil, !FileOutput.exists(other) {
      let second = try self.planner(other, catalog, arguments)
      let plan = try second.plan(model, function: function, shapes: shapes)
      return (plan, second.device.title, true)
    }
    let second = try LoadedModel.open(path: other, readingWeights: false).loaded.model
    return (try planner.plan(second, function: function, shapes: shapes), other, false)
  }

  /// `INPUT=1,3,640,640`; also with `x` between the sizes.
  private static func shapes(_ arguments: Arguments) throws -> [String: [Int]] {
    var shapes: [String: [Int]] = [:]
    for text in arguments.strings("shape") {
      guard let equals = text.lastIndex(of: "="), equals != text.startIndex else {
        throw UsageError("--shape is INPUT=1,3,640,640, not \"\(text)\"")
      }
      let sizes = text[text.index(after: equals)...].split(
        omittingEmptySubsequences: false, whereSeparator: { $0 == "," || $0 == "x" })
      let numbers = sizes.compactMap { Int($0) }
      guard numbers.count == sizes.count, numbers.allSatisfy({ $0 >= 0 && $0 <= 1 << 40 }) else {
        throw UsageError("--shape is INPUT=1,3,640,640, not \"\(text)\"")
      }
      let name = String(text[..<equals])
      if shapes[name] != nil { throw UsageError("the shape of \(name) is given twice") }
      shapes[name] = numbers
    }
    return shapes
  }
}
