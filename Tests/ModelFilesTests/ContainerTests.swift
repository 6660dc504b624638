import Testing

@testable import ModelFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite struct ContainerTests {
  static let root = "4f6e8a10-0000-4000-8000-000000000001"

  /// A manifest of a specification, a weights folder and `more`.
  static func manifest(_ more: String = "", root: String = root) -> String {
    """
    {"fileFormatVersion": "1.0.0", "itemInfoEntries": {
      "\(ContainerTests.root)": {"author": "com.apple.CoreML", "name": "model.mlmodel",
        "description": "CoreML Model Specification", "path": "com.apple.CoreML/model.mlmodel"},
      "4f6e8a10-0000-4000-8000-000000000002": {"author": "com.apple.CoreML", "name": "weights",
        "description": "CoreML Model Weights", "path": "com.apple.CoreML/weights"}\(more)},
      "rootModelIdentifier": "\(root)"}
    """
  }

  /// The files of a small package.
  static func package(_ name: String, in scratch: Scratch) throws -> String {
    try scratch.write("\(name)/Manifest.json", manifest())
    try scratch.write("\(name)/Data/com.apple.CoreML/model.mlmodel", smallSpecification)
    try scratch.write("\(name)/Data/com.apple.CoreML/weights/weight.bin", BlobTests.example)
    return scratch(name)
  }

  @Test func packageFolder() throws {
    let scratch = try Scratch()
    let path = try ContainerTests.package("m", in: scratch)
    let model = try ModelContainer.open(path: path + "/")
    #expect(model.kind == .package && model.contents == .package && model.path == path)
    #expect(Array(model.specification.bytes) == smallSpecification)
    #expect(model.items.map(\.name) == ["model.mlmodel", "weights"])
    #expect(model.items.map(\.isRoot) == [true, false])
    #expect(model.weightFiles.map(\.name) == ["weight.bin"])
    #expect(model.weightBytes == 258 && model.specificationBytes == 4 && model.weightsAvailable)
    #expect(model.totalBytes == 258 + 4 + ContainerTests.manifest().utf8.count)
    for name in ["@model_path/weights/weight.bin", "weight.bin", "@model_path/x/y/weight.bin"] {
      #expect(try model.blobFile(named: name).declaredCount == 2)
    }
    let first = try model.blobFile(named: "weight.bin").file
    #expect(try model.blobFile(named: "@model_path/weights/weight.bin").file === first)
    #expect(first.path == path + "/Data/com.apple.CoreML/weights/weight.bin")
    for name in ["", "@model_path/", "@model_path/../weight.bin", "/weight.bin", "w/..", "a\\b"] {
      #expect(fileError { _ = try model.blobFile(named: name) } != nil, "\(name)")
    }
    #expect(
      fileError { _ = try model.blobFile(named: "@model_path/weights/other.bin") }
        == .missing(path + "/weights/other.bin"))
  }

  @Test func severalWeightFilesUnderAnyNames() throws {
    let scratch = try Scratch()
    let more = """
      , "id3": {"author": "x", "name": "weights", "description": "", "path": "x/blobs"},
      "id4": {"author": "x", "name": "notes", "description": "", "path": "x/notes.txt"}
      """
    try scratch.write("m/Manifest.json", ContainerTests.manifest(more))
    try scratch.write("m/Data/com.apple.CoreML/model.mlmodel", smallSpecification)
    for name in ["0-weight.bin", "weights.bin", "sub/weights.bin"] {
      try scratch.write("m/Data/com.apple.CoreML/weights/\(name)", BlobTests.example)
    }
    try scratch.write("m/Data/x/blobs/extra", [UInt8]())
    try scratch.write("m/Data/x/notes.txt", "hello")
    let model = try ModelContainer.open(path: scratch("m"))
    #expect(
      model.weightFiles.map(\.name) == ["0-weight.bin", "extra", "sub/weights.bin", "weights.bin"])
    let nested = try model.blobFile(named: "@model_path/weights/sub/weights.bin").file
    #expect(nested.path.hasSuffix("weights/sub/weights.bin"))
    let plain = try model.blobFile(named: "@model_path/weights/weights.bin").file
    #expect(plain.path.hasSuffix("CoreML/weights/weights.bin"))
    #expect(try model.blobFile(named: "extra").declaredCount == 0)
    #expect(try model.file(at: "Data/x/notes.txt").withBytes { Array($0) } == Array("hello".utf8))
  }

  @Test func linkedFilesAreFollowed() throws {
    let scratch = try Scratch()
    let path = try ContainerTests.package("m", in: scratch)
    let weights = "m/Data/com.apple.CoreML/weights/weight.bin"
    #expect(rename(scratch(weights), scratch("blob")) == 0)
    #expect(symlink(scratch("blob"), scratch(weights)) == 0)
    #expect(try ModelContainer.open(path: path).weightBytes == 258)
    unlink(scratch("blob"))
    let error = fileError { _ = try ModelContainer.open(path: path) }
    #expect(error?.message == "a symbolic link that leads nowhere")
  }

  @Test(arguments: [
    ("", "the manifest is empty"), ("{", "not valid JSON"), ("[]", "wrong type at its top"),
    ("{}", "no fileFormatVersion"),
    (#"{"fileFormatVersion":"2.0.0"}"#, "manifest version 2.0.0"),
    (#"{"fileFormatVersion":"1.0.0"}"#, "no itemInfoEntries"),
    (#"{"fileFormatVersion":"1.0.0","itemInfoEntries":{}}"#, "no rootModelIdentifier"),
    (
      #"{"fileFormatVersion":"1.0.0","itemInfoEntries":{},"rootModelIdentifier":"r"}"#,
      "rootModelIdentifier r is not among"
    ),
    (
      #"{"fileFormatVersion":"1.0.0","itemInfoEntries":{"r":3},"rootModelIdentifier":"r"}"#,
      "wrong type at itemInfoEntries.r"
    ),
    (
      #"{"fileFormatVersion":"1.0.0","itemInfoEntries":{"r":{}},"rootModelIdentifier":"r"}"#,
      "item r has no path"
    ),
    (ContainerTests.manifest(#", "x": {"path": "../../etc/passwd"}"#), "leaves its folder"),
    (ContainerTests.manifest(#", "x": {"path": "/etc/passwd"}"#), "absolute"),
    (ContainerTests.manifest(#", "x": {"path": ""}"#), "the name is empty"),
    (ContainerTests.manifest(#", "x": {"path": "a\\b"}"#), "backslash"),
    (
      ContainerTests.manifest(#", "x": {"path": "com.apple.CoreML/./weights"}"#),
      "have the same path"
    ),
    (
      ContainerTests.manifest(root: "4f6e8a10-0000-4000-8000-000000000002"),
      "com.apple.CoreML/weights (item 4f6e8a10-0000-4000-8000-000000000002) is a folder"
    ),
    ("version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
  ]) func faultyManifest(_ text: String, _ message: String) throws {
    let scratch = try Scratch()
    let path = try ContainerTests.package("m", in: scratch)
    try scratch.write("m/Manifest.json", text)
    let error = fileError { _ = try ModelContainer.open(path: path) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "no error")")
    #expect(error?.path == path + "/Manifest.json")
    #expect(error?.message.contains("\n") == false)
  }

  @Test(arguments: ["[", "{\"a\":", "\"", "{\"itemInfoEntries\":{\"x\":{\"path\":"])
  func deepManifest(_ unit: String) throws {
    let scratch = try Scratch()
    let path = try ContainerTests.package("m", in: scratch)
    try scratch.write("m/Manifest.json", String(repeating: unit, count: 200_000))
    #expect(fileError { _ = try ModelContainer.open(path: path) } != nil)
  }

  @Test func absentWeights() throws {
    let scratch = try Scratch()
    try scratch.write("m/Manifest.json", ContainerTests.manifest())
    try scratch.write("m/Data/com.apple.CoreML/model.mlmodel", smallSpecification)
    let model = try ModelContainer.open(path: scratch("m"))
    #expect(model.absentItems.map(\.name) == ["weights"] && model.weightFiles.isEmpty)
    #expect(
      fileError { _ = try model.blobFile(named: "@model_path/weights/weight.bin") }
        == .missing(scratch("m/weights/weight.bin")))
    try FileSystem.makeFolder(scratch("m/Data/com.apple.CoreML/weights"))
    #expect(try ModelContainer.open(path: scratch("m")).absentItems.isEmpty)
  }

  @Test func absentSpecification() throws {
    let scratch = try Scratch()
    let path = try ContainerTests.package("m", in: scratch)
    unlink(scratch("m/Data/com.apple.CoreML/model.mlmodel"))
    let error = fileError { _ = try ModelContainer.open(path: path) }
    #expect(error?.message.contains("Data/com.apple.CoreML/model.mlmodel") == true)
    #expect(error?.message.contains("is absent") == true)
  }

  @Test func specificationFile() throws {
    let scratch = try Scratch()
    let path = try scratch.write("anything.zip", smallSpecification)
    let model = try ModelContainer.open(path: path)
    #expect(model.kind == .specification && model.items.isEmpty && model.totalBytes == 4)
    #expect(fileError { _ = try model.blobFile(named: "@model_path/weights/weight.bin") } != nil)
    // A specification opened where it lies in a package finds the weights beside it.
    let package = try ContainerTests.package("m", in: scratch)
    let inner = try ModelContainer.open(path: package + "/Data/com.apple.CoreML/model.mlmodel")
    #expect(try inner.blobFile(named: "@model_path/weights/weight.bin").declaredCount == 2)
  }

  @Test func compiledBundle() throws {
    let scratch = try Scratch()
    try scratch.write("b/coremldata.bin", [0xF6, 1, 0, 0])
    try scratch.write("b/analytics/coremldata.bin", [1])
    try scratch.write("b/model.mil", "program(1.0)")
    try scratch.write("b/weights/weight.bin", BlobTests.example)
    let model = try ModelContainer.open(path: scratch("b"))
    #expect(model.kind == .compiled && model.specificationBytes == 4)
    #expect(try model.blobFile(named: "@model_path/weights/weight.bin").declaredCount == 2)
    #expect(try model.file(at: "model.mil").count == 12)
    try Archive.pack(scratch("b"), to: scratch("b.zip"))
    let packed = try ModelContainer.open(path: scratch("b.zip"))
    #expect(packed.kind == .archive && packed.contents == .compiled)
    #expect(packed.files == model.files)
  }

  @Test func refusedPaths() throws {
    let scratch = try Scratch()
    func message(_ name: String) -> String {
      fileError { _ = try ModelContainer.open(path: scratch(name)) }?.message ?? "opened"
    }
    #expect(message("absent") == "no such file or folder")
    try FileSystem.makeFolder(scratch("empty"))
    #expect(message("empty") == "the folder is empty")
    try scratch.write("other/readme.txt", "x")
    #expect(message("other").contains("no Manifest.json, no coremldata.bin"))
    _ = try ContainerTests.package("outer/inner.mlpackage", in: scratch)
    #expect(message("outer").contains("it holds the model inner.mlpackage"))
    try scratch.write("half/Data/x", "x")
    #expect(message("half") == "the package has no Manifest.json")
    #expect(
      fileError { _ = try ModelContainer.open(path: "/dev/null") }?.message.contains("neither")
        == true)
    try scratch.write("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    let pointer = fileError { _ = try ModelContainer.open(path: scratch("lfs")) }
    #expect(pointer?.hint == "fetch the contents with: git lfs pull")
    let files: [([UInt8], String)] = [
      ([], "the file is empty"), ([0x1F, 0x8B, 8, 0], "gzip"), (Array("{\"a\":1}".utf8), "JSON"),
      (Array("<!DOCTYPE html>".utf8), "HTML"), ([0x89, 0x48, 0x44, 0x46], "HDF5"),
      (Array("hello".utf8), "not a Core ML model"), ([0xFF, 0xFF, 0xFF], "not a Core ML model"),
      ([0x80], "not a Core ML model"), ([0, 0], "not a Core ML model"),
    ]
    for (bytes, expected) in files {
      try scratch.write("f", bytes)
      #expect(message("f").contains(expected), "\(expected): \(message("f"))")
    }
  }

  /// Every file of a package cut at every length: an error or a valid model, never a crash.
  @Test func truncation() throws {
    let scratch = try Scratch()
    let path = try ContainerTests.package("m", in: scratch)
    try Archive.pack(path, to: scratch("m.zip"))
    func use(_ path: String) -> FileError? {
      fileError {
        for reading in [true, false] {
          let model = try ModelContainer.open(path: path, readingWeights: reading)
          for file in model.weightFiles where reading {
            _ = try model.blobFile(named: file.name).records()
          }
        }
      }
    }
    #expect(use(path) == nil)
    #expect(use(scratch("m.zip")) == nil)
    for name in try scratch.names() {
      let bytes = try scratch.bytes(name)
      for length in 0..<bytes.count {
        try scratch.write(name, Array(bytes.prefix(length)))
        let error = use(name == "m.zip" ? scratch(name) : path)
        // "P" alone may start a specification: the check of its contents comes later.
        if name == "m.zip" && (length == 0 || length > 3) || name.hasSuffix(".json")
          || length == 0 && name.hasSuffix(".mlmodel")
        {
          #expect(error != nil, "\(name) cut to \(length)")
        }
      }
      try scratch.write(name, bytes)
    }
    #expect(use(path) == nil)
  }
}
