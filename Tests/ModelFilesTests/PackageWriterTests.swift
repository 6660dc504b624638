import ModelTensors
import Testing

@testable import ModelFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite struct PackageWriterTests {
  /// Writes a package of one weight.
  @discardableResult
  func write(_ output: String, force: Bool = false, value: UInt8 = 7) throws -> PackageWriter {
    let writer = try PackageWriter(output: output, force: force)
    let blob = try writer.weightWriter(fileName: "@model_path/weights/weight.bin")
    let slot = try blob.reserve(.uint8, count: 100)
    try [UInt8](repeating: value, count: 100).withUnsafeBytes {
      try blob.write($0, to: slot, at: 0)
    }
    try writer.commit(specification: smallSpecification)
    return writer
  }

  @Test func package() throws {
    let scratch = try Scratch()
    let writer = try write(scratch("m.mlpackage"))
    #expect(writer.form == .package && writer.timings.synchronize > 0)
    #expect(
      try scratch.names() == [
        "m.mlpackage/Data/com.apple.CoreML/model.mlmodel",
        "m.mlpackage/Data/com.apple.CoreML/weights/weight.bin", "m.mlpackage/Manifest.json",
      ])
    let model = try ModelContainer.open(path: scratch("m.mlpackage"))
    let blob = try model.blobFile(named: "@model_path/weights/weight.bin")
    #expect(
      try blob.tensor(try blob.record(at: 64), shape: [100]).bytes()
        == [UInt8](repeating: 7, count: 100))
    let first = Manifest.identifier(
      specification: digest(smallSpecification), itemPath: "com.apple.CoreML/model.mlmodel")
    let second = Manifest.identifier(
      specification: digest(smallSpecification), itemPath: "com.apple.CoreML/weights")
    let entries = [
      (first, "CoreML Model Specification", "model.mlmodel"),
      (second, "CoreML Model Weights", "weights"),
    ].sorted { $0.0 < $1.0 }.map { identifier, description, name in
      """
              "\(identifier)": {
                  "author": "com.apple.CoreML",
                  "description": "\(description)",
                  "name": "\(name)",
                  "path": "com.apple.CoreML/\(name)"
              }
      """
    }
    #expect(
      String(decoding: try scratch.bytes("m.mlpackage/Manifest.json"), as: UTF8.self) == """
        {
            "fileFormatVersion": "1.0.0",
            "itemInfoEntries": {
        \(entries.joined(separator: ",\n"))
            },
            "rootModelIdentifier": "\(first)"
        }

        """)
    var status = stat()
    #expect(stat(scratch("m.mlpackage"), &status) == 0 && status.st_mode & 0o777 == 0o755)
    let file = scratch("m.mlpackage/Data/com.apple.CoreML/model.mlmodel")
    #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o644)
    #expect(fileError { try writer.commit(specification: smallSpecification) } != nil)
  }

  func digest(_ bytes: [UInt8]) -> [UInt8] {
    var digest = ContentDigest()
    digest.update(bytes)
    return digest.bytes
  }

  @Test func forms() throws {
    #expect(OutputForm(path: "a.mlpackage/") == .package && OutputForm(path: "a") == .package)
    #expect(OutputForm(path: "a.MLMODEL") == .specification)
    #expect(
      OutputForm(path: "a.mlpackage.zip") == .archive && OutputForm(path: "a.pkg") == .archive)
    let scratch = try Scratch()
    try write(scratch("a.zip"))
    try write(scratch("x/../b.mlpackage").replacing("x/../", with: ""))
    let archive = try ModelContainer.open(path: scratch("a.zip"))
    #expect(archive.contents == .package && archive.weightBytes == 228)
    #expect(
      try ArchiveContents(path: scratch("a.zip")).prefix == "a.mlpackage/")
    let first = try scratch.bytes("a.zip")
    try write(scratch("a.zip"), force: true)
    #expect(try scratch.bytes("a.zip") == first)
    let single = try PackageWriter(output: scratch("c.mlmodel"), force: false)
    #expect(
      fileError { _ = try single.weightWriter(fileName: "w") }?.message
        == "a specification file cannot have weight files")
    try single.commit(specification: smallSpecification)
    #expect(try scratch.bytes("c.mlmodel") == smallSpecification)
    #expect(try scratch.names().allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func existingOutputs() throws {
    let scratch = try Scratch()
    let path = scratch("m.mlpackage")
    try write(path)
    #expect(fileError { _ = try PackageWriter(output: path, force: false) } == .exists(path))
    let old = try ModelContainer.open(path: path)
    try write(path, force: true, value: 9)
    let new = try ModelContainer.open(path: path)
    for (model, value) in [(old, UInt8(7)), (new, 9)] {
      // The replaced model was opened, but its weight file was not: it is the new one's by name.
      let blob = try model.blobFile(named: "weight.bin")
      let bytes = try blob.tensor(try blob.record(at: 64), shape: [100]).bytes()
      if model === new { #expect(bytes[0] == value) }
    }
    // Other kinds change places too.
    try scratch.write("f.mlpackage", "a file")
    #expect(
      fileError { try write(scratch("f.mlpackage"), force: true) }?.message
        == "a file that is no model, so it is not replaced")
    try scratch.write("f.mlpackage", smallSpecification)
    try write(scratch("f.mlpackage"), force: true)
    #expect(try ModelContainer.open(path: scratch("f.mlpackage")).kind == .package)
    symlink("nowhere", scratch("l.mlpackage"))
    #expect(fileError { try write(scratch("l.mlpackage")) } == .exists(scratch("l.mlpackage")))
    try write(scratch("l.mlpackage"), force: true)
    try write(scratch("m.zip"))
    try write(scratch("m.zip"), force: true)
    #expect(try scratch.names().allSatisfy { !$0.hasPrefix(".") })
    // What is no model is never replaced.
    try scratch.write("home/thesis.txt", "years of work")
    for output in [scratch("home"), "/dev/null", "/", scratch("home") + "/.."] {
      #expect(fileError { _ = try PackageWriter(output: output, force: true) } != nil, "\(output)")
    }
    #expect(try scratch.names("home") == ["thesis.txt"])
    let absent = fileError { _ = try PackageWriter(output: scratch("no/m"), force: false) }
    #expect(absent == .system(scratch("no/m"), "create", errno: ENOENT))
  }

  @Test func outputThatAppearsMeanwhile() throws {
    let scratch = try Scratch()
    let writer = try PackageWriter(output: scratch("m"), force: false)
    try FileSystem.makeFolder(scratch("m"))
    #expect(
      fileError { try writer.commit(specification: smallSpecification) } == .exists(scratch("m")))
    #expect(try scratch.names() == ["m/"])
  }

  @Test func discarding() throws {
    let scratch = try Scratch()
    var writer: PackageWriter? = try PackageWriter(output: scratch("m"), force: false)
    _ = try writer?.weightWriter(fileName: "w.bin")
    #expect(try scratch.names().contains { $0.hasPrefix(".m.") })
    writer = nil
    #expect(try scratch.names().isEmpty)
    let other = try PackageWriter(output: scratch("m"), force: false)
    other.discard()
    #expect(try scratch.names().isEmpty)
    #expect(fileError { try other.commit(specification: smallSpecification) } != nil)
  }

  @Test func copiesAndCarriesOver() throws {
    let scratch = try Scratch()
    let more = #", "id": {"author": "me", "name": "notes", "path": "me/notes", "description": "d"}"#
    try scratch.write("s/Manifest.json", ContainerTests.manifest(more))
    try scratch.write("s/Data/com.apple.CoreML/model.mlmodel", smallSpecification)
    for name in ["a.bin", "b.bin", "c.bin", "beside.txt"] {
      try scratch.write("s/Data/com.apple.CoreML/weights/\(name)", BlobTests.example)
    }
    try scratch.write("s/Data/me/notes/n.txt", "note")
    for opened in [true, false] {
      if !opened { try Archive.pack(scratch("s"), to: scratch("s.zip")) }
      let source = try ModelContainer.open(path: scratch(opened ? "s" : "s.zip"))
      let output = opened ? "o.mlpackage" : "p.mlpackage"
      let writer = try PackageWriter(output: scratch(output), force: false)
      let blob = try writer.weightWriter(fileName: "@model_path/weights/a.bin")
      _ = try blob.reserve(.int8, count: 1)
      try writer.copyWeightFile(from: source, name: "@model_path/weights/b.bin")
      #expect(
        fileError { try writer.copyWeightFile(from: source, name: "b.bin") }
          == .exists(scratch("\(output)/Data/com.apple.CoreML/weights/b.bin")))
      try writer.carryOver(from: source, replacing: ["@model_path/weights/c.bin"])
      try writer.commit(specification: smallSpecification)
      let model = try ModelContainer.open(path: scratch(output))
      #expect(model.weightFiles.map(\.name) == ["a.bin", "b.bin", "beside.txt"])
      #expect(model.weightFiles.map(\.byteCount) == [129, 258, 258])
      let item = try #require(model.items.first { $0.name == "notes" })
      #expect(item.author == "me" && item.path == "me/notes" && item.description == "d")
      #expect(
        try model.file(at: "Data/me/notes/n.txt").withBytes { Array($0) } == Array("note".utf8))
    }
  }

  @Test func itemsAroundTheSpecification() throws {
    let scratch = try Scratch()
    try scratch.write(
      "s/Manifest.json",
      ContainerTests.manifest(#", "id": {"name": "all", "path": "com.apple.CoreML"}"#))
    try scratch.write("s/Data/com.apple.CoreML/model.mlmodel", smallSpecification + [0x50, 1])
    try scratch.write("s/Data/com.apple.CoreML/weights/w.bin", BlobTests.example)
    try scratch.write("s/Data/com.apple.CoreML/note", "x")
    let source = try ModelContainer.open(path: scratch("s"))
    let writer = try PackageWriter(output: scratch("o"), force: false)
    try writer.carryOver(from: source, replacing: ["w.bin"])
    try writer.commit(specification: smallSpecification)
    #expect(
      try scratch.names("o") == [
        "Data/com.apple.CoreML/model.mlmodel", "Data/com.apple.CoreML/note", "Manifest.json",
      ])
    #expect(try ModelContainer.open(path: scratch("o")).specificationBytes == 4)
  }

  @Test func fullDiskLeavesNothing() async throws {
    let scratch = try Scratch()
    let path = scratch("m.mlpackage")
    await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
      let writer = try PackageWriter(output: path, force: false)
      // A limit on the size of files stands in for a full disk.
      var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
      #if canImport(Glibc)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      #else
        setrlimit(RLIMIT_FSIZE, &limit)
      #endif
      let blob = try writer.weightWriter(fileName: "weight.bin")
      let slot = try blob.reserve(.uint8, count: 100_000)
      do {
        try [UInt8](repeating: 1, count: 100_000).withUnsafeBytes {
          try blob.write($0, to: slot, at: 0)
        }
      } catch FileError.system(let place, "write", errno: EFBIG) {
        writer.discard()
        exit(place.hasPrefix(path + "/Data/") ? 7 : 8)
      }
    }
    #expect(try scratch.names().isEmpty)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func interruption(_ signal: Int32) async throws {
    let scratch = try Scratch()
    let path = scratch("m.mlpackage")
    await #expect(processExitsWith: .exitCode(128 + signal)) {
      [path = path as String, signal = signal as Int32] in
      let writer = try PackageWriter(output: path, force: false)
      let blob = try writer.weightWriter(fileName: "weight.bin")
      let slot = try blob.reserve(.uint8, count: 1 << 20)
      kill(getpid(), signal)
      // The writer is busy while the signal arrives.
      let bytes = [UInt8](repeating: 1, count: 1 << 20)
      while true {
        try? bytes.withUnsafeBytes { try blob.write($0, to: slot, at: 0) }
        _ = try? writer.weightWriter(fileName: "\(UInt32.random(in: 0...UInt32.max)).bin")
      }
    }
    #expect(try scratch.names().isEmpty)
  }
}

