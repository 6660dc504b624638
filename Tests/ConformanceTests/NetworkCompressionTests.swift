import ModelToolchain
import TestSupport
import Testing

/// Compressed networks against published ones and against those of coremltools.
@Suite struct NetworkCompressionTests {
  private static let published = "\(TestData.shared)/models/03-seq2seq-lstm-fp32-fp16"

  private func compressed(
    _ path: String, _ pass: any CompressionPass, minimumElements: Int? = nil
  ) throws -> (folder: TestFolder, ledger: Ledger) {
    let folder = try TestFolder()
    var settings = CompressionSettings()
    settings.minimumElements = minimumElements
    let writer = try PackageWriter(output: folder("out.mlmodel"), force: false)
    let ledger = try Compressor(settings: settings, parallel: Parallel(threads: 2))
      .run(pass, on: try LoadedModel(path: path), to: writer)
    return (folder, ledger)
  }

  @Test(.enabled(if: TestFiles.exists(published), "MLT_SHARED names no folder with models"))
  func halvesAreThePublishedFile() throws {
    let source = "\(Self.published)/Es2EnCharDecoder.mlmodel"
    let (folder, _) = try compressed(source, Float16Pass())
    #expect(
      try folder.bytes("out.mlmodel")
        == TestFiles.bytes("\(Self.published)/Es2EnCharDecoder16Bit.mlmodel"))
  }

  private static let settings: [(file: String, pass: any CompressionPass)] = {
    func linear(_ bits: Int, _ mode: AffineScheme.Mode) -> any CompressionPass {
      QuantizePass(scheme: AffineScheme(bits: bits, mode: mode), networkBits: bits)
    }
    func table(_ bits: Int, _ mode: PaletteSettings.Mode) -> any CompressionPass {
      PalettizePass(settings: PaletteSettings(bits: bits, mode: mode))
    }
    return [
      ("nn_q16_linear", Float16Pass()), ("nn_q8_linear", linear(8, .affine)),
      ("nn_q8_linear_symmetric", linear(8, .symmetric)), ("nn_q5_linear", linear(5, .affine)),
      ("nn_q4_linear", linear(4, .affine)), ("nn_q8_kmeans", table(8, .kmeans)),
      ("nn_q4_kmeans", table(4, .kmeans)), ("nn_q3_kmeans", table(3, .kmeans)),
      ("nn_q1_kmeans", table(1, .kmeans)), ("nn_q6_linear_lut", table(6, .uniform)),
    ]
  }()

  private func values(_ path: String) throws -> [String: [Float]] {
    let catalog = WeightCatalog(try LoadedModel(path: path).model)
    var values: [String: [Float]] = [:]
    for entry in catalog.entries {
      values[entry.fact.name] = try catalog.source(of: entry).elements(as: Float.self)
    }
    return values
  }

  private func error(_ values: [Float], _ decoded: [Float]) -> Double {
    zip(values, decoded).reduce(0) { sum, pair in
      let distance = Double(pair.0) - Double(pair.1)
      return sum + distance * distance
    }
  }

  /// No weight has more squared error than with coremltools at the same settings, and none takes
  /// more bytes.
  @Test(.enabled(if: TestData.conformance != nil, Comment(rawValue: TestData.absence)))
  func neverWorseThanCoremltools() throws {
    let source = TestData.conformance("models/nn.mlmodel")
    let dense = try values(source)
    for (file, pass) in Self.settings {
      let path = TestData.conformance("models/\(file).mlmodel")
      let theirs = try values(path)
      let (folder, ledger) = try compressed(source, pass, minimumElements: 0)
      let ours = try values(folder("out.mlmodel"))
      let model = try LoadedModel(path: folder("out.mlmodel")).model
      let other = try LoadedModel(path: path).model
      #expect(Set(ours.keys) == Set(theirs.keys))
      for row in ledger.rows {
        let name = row.name
        let (weight, our, their) = (
          try #require(dense[name]), try #require(ours[name]), try #require(theirs[name])
        )
        #expect(error(weight, our) <= error(weight, their), "\(file) \(name)")
        let bytes = try #require(model.networkWeight(name)).storedBytes
        let peerBytes = try #require(other.networkWeight(name)).storedBytes
        // Tables that outweigh their codes are not made.
        #expect(bytes <= max(peerBytes, row.beforeBytes))
        if row.status == .compressed { #expect(bytes == peerBytes, "\(file) \(name)") }
      }
      #expect(model.specificationVersion == other.specificationVersion)
    }
  }
}
