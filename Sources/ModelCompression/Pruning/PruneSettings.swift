/// Which elements of a weight become zero.
public enum PruneRule: Sendable, Hashable {
  /// This share of the elements, those of least magnitude: max(zeros there are, ⌊share · count⌋)
  /// elements are zero afterwards, exactly.
  case sparsity(Double)
  /// All elements with |w| ≤ the threshold.
  case threshold(Double)
  /// In every `count` consecutive elements along `axis`, the `zeros` of least magnitude. What is
  /// missing from the last ones counts as zeros.
  case nOfM(zeros: Int, count: Int, axis: Int)
  /// This share of the blocks of `size` consecutive elements along `axis` at equal other indices,
  /// those of least L2 norm (in double precision): max(blocks of zeros there are, ⌊share · blocks⌋)
  /// of them, exactly. The last block of an axis may be shorter.
  case blocks(Double, size: Int, axis: Int)

  /// ⌊share · count⌋; products within rounding of a whole number are that number.
  static func count(_ share: Double, of count: Int) -> Int {
    let product = share * Double(count)
    let whole = product.rounded()
    let floor = abs(product - whole) <= whole * 1e-12 ? whole : product.rounded(.down)
    return min(max(Int(floor), 0), count)
  }
}

/// What the passes over a weight before its mask is written found.
public enum PrunePreparation: Sendable {
  /// The weight cannot be pruned; a clause such as "holds 3 infinite values".
  case refused(reason: String)
  /// It is known which elements are kept.
  case ready(Pruner)
}
