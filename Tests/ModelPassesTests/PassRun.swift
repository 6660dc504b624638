import ModelToolchain
import TestSupport
import Testing

/// A model before and after a pass, through files.
struct PassRun {
  let folder: TestFolder
  let before: Model
  /// Nil when nothing was written.
  let after: Model?
  let ledger: Ledger

  static let outputName = "out.mlpackage"

  /// Writes `model`, runs the pass and reads what it wrote; the result must have no new errors.
  init(
    _ model: Model, _ pass: any CompressionPass = QuantizePass(), threads: Int = 2,
    settings: (inout CompressionSettings) -> Void = { _ in }
  ) throws {
    let folder = try TestFolder()
    try TestPackage.write(model, to: folder("in.mlpackage"))
    try self.init(folder: folder, pass, threads: threads, settings: settings)
  }

  /// Runs the pass on `in.mlpackage` of a folder.
  init(
    folder: TestFolder, _ pass: any CompressionPass, threads: Int = 2,
    settings change: (inout CompressionSettings) -> Void = { _ in }
  ) throws {
    let loaded = try LoadedModel(path: folder("in.mlpackage"))
    var settings = CompressionSettings()
    change(&settings)
    let compressor = Compressor(settings: settings, parallel: Parallel(threads: threads))
    let writer = try PackageWriter(output: folder(PassRun.outputName), force: true)
    ledger = try compressor.run(pass, on: loaded, to: writer)
    before = loaded.model
    self.folder = folder
    guard TestFiles.exists(folder(PassRun.outputName)) else {
      after = nil
      return
    }
    let result = try LoadedModel(path: folder(PassRun.outputName)).model
    after = result
    let errors = Verifier.findings(result).filter { $0.severity == .error }
    #expect(errors.isEmpty, "\(errors)")
  }

  var output: Model {
    get throws { try #require(after, "nothing was written: \(rows)") }
  }

  func row(_ name: String) throws -> Ledger.Row {
    try #require(ledger.rows.first { $0.name == name }, "no row \(name)")
  }

  /// Names and reasons, for messages.
  var rows: String {
    ledger.rows.map { "\($0.name): \($0.scheme ?? "") \($0.reason ?? "")" }
      .joined(separator: "\n")
  }

  /// Bytes of all files of the output.
  func files() throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for file in try folder.files(PassRun.outputName) {
      files[file] = try folder.bytes("\(PassRun.outputName)/\(file)")
    }
    return files
  }
}

/// Small programs.
enum Sample {
  /// y = x·Wᵀ of fp16, 64 × 48 unless told.
  static func linear(
    _ version: Int = 7, shape: [Int] = [64, 48], type: ElementType = .float16,
    weight: Value? = nil
  ) throws -> Model {
    var weights = WeightMaker()
    let value = try weight ?? weights.random(type, shape)
    return Make.model(
      version, [Make.tensor("x", [2, shape[1]], type)],
      [
        Make.const("w", value),
        Make.operation(
          "linear", ["x": "x", "weight": "w"], Make.tensor("y", [2, shape[0]], type)),
      ], outputs: [Make.tensor("y", [2, shape[0]], type)])
  }

  /// y = x + w of this weight, which may have any shape.
  static func add(_ version: Int, _ value: Value, _ type: ElementType = .float16) -> Model {
    let shape = value.weight?.source.shape ?? value.type?.tensor?.shape ?? []
    return Make.model(
      version, [Make.tensor("x", shape, type)],
      [
        Make.const("w", value),
        Make.operation("add", ["x": "x", "y": "w"], Make.tensor("y", shape, type)),
      ], outputs: [Make.tensor("y", shape, type)])
  }
}

/// Takes weights of every size and rank.
func everySize(_ settings: inout CompressionSettings) { settings.minimumElements = 0 }
