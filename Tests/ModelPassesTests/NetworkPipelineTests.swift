import ModelToolchain
import TestSupport
import Testing

/// Networks in pipelines, beside programs and other kinds.
@Suite struct NetworkPipelineTests {
  private func pipeline(_ version: Int = 7) throws -> Model {
    let network = try MakeNetwork.model([MakeNetwork.product("l", 64, 48, seed: 3)])
    let tree = Model(
      specificationVersion: 1, description: ModelDescription(),
      kind: .other(OpaqueModel(typeName: "treeEnsembleRegressor", payload: [])))
    let inner = MakeNetwork.pipeline(
      1, [tree, try MakeNetwork.model([MakeNetwork.product("k", 64, 48, seed: 4)])],
      names: ["tree", "net"])
    return MakeNetwork.pipeline(
      version, [network, try Sample.linear(shape: [64, 48]), inner, tree],
      names: ["first", "program", "inner", "last"])
  }

  private func child(_ model: Model, _ place: Int...) throws -> Model {
    var model = model
    for index in place {
      guard case .pipeline(let pipeline) = model.kind else { throw TestFileError("no pipeline") }
      model = pipeline.models[index]
    }
    return model
  }

  @Test func everyChildInOrder() throws {
    let run = try PassRun(try pipeline(), QuantizePass())
    let compressed = run.ledger.rows.filter { $0.status == .compressed }.map(\.name)
    #expect(compressed == ["first/l.weights", "program/w", "inner/net/k.weights"])
    let output = try run.output
    #expect(output.specificationVersion == 7)
    #expect(try child(output, 0).specificationVersion == 3)
    #expect(try child(output, 1).specificationVersion == 7)
    #expect(try child(output, 2).specificationVersion == 3)
    #expect(try child(output, 2, 0).specificationVersion == 1)
    #expect(try child(output, 2, 1).specificationVersion == 3)
    #expect(
      try child(output, 0).networkWeight("l.weights")?.storage == .linear(bits: 8))
    let one = try PassRun(try pipeline(), QuantizePass(), threads: 1)
    #expect(try one.files() == run.files())
  }

  /// The program's weights are carried when only the networks shrink.
  @Test func programsWithoutCandidates() throws {
    let run = try PassRun(
      try pipeline(), QuantizePass(), settings: { $0.only = [WeightPattern("*l.weights")] })
    #expect(run.ledger.totals.compressed == 1)
    let before = try child(run.before, 1).constant("w")
    let after = try child(try run.output, 1).constant("w")
    #expect(try #require(before).bytes() == #require(after).bytes())
  }

  @Test func networksAreKeptByOtherPasses() throws {
    let run = try PassRun(try pipeline(), QuantizePass(granularity: .block(16)))
    #expect(
      run.ledger.notes.contains(
        "neural networks are kept: neural networks have no scales per block"))
    #expect(try run.row("first/l.weights").status == .skipped)
    #expect(try run.row("program/w").status == .compressed)
    #expect(
      try child(try run.output, 0).network?.payload == child(run.before, 0).network?.payload)
  }

  @Test func pipelinesOfNetworksOnly() throws {
    let model = MakeNetwork.pipeline(
      1, [try MakeNetwork.model([MakeNetwork.product("l", 64, 48)])], names: [])
    let run = try PassRun(model, Float16Pass())
    #expect(run.ledger.rows.first?.name == "model0/l.weights")
    #expect(try run.output.specificationVersion == 2)
    #expect(run.ledger.version.after == 2)
    #expect(throws: PassError.self) { try PassRun(model, QuantizePass(granularity: .block(8))) }
  }

  /// The bytes that are told are those of all files, in whatever form the model is written.
  @Test(arguments: ["in.mlmodel", "in.mlpackage"], ["out.mlmodel", "out.mlpackage"])
  func writtenBytes(_ input: String, _ output: String) throws {
    let folder = try TestFolder()
    let model = try MakeNetwork.model([MakeNetwork.product("l", 64, 48)])
    let source = try PackageWriter(output: folder(input), force: false)
    try source.commit(specification: try ModelEncoder.encode(model))
    let loaded = try LoadedModel(path: folder(input))
    var compressor = Compressor()
    compressor.outputForm = OutputForm(path: output)
    let dry = try compressor.run(QuantizePass(), on: loaded, to: nil)
    let writer = try PackageWriter(output: folder(output), force: false)
    let ledger = try compressor.run(QuantizePass(), on: loaded, to: writer)
    let bytes =
      output.hasSuffix(".mlmodel")
      ? try folder.bytes(output).count
      : try folder.files(output).reduce(0) { $0 + (try folder.bytes("\(output)/\($1)")).count }
    #expect(ledger.writtenBytes == bytes)
    #expect(dry.writtenBytes == bytes)
  }

  @Test func kindsWithoutWeights() throws {
    let tree = Model(
      specificationVersion: 1, description: ModelDescription(),
      kind: .other(OpaqueModel(typeName: "treeEnsembleRegressor", payload: [])))
    let run = try PassRun(tree, QuantizePass())
    #expect(run.after == nil)
    #expect(run.ledger.rows.isEmpty)
    #expect(run.ledger.version.after == 1)
  }
}
