import Testing

@testable import ModelFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite struct ArchiveTests {
  /// The entries of a small package below `prefix`.
  func package(_ prefix: String, stored: Bool = false) -> [ZipItem] {
    [
      ZipItem(
        name: prefix + "Manifest.json", bytes: Array(ContainerTests.manifest().utf8),
        stored: stored),
      ZipItem(
        name: prefix + "Data/com.apple.CoreML/model.mlmodel", bytes: smallSpecification,
        stored: stored),
      ZipItem(
        name: prefix + "Data/com.apple.CoreML/weights/weight.bin", bytes: BlobTests.example,
        stored: stored),
    ]
  }

  @Test(arguments: ["", "m.mlpackage/", "./", "a/b/c/"], [false, true])
  func layouts(_ prefix: String, _ stored: Bool) throws {
    let scratch = try Scratch()
    let litter = [
      ZipItem(name: "__MACOSX/m.mlpackage/._Manifest.json", bytes: [1]),
      ZipItem(name: "\(prefix)._Manifest.json", bytes: [1]),
      ZipItem(name: "\(prefix)Data/", mode: 0o040755),
    ]
    try scratch.write("x", try makeZip(litter + package(prefix, stored: stored)))
    let model = try ModelContainer.open(path: scratch("x"))
    #expect(model.kind == .archive && model.contents == .package && model.weightsAvailable)
    #expect(model.files.count == 3)
    #expect(try model.blobFile(named: "@model_path/weights/weight.bin").records().count == 2)
    let light = try ModelContainer.open(path: scratch("x"), readingWeights: false)
    #expect(!light.weightsAvailable && light.weightBytes == 258)
    #expect(Array(light.specification.bytes) == smallSpecification)
    #expect(light.files == model.files && light.items == model.items)
    let error = fileError { _ = try light.blobFile(named: "weight.bin") }
    #expect(error?.message.contains("opened for its specification only") == true)
    try Archive.unpack(scratch("x"), to: scratch("out"))
    #expect(try scratch.bytes("out/Data/com.apple.CoreML/weights/weight.bin") == BlobTests.example)
    #expect(try scratch.names().filter { $0.contains("tmp") }.isEmpty)
  }

  @Test func unpackedFolderGoesWithTheContainer() throws {
    let scratch = try Scratch()
    try scratch.write("x", try makeZip(package("")))
    var model: ModelContainer? = try ModelContainer.open(path: scratch("x"))
    let base = try #require(model?.base)
    let blob = try #require(try model?.blobFile(named: "weight.bin"))
    #expect(FileSystem.exists(base))
    model = nil
    #expect(!FileSystem.exists(base))
    #expect(try blob.records().count == 2)
  }

  @Test func specificationInArchive() throws {
    let scratch = try Scratch()
    let one = ZipItem(name: "d/a.mlmodel", bytes: smallSpecification)
    let note = ZipItem(name: "readme.txt", bytes: [65])
    try scratch.write("x", try makeZip([one, note]))
    let model = try ModelContainer.open(path: scratch("x"), readingWeights: false)
    #expect(model.contents == .specification && model.weightsAvailable)
    #expect(Array(model.specification.bytes) == smallSpecification)
    try Archive.unpack(scratch("x"), to: scratch("out.mlmodel"))
    #expect(try scratch.bytes("out.mlmodel") == smallSpecification)
    let faults: [([ZipItem], String)] = [
      ([], "empty"), ([note, ZipItem(name: "b", bytes: [1])], "no model"),
      ([one, ZipItem(name: "b.mlmodel", bytes: [1])], "2 models: b.mlmodel, d/a.mlmodel"),
      (package("a/") + package("b/"), "2 models: a/, b/"), ([note], "not a Core ML model"),
    ]
    for (items, expected) in faults {
      try scratch.write("x", try makeZip(items))
      let error = fileError { _ = try ModelContainer.open(path: scratch("x")) }
      #expect(error?.message.contains(expected) == true, "\(error?.message ?? "no error")")
    }
  }

  @Test(arguments: [
    ("../evil", 0o100644, "the name leaves its folder"),
    ("Data/../../evil", 0o100644, "the name leaves its folder"),
    ("/etc/evil", 0o100644, "the name is absolute"), ("a\\b", 0o100644, "backslash"),
    ("Data/link", 0o120777, "a symbolic link"), ("Data/pipe", 0o010644, "a special file"),
    ("Data/com.apple.CoreML/model.mlmodel", 0o100644, "occurs twice"),
    ("./Manifest.json", 0o100644, "occurs twice"),
    ("Manifest.json/x", 0o100644, "both a file and a folder"),
    (String(repeating: "d/", count: 40) + "x", 0o100644, "more than 32 parts"),
  ]) func unsafeEntry(_ name: String, _ mode: UInt32, _ message: String) throws {
    let scratch = try Scratch()
    try scratch.write("x", try makeZip(package("") + [ZipItem(name: name, bytes: [1], mode: mode)]))
    let attempts: [() throws -> Void] = [
      { _ = try ModelContainer.open(path: scratch("x")) },
      { _ = try ModelContainer.open(path: scratch("x"), readingWeights: false) },
      { try Archive.unpack(scratch("x"), to: scratch("out")) },
    ]
    for attempt in attempts {
      let error = fileError(attempt)
      #expect(error?.message.contains(message) == true, "\(error?.message ?? "no error")")
      #expect(error?.message.contains("archive entry \"") == true)
    }
    #expect(try scratch.names() == ["x"])
  }

  @Test(arguments: [false, true]) func declaredSizeLies(_ stored: Bool) throws {
    let scratch = try Scratch()
    for size: UInt32 in [0, 100, 257, 259, 100_000, .max - 1] {
      var items = package("", stored: stored)
      items[2].declaredSize = size
      try scratch.write("x", try makeZip(items))
      let error = fileError { _ = try ModelContainer.open(path: scratch("x")) }
      #expect(error != nil, "\(size)")
      #expect(try scratch.names() == ["x"])
    }
  }

  @Test func bombs() throws {
    let scratch = try Scratch()
    var items = package("")
    items[2].bytes = [UInt8](repeating: 0, count: 8 << 20)
    try scratch.write("x", try makeZip(items))
    var limits = ArchiveLimits()
    _ = try ModelContainer.open(path: scratch("x"), limits: limits)
    limits.ratioFloor = 1 << 20
    let error = fileError { _ = try ModelContainer.open(path: scratch("x"), limits: limits) }
    #expect(error?.message.contains("inflates to more than") == true)
    limits = ArchiveLimits()
    limits.maximumBytes = 4 << 20
    #expect(fileError { _ = try ModelContainer.open(path: scratch("x"), limits: limits) } != nil)
    limits = ArchiveLimits()
    limits.maximumMemory = 3
    #expect(fileError { _ = try ModelContainer.open(path: scratch("x"), limits: limits) } == nil)
    #expect(
      fileError {
        _ = try ModelContainer.open(path: scratch("x"), readingWeights: false, limits: limits)
      } != nil)
    // The same size hidden behind a small declared one.
    limits = ArchiveLimits()
    items[2].declaredSize = 100
    try scratch.write("x", try makeZip(items))
    #expect(fileError { _ = try ModelContainer.open(path: scratch("x")) } != nil)
  }

  @Test func packIsDeterministic() throws {
    let scratch = try Scratch()
    let path = try ContainerTests.package("m.mlpackage", in: scratch)
    // Large enough to be judged by entropy: one that shrinks, one that does not.
    var noise = [UInt8](repeating: 0, count: 2 << 20)
    var seed: UInt64 = 1
    for index in noise.indices {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      noise[index] = UInt8(truncatingIfNeeded: seed >> 56)
    }
    try scratch.write("m.mlpackage/Data/com.apple.CoreML/weights/noise.bin", noise)
    try scratch.write(
      "m.mlpackage/Data/com.apple.CoreML/weights/zero.bin", [UInt8](repeating: 0, count: 2 << 20))
    try FileSystem.makeFolder(scratch("m.mlpackage/Data/empty"))
    try Archive.pack(path, to: scratch("a.zip"))
    var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
    utimensat(AT_FDCWD, path + "/Manifest.json", &times, 0)
    chmod(path + "/Manifest.json", 0o600)
    try Archive.pack(path + "/", to: scratch("b.zip"))
    let bytes = try scratch.bytes("a.zip")
    #expect(try scratch.bytes("b.zip") == bytes)
    #expect(bytes.count > 2 << 20 && bytes.count < 2 << 20 + 20_000)
    var status = stat()
    #expect(stat(scratch("a.zip"), &status) == 0 && status.st_mode & 0o777 == 0o644)
    try Archive.unpack(scratch("a.zip"), to: scratch("back.mlpackage"))
    #expect(try scratch.names("back.mlpackage") == scratch.names("m.mlpackage"))
    #expect(
      try scratch.bytes("back.mlpackage/Data/com.apple.CoreML/weights/noise.bin") == noise)
    #expect(fileError { try Archive.pack(path, to: scratch("a.zip")) } == .exists(scratch("a.zip")))
    try Archive.pack(path, to: scratch("a.zip"), force: true)
    #expect(
      fileError { try Archive.pack(path, to: path + "/Data/x.zip") }?.message.contains("inside")
        == true)
    #expect(
      fileError { try Archive.pack(scratch("no"), to: scratch("c.zip")) } == .missing(scratch("no"))
    )
    #expect(fileError { try Archive.unpack(path, to: scratch("c")) } != nil)
    #expect(try scratch.names().allSatisfy { !$0.contains(".tmp") })
  }
}

extension ArchiveTests {
  /// Archives with bytes changed at random (from a fixed seed): an error or a valid model, and
  /// nothing outside the output.
  @Test func damagedArchives() throws {
    let scratch = try Scratch()
    var seed: UInt64 = 42
    func random(_ bound: Int) -> Int {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(seed >> 33) % bound
    }
    for stored in [false, true] {
      let good = try makeZip(package("m.mlpackage/", stored: stored))
      for _ in 0..<400 {
        var bytes = good
        for _ in 0...random(3) { bytes[random(bytes.count)] = UInt8(random(256)) }
        try scratch.write("x", bytes)
        for reading in [false, true] {
          _ = fileError {
            let model = try ModelContainer.open(path: scratch("x"), readingWeights: reading)
            for file in model.weightFiles where reading {
              _ = try model.blobFile(named: file.name).records()
            }
          }
        }
      }
    }
    #expect(try scratch.names() == ["x"])
  }
}
