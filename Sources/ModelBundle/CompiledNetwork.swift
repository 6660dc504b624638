import ModelFiles
import ModelGraph
import ModelSpec

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The layers of a compiled neural network, from its `model.espresso.net`.
enum CompiledNetwork {
  private struct File: Decodable {
    struct Layer: Decodable {
      var name: String?
      var type: String?
      var bottom: String?
      var top: String?
    }
    var layers: [Layer]
  }

  /// Far more than the lists of layers of the largest networks have.
  private static let maximumBytes = 256 << 20

  /// The layers of the network in a folder of a bundle; none where the file is absent or packed.
  ///
  /// - Throws: ``SpecError`` for JSON text that is no network.
  static func layers(
    _ container: ModelContainer, folder: String
  ) throws -> [NeuralNetworkLayer] {
    let name = folder + "model.espresso.net"
    guard container.files.contains(where: { $0.path == name }) else { return [] }
    let file = try container.file(at: name, maximum: maximumBytes)
    let bytes = file.withBytes { Data($0) }
    // System models pack the file.
    guard bytes.first == UInt8(ascii: "{") else { return [] }
    let network: File
    do {
      network = try JSONDecoder().decode(File.self, from: bytes)
    } catch { throw SpecError("the file is no list of layers: \(error)", path: file.path) }
    let names = { (text: String?) in (text ?? "").split(separator: ",").map(String.init) }
    return network.layers.map { layer in
      NeuralNetworkLayer(
        name: layer.name ?? "", type: layer.type ?? "", inputs: names(layer.bottom),
        outputs: names(layer.top), isUpdatable: false, enclosing: [], weights: [])
    }
  }
}
