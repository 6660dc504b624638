import ModelToolchain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Fits the cost model to a table of published latencies, prints estimates beside them and writes the
/// parameters.
let usage = "usage: mlt-calibrate TABLE.tsv MODELS-FOLDER OUT.json"
let words = Array(CommandLine.arguments.dropFirst())
guard words.count == 3 else {
  print(usage)
  exit(64)
}
do {
  let table = try PublishedTable(path: words[0], models: words[1])
  var calibration = CalibrationFit(start: .firstGuess).fit(table.samples)
  let leftOut = CalibrationFit(start: .firstGuess).leaveOneOut(table.samples)
  let ratios = zip(table.samples, leftOut).map { $0.published / $1 }.sorted()
  calibration.low = rounded(ratios[ratios.count / 10])
  calibration.high = rounded(ratios[ratios.count - 1 - ratios.count / 10])
  for line in table.lines(calibration, leftOut: leftOut) { print(line) }
  try AtomicFile.write(calibration.json, to: words[2], force: true)
} catch {
  print("mlt-calibrate: \(error)")
  exit(1)
}

func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
