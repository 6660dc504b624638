import Foundation
import ModelGraph
import ModelSpec
import TestSupport
import Testing

@testable import ModelPlan

/// The architectures with published latencies, unpacked for the length of a test.
private struct PublishedModels {
  static let archive = "\(TestData.shared)/plan/models.tar.xz"
  static let table = "\(TestData.shared)/plan/published.tsv"
  static let isThere = TestFiles.exists(archive) && TestFiles.exists(table)
  static let absence: Comment = "no plan/models.tar.xz in MLT_SHARED"

  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    let result = try Executable.run(
      ["xJf", Self.archive, "-C", folder.path], in: folder.path, script: "exec tar \"$@\"",
      timeLimit: 120)
    #expect(result.status == 0, "\(result.error)")
  }

  func model(_ name: String) throws -> Model {
    try LoadedModel(path: folder("\(name).mlpackage"), readingWeights: false).model
  }

  /// The rows: model, chip and published milliseconds.
  static func rows() throws -> [(name: String, chip: String, published: Double)] {
    try String(contentsOfFile: table, encoding: .utf8).split(separator: "\n").dropFirst().compactMap
    {
      let cells = $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard cells.count > 3, let published = Double(cells[1]) else { return nil }
      return (cells[0], cells[3].lowercased().replacingOccurrences(of: " ", with: "-"), published)
    }
  }
}

@Suite struct CalibrationTests {
  @Test func theStandardParametersArePhysical() {
    let calibration = Calibration.standard
    // Half as many multiply-adds as operations are marketed, and no more bytes than the memory gives.
    #expect(calibration.productsPerTops > 5e10 && calibration.productsPerTops <= 0.5e12)
    #expect(calibration.weightShare > 0.3 && calibration.weightShare <= 1.2)
    #expect(calibration.dispatchMs > 0 && calibration.operationMs > 0)
    #expect(calibration.low < 1 && calibration.high > 1)
    #expect(calibration.json.last == UInt8(ascii: "\n"))
  }

  @Test func theFitFindsParametersThatMadeTheData() throws {
    let truth = Calibration.standard
    var start = truth
    start.activationBytesPerTops *= 2
    start.operationMs *= 3
    var samples: [CalibrationFit.Sample] = []
    for (count, channels, size) in [(4, 32, 56), (12, 64, 28), (30, 16, 14), (8, 256, 14)] {
      let estimator = try LatencyEstimator(
        try Plans.convolutions(count, channels: channels, size: size, kernel: 1),
        device: try Plans.device("a16"))
      samples.append(
        CalibrationFit.Sample(name: "\(count)", published: estimator.latency(truth)) {
          estimator.latency($0)
        })
    }
    let found = CalibrationFit(start: start).fit(samples)
    for sample in samples {
      #expect(abs(sample.estimate(found) / sample.published - 1) < 0.2, "\(sample.name)")
    }
  }

  @Test func ranksAndTies() {
    #expect(CalibrationFit.rankCorrelation([1, 2, 3], [2, 4, 9]) == 1)
    #expect(CalibrationFit.rankCorrelation([1, 2, 3], [9, 4, 2]) == -1)
    #expect(CalibrationFit.rankCorrelation([1, 1, 2, 2], [1, 1, 2, 2]) == 1)
  }

  @Test(.enabled(if: PublishedModels.isThere, PublishedModels.absence))
  func publishedLatenciesAreMetAsStated() throws {
    let models = try PublishedModels()
    var errors: [Double] = []
    var pairs: [(Double, Double)] = []
    for row in try PublishedModels.rows() {
      let estimator = try LatencyEstimator(
        try models.model(row.name), device: try Plans.device(row.chip))
      let estimate = estimator.latency(.standard)
      errors.append(abs(estimate / row.published - 1))
      pairs.append((estimate, row.published))
      // The largest in the table of docs/plan.md is MobileCLIP's 35 %.
      #expect(abs(estimate / row.published - 1) < 0.4, "\(row.name) on \(row.chip): \(estimate)")
    }
    #expect(errors.count > 10)
    #expect(errors.sorted()[errors.count / 2] < 0.15)
    #expect(CalibrationFit.rankCorrelation(pairs.map(\.0), pairs.map(\.1)) > 0.95)
  }

  /// As published: weights in fewer bits bring these two little or nothing, and never harm.
  @Test(
    .enabled(if: PublishedModels.isThere, PublishedModels.absence),
    arguments: ["resnet50_224_ios17", "mobilenet_v2_224_ios17"])
  func compressionMovesTheEstimateAsPublished(_ name: String) throws {
    let model = try PublishedModels().model(name)
    let device = try Plans.device("iphone-14-pro")
    func latency(_ model: Model) throws -> Double {
      try LatencyEstimator(model, device: device).latency(.standard)
    }
    let plain = try latency(model)
    let int8 = try latency(try Encoded.model(model, .int8))
    let table = try latency(try Encoded.model(model, .table4))
    #expect(int8 <= plain && table <= int8)
    #expect(table > plain * 0.8)
    #expect(int8 > plain * 0.8)
    let planner = Planner(device: device)
    let bytes = try planner.plan(try Encoded.model(model, .table4)).weightBytes
    #expect(bytes < (try planner.plan(model).weightBytes) * 0.4)
  }

  /// As published: weights and activations in 8 bits bring these two about two fifths.
  @Test(
    .enabled(if: PublishedModels.isThere, PublishedModels.absence),
    arguments: [
      ("resnet50_224_ios17", "iphone-14-pro", 0.94 / 1.52),
      ("mobilenet_v2_224_ios17", "iphone-14-pro", 0.27 / 0.48),
      ("resnet50_224_ios17", "iphone-15-pro", 0.77 / 1.38),
      ("mobilenet_v2_224_ios17", "iphone-15-pro", 0.20 / 0.49),
    ])
  func integersMoveTheEstimateAsPublished(
    _ name: String, _ device: String, _ published: Double
  ) throws {
    let model = try PublishedModels().model(name)
    let device = try Plans.device(device)
    let plain = try LatencyEstimator(model, device: device).latency(.standard)
    let integers = try LatencyEstimator(try Encoded.model(model, .integers), device: device)
      .latency(.standard)
    let ratio = integers / plain
    #expect(ratio < published * 1.35 && ratio > published / 1.35)
  }
}
