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

/// Real models, where a folder of them is at hand: `MLT_SHARED`, or `shared` beside the package.
@Suite struct SharedDataTests {
  static let folder: String? = {
    let given = getenv("MLT_SHARED").map { String(cString: $0) }
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let path = given ?? "/\(package)/../shared"
    return FileSystem.kind(path + "/conformance/zoo") == .folder ? path : nil
  }()

  /// Model paths below `place` whose names end in one of `suffixes`.
  static func models(_ place: String, _ suffixes: [String]) throws -> [String] {
    var found: [String] = []
    for name in try FileSystem.names(in: place) {
      let path = place + "/" + name
      if suffixes.contains(where: { name.hasSuffix($0) }) {
        found.append(path)
      } else if FileSystem.kind(path) == .folder {
        found += try models(path, suffixes)
      }
    }
    return found
  }

  @Test(.enabled(if: folder != nil, "no folder of models (MLT_SHARED)"))
  func everyModelOpens() throws {
    let shared = try #require(SharedDataTests.folder)
    let paths = try SharedDataTests.models(shared, [".mlpackage", ".mlmodel", ".mlmodelc"])
    #expect(paths.count > 30)
    for path in paths {
      let model = try ModelContainer.open(path: path)
      #expect(model.specificationBytes > 0, "\(path)")
      for file in model.weightFiles {
        let blob = try model.blobFile(named: "@model_path/weights/" + file.name)
        let records = try blob.records()
        #expect(records.count == blob.declaredCount, "\(path)")
        if let last = records.last {
          #expect(Int(last.dataOffset) + last.byteCount == file.byteCount, "\(path)")
        }
      }
    }
  }

  /// Blob files rewritten record by record come out byte for byte.
  @Test(.enabled(if: folder != nil, "no folder of models (MLT_SHARED)"))
  func blobFilesAreReproduced() throws {
    let shared = try #require(SharedDataTests.folder)
    for path in try SharedDataTests.models(shared + "/conformance", [".mlpackage"]) {
      let model = try ModelContainer.open(path: path)
      let scratch = try Scratch()
      for file in model.weightFiles {
        let blob = try model.blobFile(named: file.name)
        let writer = try BlobFileWriter(path: scratch("w"))
        for record in try blob.records() {
          let slot = try writer.reserve(record.elementType, count: record.elementCount)
          #expect(slot.recordOffset == record.offset)
          let tensor = try blob.tensor(record, shape: [record.elementCount])
          try tensor.withElements(0..<record.elementCount) { try writer.write($0, to: slot, at: 0) }
        }
        try writer.finish()
        #expect(try scratch.bytes("w") == blob.file.withBytes { Array($0) }, "\(path)")
      }
    }
  }

  /// The manifest's text form is that of the packages' own, identifiers apart.
  @Test(.enabled(if: folder != nil, "no folder of models (MLT_SHARED)"))
  func manifestsAreReproduced() throws {
    let shared = try #require(SharedDataTests.folder)
    for path in try SharedDataTests.models(shared, [".mlpackage"]) {
      let file = try MappedFile(path: path + "/Manifest.json")
      let manifest = try file.withBytes { try Manifest(json: $0, path: file.path) }
      #expect(Array(manifest.json.utf8) == file.withBytes { Array($0) }, "\(path)")
    }
  }
}
