import Foundation
import ModelToolchain
import TestSupport
import Testing

/// The ledger's numbers, and what is written when.
@Suite struct LedgerTests {
  private func model(_ version: Int = 7) throws -> Model {
    var weights = WeightMaker()
    return Make.model(
      version, [Make.tensor("x", [2, 48], .float32)],
      [
        Make.const("w", try weights.random(.float32, [64, 48], seed: 1)),
        Make.const("b", try weights.random(.float32, [64], seed: 2)),
        Make.operation(
          "linear", ["x": "x", "weight": "w", "bias": "b"], Make.tensor("h", [2, 64], .float32)),
        Make.const("v", try weights.random(.float32, [64, 64], seed: 3)),
        Make.operation("linear", ["x": "h", "weight": "v"], Make.tensor("y", [2, 64], .float32)),
      ], outputs: [Make.tensor("y", [2, 64], .float32)])
  }

  private static let passes: [QuantizePass] = [8, 4].flatMap { bits in
    [AffineScheme.Mode.symmetric, .affine].flatMap { mode in
      [QuantizationGranularity.tensor, .channel, .block(16)].flatMap { granularity in
        [AffineScheme.Search.none, .mse].map { search in
          QuantizePass(
            scheme: AffineScheme(bits: bits, mode: mode, search: search), granularity: granularity)
        }
      }
    }
  }

  /// Errors and bytes against what the written model holds.
  @Test(arguments: [7, 9])
  func numbersAreThoseOfTheResult(_ version: Int) throws {
    for pass in Self.passes {
      let run = try PassRun(try model(version), pass)
      var sums = ErrorSums()
      for row in run.ledger.rows {
        let before = try Make.floats(try #require(try run.before.constant(row.name)))
        let after = try Make.floats(try #require(try run.output.constant(row.name)))
        #expect(row.parameters == before.count)
        #expect(row.beforeBytes == before.count * 4)
        #expect(row.elementType == .float32)
        guard row.status == .compressed else {
          #expect(before == after)
          #expect(row.afterBytes == row.beforeBytes)
          #expect(row.sums == nil && row.reason != nil)
          continue
        }
        var own = ErrorSums()
        for (value, decoded) in zip(before, after) {
          own.add(Double(value), decoded: Double(decoded))
          sums.add(Double(value), decoded: Double(decoded))
        }
        try expectEqual(try #require(row.sums), own)
        var bytes = 0
        try #require(try run.output.operation(row.name)).forEachValue { value in
          // What describes the weight, the axis and the name, is no data.
          if value.stringValue == nil, value.weight != nil || value.type?.tensor?.rank != 0 {
            bytes += value.tensorSource?.byteCount ?? 0
          } else if value.type?.tensor?.elementType != .int32 {
            bytes += value.tensorSource?.byteCount ?? 0
          }
        }
        #expect(row.afterBytes == bytes, "\(row.scheme ?? "")")
      }
      let totals = run.ledger.totals
      #expect(totals.weights == 3)
      #expect(totals.compressed == 2 && totals.skipped == 1)
      #expect(totals.parameters == 64 * 48 + 64 + 64 * 64)
      #expect(totals.beforeBytes == totals.parameters * 4)
      #expect(totals.afterBytes == run.ledger.rows.reduce(0) { $0 + $1.afterBytes })
      try expectEqual(totals.sums, sums)
      #expect(totals.bitsBefore == 32)
    }
  }

  private func expectEqual(_ found: ErrorSums, _ expected: ErrorSums) throws {
    #expect(found.count == expected.count)
    #expect(found.peak == expected.peak)
    #expect(found.maxAbsError == expected.maxAbsError)
    #expect(abs(found.error - expected.error) <= expected.error * 1e-9)
    let snr = 10 * log10(expected.signal / expected.error)
    let psnr = 10 * log10(Double(expected.count) * expected.peak * expected.peak / expected.error)
    #expect(abs(try #require(found.snr) - snr) < 1e-6)
    #expect(abs(try #require(found.psnr) - psnr) < 1e-6)
  }

  @Test func searchingLowersTheError() throws {
    for pass in Self.passes where pass.scheme.search == .none {
      var better = pass
      better.scheme = AffineScheme(bits: pass.scheme.bits, mode: pass.scheme.mode, search: .mse)
      let plain = try PassRun(try model(9), pass).ledger.totals.sums.error
      let searched = try PassRun(try model(9), better).ledger.totals.sums.error
      #expect(searched <= plain)
    }
  }

  @Test func bytesDoNotDependOnThreads() throws {
    for pass in Self.passes {
      let first = try PassRun(try model(9), pass, threads: 1)
      for threads in [2, 7] {
        let other = try PassRun(try model(9), pass, threads: threads)
        #expect(try first.files() == other.files())
        #expect(first.rows == other.rows)
        #expect(first.ledger.totals.sums == other.ledger.totals.sums)
      }
    }
    let half = try PassRun(try model(), Float16Pass(), threads: 1)
    #expect(try half.files() == PassRun(try model(), Float16Pass(), threads: 7).files())
  }

  @Test func dryRunTellsTheSame() throws {
    let passes: [any CompressionPass] =
      Self.passes + [Float16Pass(), Float16StoragePass()]
    for pass in passes {
      let run = try PassRun(try model(), pass)
      let loaded = try LoadedModel(path: run.folder("in.mlpackage"))
      let dry = try Compressor(parallel: Parallel(threads: 2)).run(pass, on: loaded, to: nil)
      let text = { (ledger: Ledger) in
        var ledger = ledger
        ledger.synchronizeSeconds = 0
        ledger.writtenBytes = nil
        return "\(ledger)"
      }
      #expect(text(dry) == text(run.ledger))
    }
  }

  @Test func nothingCompressedNothingWritten() throws {
    let run = try PassRun(try model()) { $0.skip = [WeightPattern("*")] }
    #expect(run.after == nil)
    #expect(run.ledger.hasCompressed == false)
    #expect(run.ledger.rows.count == 3)
    #expect(run.ledger.rows.allSatisfy { $0.reason != nil })
    #expect(try run.folder.files().allSatisfy { $0.hasPrefix("in.mlpackage/") })
  }

  @Test func outputsAreReplacedOnlyWithForce() throws {
    let run = try PassRun(try model())
    let before = try run.files()
    #expect(throws: FileError.self) {
      try PackageWriter(output: run.folder(PassRun.outputName), force: false)
    }
    #expect(try run.files() == before)
    let again = try PassRun(folder: run.folder, QuantizePass(granularity: .tensor))
    #expect(try again.files() != before)
  }

  /// An error after the work has begun leaves neither output nor temporary files.
  @Test func errorsLeaveNothing() throws {
    let folder = try TestFolder()
    var weights = WeightMaker()
    var values = RandomNumbers.floats(64 * 48)
    values[7] = .nan
    try TestPackage.write(
      try Sample.linear(weight: try weights.value(.float16, [64, 48], values)),
      to: folder("in.mlpackage"))
    #expect(throws: PassError.self) {
      try PassRun(folder: folder, QuantizePass()) { $0.isStrict = true }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names == ["in.mlpackage"])
  }
}
