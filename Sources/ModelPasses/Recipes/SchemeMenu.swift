import ModelCompression
import ModelGraph

/// A scheme that a recipe may choose.
public struct MenuScheme: Sendable {
  /// The name on the command line, `int8`, `int4`, `lut4`, `sparse75` and so on.
  public let name: String
  let pass: any CompressionPass
  /// The entry of a configuration file that means the same.
  let options: [(key: String, value: String)]

  /// The schemes of the default menu for ML Programs.
  public static let all: [MenuScheme] =
    [
      MenuScheme(
        name: "int8", pass: QuantizePass(),
        options: [("config_type", "OpLinearQuantizerConfig"), ("dtype", "int8")])
    ]
    + [32, 16].map { size in
      MenuScheme(
        name: size == 32 ? "int4" : "int4b\(size)",
        pass: QuantizePass(
          scheme: AffineScheme(bits: 4, search: .mse), granularity: .block(size)),
        options: [
          ("config_type", "OpLinearQuantizerConfig"), ("dtype", "int4"),
          ("granularity", "per_block"), ("block_size", "\(size)"), ("scale_search", "mse"),
        ])
    }
    + [8, 6, 4, 3, 2].map(table)
    + [50, 75].map { percent in
      MenuScheme(
        name: "sparse\(percent)", pass: PrunePass(rule: .sparsity(Double(percent) / 100)),
        options: [
          ("config_type", "OpMagnitudePrunerConfig"),
          ("target_sparsity", "\(Double(percent) / 100)"),
        ])
    }

  /// The schemes of the default menu where the model has neural networks too; by name also for
  /// programs, as far as these can hold them.
  public static let known: [MenuScheme] =
    all
    + [8, 4].map { bits in
      MenuScheme(
        name: "uint\(bits)",
        pass: QuantizePass(
          scheme: AffineScheme(bits: bits, signed: false, mode: .affine, search: .mse)),
        options: [
          ("config_type", "OpLinearQuantizerConfig"), ("dtype", "uint\(bits)"),
          ("mode", "linear"), ("scale_search", "mse"),
        ])
    } + [7, 5, 1].map(table)

  /// The names of the schemes that neural networks can hold.
  static var forNetworks: [String] {
    known.filter { $0.pass.neuralNetworks.refusal == nil }.map(\.name)
  }

  private static func table(_ bits: Int) -> MenuScheme {
    MenuScheme(
      name: "lut\(bits)", pass: PalettizePass(settings: PaletteSettings(bits: bits)),
      options: [("config_type", "OpPalettizerConfig"), ("nbits", "\(bits)")])
  }

  /// The default menu for a model.
  public static func menu(for model: Model) -> [MenuScheme] {
    Compressor.hasNeuralNetwork(model) ? known : all
  }

  /// The schemes of a list such as `int8,lut4`.
  ///
  /// - Throws: ``PassError/usage(_:hint:)`` for an unknown name.
  public static func menu(_ names: [String]) throws(PassError) -> [MenuScheme] {
    var menu: [MenuScheme] = []
    for name in names {
      guard let scheme = known.first(where: { $0.name == name }) else {
        throw .usage(
          "--menu knows no \"\(name)\"", hint: known.map(\.name).joined(separator: ", "))
      }
      menu.append(scheme)
    }
    return menu
  }
}
