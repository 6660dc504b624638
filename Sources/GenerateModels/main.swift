import ModelToolchain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

let usage = "usage: mlt-generate transformer MEGABYTES OUT.mlpackage [fp16|fp32] [VERSION]"
let words = Array(CommandLine.arguments.dropFirst())
guard words.count >= 3, words[0] == "transformer", let size = Int(words[1]), size > 0,
  let type = ElementType(rawValue: words.count > 3 ? words[3] : "fp16"),
  type == .float16 || type == .float32,
  let version = Int(words.count > 4 ? words[4] : "7"), version >= 6
else {
  print(usage)
  exit(64)
}
let blockBytes = Transformer.blockBytes(width: 2048, elementType: type)
let blocks = max(1, (size * 1_000_000 + blockBytes / 2) / blockBytes)
do {
  try Transformer(blocks: blocks, elementType: type, specificationVersion: version)
    .write(to: words[2], force: true)
} catch {
  print("mlt-generate: error: \(error)")
  exit(1)
}
