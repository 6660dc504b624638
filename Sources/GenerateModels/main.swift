import ModelToolchain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

let usage = """
  usage: mlt-generate transformer MEGABYTES OUT.mlpackage [fp16|fp32] [VERSION]
         mlt-generate samples FOLDER
  """

/// A transformer of about `words[1]` megabytes of weights, for benchmarks.
func transformer(_ words: [String]) -> Transformer? {
  guard words.count >= 3, let size = Int(words[1]), size > 0, size < 1_000_000,
    let type = ElementType(rawValue: words.count > 3 ? words[3] : "fp16"),
    type == .float16 || type == .float32,
    let version = Int(words.count > 4 ? words[4] : "7"), version >= 6
  else { return nil }
  let blockBytes = Transformer.blockBytes(width: 2048, elementType: type)
  let blocks = max(1, (size * 1_000_000 + blockBytes / 2) / blockBytes)
  return Transformer(blocks: blocks, elementType: type, specificationVersion: version)
}

let words = Array(CommandLine.arguments.dropFirst())
do {
  if words.count == 2, words[0] == "samples" {
    try Samples.write(to: words[1])
  } else if words.first == "transformer", let model = transformer(words) {
    try model.write(to: words[2], force: true)
  } else {
    print(usage)
    exit(64)
  }
} catch {
  print("mlt-generate: error: \(error)")
  exit(1)
}
