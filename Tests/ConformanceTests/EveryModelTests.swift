import ModelToolchain
import TestSupport
import Testing

/// Every pass on every model at hand: the result has no errors that the model did not have, or the
/// pass says why not.
@Suite(.enabled(if: TestData.conformance != nil, Comment(rawValue: TestData.absence)))
struct EveryModelTests {
  static let models =
    (try? TestData.models(in: ["zoo", "models"].map { TestData.conformance($0) })) ?? []

  static let passes: [any CompressionPass] = [
    QuantizePass(),
    QuantizePass(scheme: AffineScheme(mode: .affine), granularity: .tensor),
    QuantizePass(scheme: AffineScheme(bits: 4), granularity: .block(16)),
    Float16Pass(), Float16Pass(changesInterface: true), Float16StoragePass(),
  ]

  @Test(arguments: models)
  func everyPass(_ path: String) throws {
    let loaded = try LoadedModel(path: path)
    let isNetwork: Bool
    if case .neuralNetwork = loaded.model.kind { isNetwork = true } else { isNetwork = false }
    for pass in Self.passes {
      var compressor = Compressor(parallel: Parallel(threads: 1))
      compressor.settings.minimumElements = 0
      do {
        let ledger = try compressor.run(pass, on: loaded, to: nil)
        #expect(!isNetwork)
        #expect(ledger.rows.allSatisfy { $0.status == .compressed || $0.reason != nil })
        #expect(ledger.rows.allSatisfy { $0.afterBytes <= $0.beforeBytes })
      } catch let error as PassError {
        // Networks are refused; nothing else is.
        #expect(isNetwork, "\(error)")
      }
    }
  }
}
