import ModelToolchain

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Calibration {
  /// Where the fit starts: what the published timings of single operations suggest.
  static let firstGuess = Calibration(
    productsPerTops: 1.5e11, activationBytesPerTops: 6e9, weightShare: 0.9, operationMs: 2e-4,
    dispatchMs: 0.03, fullChannels: 16, low: 1, high: 1)
}

/// The rows of a table of published latencies with the graphs of their models.
struct PublishedTable {
  private var rows: [(name: String, soc: String, published: Double)] = []
  var samples: [CalibrationFit.Sample] = []

  init(path: String, models: String) throws {
    let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    let lines = text.split(separator: "\n").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
    let header = lines.first ?? []
    func column(_ name: String) -> Int { header.firstIndex(of: name) ?? 0 }
    var loaded: [String: Model] = [:]
    for row in lines.dropFirst() where row.count == header.count {
      let name = row[column("name")]
      let soc = row[column("soc")]
      guard let published = Double(row[column("published_ms")]),
        let device = DeviceCatalog.standard.choice(
          soc.lowercased().split(separator: " ").joined(separator: "-"))
      else { throw PlanTableError(message: "\(path): the row of \(name) cannot be read") }
      let model =
        try loaded[name]
        ?? LoadedModel(path: "\(models)/\(name).mlpackage", readingWeights: false).model
      loaded[name] = model
      rows.append((name, soc, published))
      let estimator = try LatencyEstimator(model, device: device)
      samples.append(
        CalibrationFit.Sample(name: name, published: published) { estimator.latency($0) })
    }
  }

  /// Estimates beside what is published, with errors.
  func lines(_ calibration: Calibration, leftOut: [Double]) -> [String] {
    var lines = [
      "| model | chip | published ms | fitted | | without its model | |",
      "|---|---|---:|---:|---:|---:|---:|",
    ]
    func number(_ value: Double) -> String {
      let scaled = Int((value * 1000).rounded())
      let digits = String(scaled % 1000)
      return "\(scaled / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }
    func percent(_ value: Double, _ published: Double) -> String {
      let error = Int((100 * (value / published - 1)).rounded())
      return error > 0 ? "+\(error) %" : "\(error) %"
    }
    for (index, row) in rows.enumerated() {
      let fitted = samples[index].estimate(calibration)
      lines.append(
        "| \(row.name) | \(row.soc) | \(number(row.published)) | \(number(fitted)) | "
          + "\(percent(fitted, row.published)) | \(number(leftOut[index])) | "
          + "\(percent(leftOut[index], row.published)) |")
    }
    let published = rows.map(\.published)
    let errors = zip(leftOut, published).map { abs($0 / $1 - 1) }.sorted()
    let correlation = CalibrationFit.rankCorrelation(leftOut, published)
    lines += [
      "",
      "Leave one model out: Spearman \(number(correlation)), median absolute error "
        + "\(Int((100 * errors[errors.count / 2]).rounded())) %, largest "
        + "\(Int((100 * (errors.last ?? 0)).rounded())) %.",
    ]
    return lines
  }
}

/// A table that cannot be read.
struct PlanTableError: Error, CustomStringConvertible {
  var message: String
  var description: String { message }
}
