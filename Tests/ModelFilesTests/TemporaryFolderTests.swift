import Foundation
import Testing

@testable import ModelFiles

@Suite struct TemporaryFolderTests {
  private func leave(_ name: String, in scratch: Scratch, ago seconds: Double) throws {
    let folder = URL(fileURLWithPath: scratch(name))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data([1]).write(to: folder.appendingPathComponent("file"))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: folder.path)
  }

  @Test func whatKilledProcessesLeaveGoesWithTheNextOutput() throws {
    let scratch = try Scratch()
    try leave(".out.bin.4711-abc.tmp", in: scratch, ago: 3600)
    try leave(".out.bin.4712-young.tmp", in: scratch, ago: 1)
    try leave(".other.bin.4713-abc.tmp", in: scratch, ago: 3600)
    try leave(".out.bin.mine.tmp", in: scratch, ago: 3600)
    try AtomicFile.write([1], to: scratch("out.bin"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == [
        ".other.bin.4713-abc.tmp", ".out.bin.4712-young.tmp", ".out.bin.mine.tmp", "out.bin",
      ])
  }

  @Test func foldersInUseStay() throws {
    let scratch = try Scratch()
    let folder = try TemporaryFolder(besides: scratch("out.bin"))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -3600)], ofItemAtPath: folder.path)
    try AtomicFile.write([1], to: scratch("out.bin"))
    #expect(FileManager.default.fileExists(atPath: folder.path))
    folder.remove()
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }
}
