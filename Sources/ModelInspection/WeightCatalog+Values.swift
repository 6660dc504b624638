import ModelGraph
import ModelTensors

extension WeightCatalog {
  /// Reads the values of all weights and adds their statistics to the facts.
  mutating func measure(_ parallel: Parallel) throws {
    throw TensorError.unavailable("statistics are not here yet")
  }
}
