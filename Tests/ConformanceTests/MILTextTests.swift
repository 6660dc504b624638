import Foundation
import ModelToolchain
import TestSupport
import Testing

/// Printer and parser are inverse on every program at hand, and on the texts that Apple's compiler
/// has written.
@Suite struct MILTextTests {
  static let models: [String] = {
    let roots = [TestData.conformance, "\(TestData.shared)/conformance"].compactMap { $0 }
    let folders = Set(roots).flatMap { root in
      ["zoo", "models", "ops", "ops_peer"].map { "\(root)/\($0)" }
    }
    let all = folders.sorted() + ["\(TestData.shared)/models", "\(TestData.package)/samples"]
    return (try? TestData.models(in: all)) ?? []
  }()

  static let texts: [String] = {
    let folder = "\(TestData.shared)/models/09-source-and-compiled"
    return ["TokenDurationPrediction", "add_model"].map { "\(folder)/\($0).mlmodelc/model.mil" }
      .filter { TestFiles.exists($0) }
  }()

  @Test(.enabled(if: !models.isEmpty, Comment(rawValue: TestData.absence)))
  func everyProgramSurvives() throws {
    var count = 0
    for path in Self.models {
      let loaded = try LoadedModel(path: path)
      try loaded.model.forEachProgramModel { model, _ in
        guard let program = model.program else { return }
        count += 1
        let printer = MILPrinter(
          specificationVersion: model.specificationVersion, description: model.description)
        let (text, report) = try printer.bytes(of: program)
        let document = try MILParser().parse(text)
        #expect(document.version == printer.version, "\(path)")
        #expect(report.dropped.isEmpty, "\(path)")
        #expect(MILComparison.difference(program, document.program) == nil, "\(path)")
        let again = try MILPrinter(document: document).bytes(of: document.program).text
        #expect(again == text, "\(path)")
        var pieces: [UInt8] = []
        let streamed = try printer.print(program) { pieces += $0 }
        #expect(pieces == text && streamed == report, "\(path)")
      }
    }
    #expect(count > 0)
  }

  @Test(
    .enabled(if: !texts.isEmpty, Comment(rawValue: TestData.absence)), arguments: texts)
  func compiledTextsAreWrittenAsTheyWere(_ path: String) throws {
    let text = try TestFiles.bytes(path)
    let document = try MILParser().parse(text)
    #expect(document.version == MILVersion(major: 1, minor: 0))
    let (again, report) = try MILPrinter(document: document).bytes(of: document.program)
    #expect(again == text)
    #expect(report == MILPrinter.Report())
  }
}

/// Compares programs in what text can hold.
enum MILComparison {
  /// What differs first, or nil.
  static func difference(_ left: Program, _ right: Program) -> String? {
    let left = canonical(left)
    let right = canonical(right)
    if left == right { return literals(left).difference(to: literals(right)) }
    if left.attributes != right.attributes { return "attributes" }
    if left.functions.keys != right.functions.keys { return "functions" }
    for ((name, one), (_, other)) in zip(left.functions, right.functions) where one != other {
      let operations = zip(
        one.activeBlock?.operations ?? [], other.activeBlock?.operations ?? [])
      for (old, new) in operations where old != new { return "\(name)/\(old.name): \(old) \(new)" }
      return name
    }
    return "program"
  }

  /// Bits of all literals, which equality of floats does not tell.
  private static func literals(_ program: Program) -> [TensorLiteral] {
    var found: [TensorLiteral] = []
    func visit(_ value: Value) {
      guard case .immediate(let content) = value.content else { return }
      switch content.kind {
      case .tensor(let literal): found.append(literal)
      case .tuple(let values), .list(let values): values.forEach(visit)
      case .dictionary(let pairs):
        for pair in pairs { [pair.key, pair.value].compactMap { $0 }.forEach(visit) }
      case .absent: break
      }
    }
    for (_, function) in program.functions {
      function.activeBlock?.forEachOperation { operation, _ in operation.forEachValue(visit) }
    }
    return found
  }

  private static func canonical(_ program: Program) -> Program {
    var copy = program
    copy.docString = ""
    copy.version = 1
    copy.unknownFields = UnknownFields()
    copy.attributes = sorted(program.attributes, canonical)
    if let value = copy.attributes["buildInfo"] { copy.attributes["buildInfo"] = inOrder(value) }
    copy.functions = sorted(program.functions, canonical)
    return copy
  }

  private static func canonical(_ function: Function) -> Function {
    var copy = function
    copy.unknownFields = UnknownFields()
    copy.inputs.sort { $0.name < $1.name }
    copy.attributes["FlexibleShapeInformation"] = nil
    copy.attributes = sorted(copy.attributes, canonical)
    copy.specializations = [:]
    if let block = function.activeBlock {
      copy.specializations[function.opset] = canonical(block)
    }
    return copy
  }

  private static func canonical(_ block: Block) -> Block {
    var copy = block
    copy.unknownFields = UnknownFields()
    copy.attributes = sorted(copy.attributes, canonical)
    copy.operations = block.operations.map(canonical)
    return copy
  }

  private static func canonical(_ operation: GraphOperation) -> GraphOperation {
    var copy = operation
    copy.unknownFields = UnknownFields()
    copy.attributes = sorted(operation.attributes, canonical)
    copy.inputs = sorted(operation.inputs) { argument in
      var copy = argument
      for index in copy.bindings.indices {
        if case .value(let value) = copy.bindings[index].kind {
          copy.bindings[index].kind = .value(canonical(value))
        }
      }
      return copy
    }
    copy.blocks = operation.blocks.map(canonical)
    return copy
  }

  private static func canonical(_ value: Value) -> Value {
    var copy = value
    copy.docString = ""
    // NaN equals nothing: what literals hold is compared by their bits.
    if case .immediate(var content) = value.content, case .tensor(let literal) = content.kind,
      let type = value.type?.tensor?.elementType, type.isFloat,
      let bytes = literal.packedBytes(as: type)
    {
      content.kind = .tensor(.bytes(bytes))
      copy.content = .immediate(content)
    }
    return copy
  }

  private static func inOrder(_ value: Value) -> Value {
    guard case .immediate(var content) = value.content, case .dictionary(let pairs) = content.kind
    else { return value }
    content.kind = .dictionary(
      pairs.sorted { ($0.key?.stringValue ?? "") < ($1.key?.stringValue ?? "") })
    var copy = value
    copy.content = .immediate(content)
    return copy
  }

  private static func sorted<Element>(
    _ list: NamedList<Element>, _ transform: (Element) -> Element
  ) -> NamedList<Element> {
    NamedList(
      uniqueEntries: list.entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        .map { ($0.key, transform($0.value)) })
  }
}

extension [TensorLiteral] {
  /// The first literal of other bits, or nil.
  fileprivate func difference(to other: [TensorLiteral]) -> String? {
    if count != other.count { return "\(count) literals and \(other.count)" }
    return zip(self, other).first { !$0.isIdentical(to: $1) }.map { "\($0)" }
  }
}
