#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Devices and chips from data files.
public struct DeviceCatalog: Sendable, Codable, Equatable {
  /// The texts of sources by their keys.
  public var sources: [String: String]
  /// The chips.
  public var chips: [Chip]
  /// The products.
  public var devices: [Device]

  /// The chips and products that come with the library.
  public static let standard: DeviceCatalog = {
    let data = Data(PackageResources.devices_json)
    return (try? JSONDecoder().decode(DeviceCatalog.self, from: data))
      ?? DeviceCatalog(sources: [:], chips: [], devices: [])
  }()

  /// A device that a plan is made for.
  public struct Choice: Sendable, Equatable {
    /// The name that was asked for.
    public var name: String
    /// The name for readers.
    public var title: String
    /// The newest system that it runs.
    public var os: String
    /// The chip.
    public var chip: Chip
  }

  /// Reads a data file in the form of the library's own.
  ///
  /// - Throws: ``PlanError`` that says what is wrong and where.
  public init(json: [UInt8]) throws(PlanError) {
    do {
      self = try JSONDecoder().decode(DeviceCatalog.self, from: Data(json))
    } catch let error as DecodingError {
      throw PlanError(.malformed, DeviceCatalog.text(of: error))
    } catch { throw PlanError(.malformed, "\(error)") }
    for device in devices where !chips.contains(where: { $0.name == device.chip }) {
      let known = DeviceCatalog.standard.chips.contains { $0.name == device.chip }
      if !known {
        throw PlanError(
          .malformed, "\(device.name) has the chip \(device.chip), which is not listed")
      }
    }
  }

  init(sources: [String: String], chips: [Chip], devices: [Device]) {
    self.sources = sources
    self.chips = chips
    self.devices = devices
  }

  private static func text(of error: DecodingError) -> String {
    switch error {
    case .keyNotFound(let key, let context):
      "\(place(context.codingPath)): \"\(key.stringValue)\" is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context),
      .dataCorrupted(let context):
      "\(place(context.codingPath)): \(context.debugDescription)"
    @unknown default: "\(error)"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty
      ? "the file"
      : path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
  }

  /// This catalog with the entries of another in front of its own.
  public func adding(_ other: DeviceCatalog) -> DeviceCatalog {
    DeviceCatalog(
      sources: sources.merging(other.sources) { $1 }, chips: other.chips + chips,
      devices: other.devices + devices)
  }

  /// The device or chip of this name, or nil.
  public func choice(_ name: String) -> Choice? {
    let name = name.lowercased()
    func chip(_ name: String) -> Chip? { chips.first { $0.name == name } }
    if let device = devices.first(where: { $0.name == name }), let chip = chip(device.chip) {
      return Choice(name: name, title: device.title, os: device.os, chip: chip)
    }
    return chip(name).map { chip in
      let os = devices.last { $0.chip == name }?.os ?? (chip.isPhone ? "iOS 26" : "macOS 26")
      return Choice(name: name, title: chip.title, os: os, chip: chip)
    }
  }

  /// All names that ``choice(_:)`` knows.
  public var names: [String] { devices.map(\.name) + chips.map(\.name) }
}
