import ModelCompression

extension PalettizePass {
  /// One table of fp32 values per weight.
  public var neuralNetworks: NeuralNetworkSupport {
    if case .channelGroup = granularity {
      return .impossible("neural networks have one table per weight")
    }
    if hasChannelScale { return .impossible("tables of neural networks have no scales") }
    if settings.clusterDimension > 1 {
      return .impossible("tables of neural networks hold no vectors")
    }
    if settings.tableQuantization != nil {
      return .impossible("tables of neural networks are fp32")
    }
    let entries: TableCoding.Entries =
      switch settings.mode {
      case .kmeans: .kmeans
      case .uniform: .uniform
      case .unique: .unique
      }
    return .scheme(.lookup(bits: settings.bits, entries))
  }

  /// Widths that only neural networks have.
  public var programRefusal: String? {
    if settings.mode == .unique || PaletteSettings.allowedBits.contains(settings.bits) {
      return nil
    }
    return "\(settings.bits) bits are for neural networks; ML Programs take 1, 2, 3, 4, 6 or 8"
  }
}
