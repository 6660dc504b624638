import Foundation
import ModelToolchain
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Small files that stand for very much memory.
@Suite struct BoundsTests {
  /// Many empty messages: those that become objects are refused, others are read within the limit.
  @Test(
    arguments: [
      ("operations", [502, 2, 2, 3, 2, 3], [], 700_000, true),
      ("inputs", [2, 1], [], 1_000_000, true),
      ("models", [202, 1], [0x08, 0x01], 500_000, true), ("layers", [500, 1], [], 500_000, false),
      ("strings", [502, 4, 2, 3, 1, 4, 1], [], 500_000, false),
      ("trees", [302, 1, 1], [], 500_000, false),
    ] as [(String, [UInt64], [UInt8], Int, Bool)])
  func memoryIsBounded(
    _ name: String, _ path: [UInt64], _ item: [UInt8], _ count: Int, _ isRefused: Bool
  ) throws {
    let field = try #require(path.last)
    let items = [[UInt8]](repeating: ProtoWriter.message(field, item), count: count)
    let folder = try TestFolder()
    let bytes =
      [0x08, 0x08]
      + ProtoWriter.nested(
        Array(path.dropLast()), count: 1, content: Array(items.joined()))
    try folder.write("m.mlmodel", bytes)
    let result = try Executable.run(
      ["quantize", "--dry-run", "m.mlmodel"], in: folder.path, memoryLimit: 400_000)
    #expect(isRefused ? result.status == 2 : [1, 2].contains(result.status), "\(result)")
    #expect(result.error.contains("would take more than") == isRefused)
    #expect(result.error.contains("byte offset") == isRefused)
  }
}

/// What a signal leaves.
@Suite struct InterruptionTests {
  private static func weight(
    _ index: Int, _ shape: [Int], _ weights: inout WeightMaker
  ) throws -> Value {
    // Halves with exponents from a fixed sequence.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(1 << 20)
    for position in 0..<(1 << 19) {
      bytes.append(UInt8(truncatingIfNeeded: position &* 31 &+ index))
      bytes.append(UInt8(truncatingIfNeeded: 0x20 + position % 23))
    }
    return try weights.value(.float16, shape, bytes: bytes)
  }

  @Test(arguments: [(SIGTERM, 143), (SIGINT, 130)])
  func nothingIsLeft(_ signal: Int32, _ status: Int) throws {
    let folder = try TestFolder()
    var weights = WeightMaker()
    let shape = [512, 1024]
    let operations = try (0..<8).map { index in
      Make.const("w\(index)", try Self.weight(index, shape, &weights))
    }
    let users = (0..<8).map { index in
      Make.operation(
        "linear", ["x": "x", "weight": "w\(index)"], Make.tensor("y\(index)", [1, 512]))
    }
    let model = Make.model(
      8, [Make.tensor("x", [1, 1024])], operations + users,
      outputs: [Make.tensor("y0", [1, 512])])
    try TestPackage.write(model, to: folder("m.mlpackage"))
    var isBegun = false
    let result = try Executable.run(
      ["quantize", "m.mlpackage", "--scale-search", "mse", "--threads", "1"], in: folder.path
    ) { process in
      // The signal comes when the work has begun.
      for _ in 0..<2000 {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        isBegun = names.contains { $0.hasSuffix(".tmp") }
        if isBegun { break }
        usleep(1000)
      }
      kill(process, signal)
    }
    #expect(isBegun)
    #expect(result.status == status, "\(result)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["m.mlpackage"])
  }
}

/// Folders that the user may not write to; the superuser may write everywhere.
@Suite(.enabled(if: geteuid() != 0, "the superuser writes everywhere"))
struct PermissionTests {
  @Test func readOnlyFolder() throws {
    let folder = try TestFolder()
    let model = try folder.copy(TestData.conformance("zoo/base_ios16.mlpackage"), as: "m.mlpackage")
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
    defer {
      try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
    }
    let result = try Executable.run(["quantize", model], in: "/")
    #expect(result.status == 74)
    #expect(result.error.contains("ermission denied"))
  }
}
