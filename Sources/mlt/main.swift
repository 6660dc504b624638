import ModelSpec
import ModelGraph
import Foundation
var same = 0, diff = 0
for path in CommandLine.arguments.dropFirst() {
  let data = [UInt8](FileManager.default.contents(atPath: path)!)
  do {
    let m = try data.withUnsafeBytes { try ModelDecoder(weights: UnopenedWeights()).decode($0, path: path) }
    let out = try ModelEncoder.encode(m)
    if out == data { same += 1 } else {
      let m2 = try out.withUnsafeBytes { try ModelDecoder(weights: UnopenedWeights()).decode($0, path: path) }
      let again = try ModelEncoder.encode(m2)
      diff += 1; print("DIFF", path, data.count, out.count, again == out, m.kind.typeName)
      try Data(out).write(to: URL(fileURLWithPath: "/tmp/rt/\(diff).bin")); try Data(path.utf8).write(to: URL(fileURLWithPath: "/tmp/rt/\(diff).txt"))
    }
  } catch { print("ERR", path, error) }
}
print(same, diff)