@Suite struct AtomicFolderTests {
  @Test func commits() throws {
    let scratch = try Scratch()
    let folder = try AtomicFolder(output: scratch("b.mlmodelc"), force: false)
    let writer = folder.writer
    try writer.write([1, 2], to: "coremldata.bin")
    try writer.write([3], to: "weights/w.bin")
    try writer.copy(writer.path + "/coremldata.bin", to: "a/copy.bin")
    try writer.folder("b").write(to: "streamed.bin") { append in
      for byte in [UInt8](4..<6) { try withUnsafeBytes(of: byte) { try append($0) } }
    }
    try writer.folder("c").copyTree(writer.folder("b").path)
    #expect(fileError { try writer.write([], to: "../x") } != nil)
    try folder.commit()
    #expect(
      try scratch.names("b.mlmodelc") == [
        "a/copy.bin", "b/streamed.bin", "c/streamed.bin", "coremldata.bin", "weights/w.bin",
      ])
    #expect(try scratch.bytes("b.mlmodelc/c/streamed.bin") == [4, 5])
    #expect(fileError { _ = try AtomicFolder(output: scratch("b.mlmodelc"), force: false) } != nil)
    let other = try AtomicFolder(output: scratch("b.mlmodelc"), force: true)
    other.discard()
    #expect(fileError { try other.commit() } != nil)
    #expect(try scratch.names().count == 5)
  }

  @Test func atomicFiles() throws {
    let scratch = try Scratch()
    try AtomicFile.write([1], to: scratch("r.json"))
    #expect(fileError { try AtomicFile.write([2], to: scratch("r.json")) } != nil)
    try AtomicFile.write([2], to: scratch("r.json"), force: true)
    #expect(try scratch.bytes("r.json") == [2])
    #expect(fileError { try AtomicFile.write([2], to: scratch.path, force: true) } != nil)
    #expect(try scratch.names() == ["r.json"])
  }
}
