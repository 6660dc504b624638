/// The pieces of work of a layout: several whole slabs each, or some rows of one large slab.
struct SlabPieces: Sendable {
  struct Piece: Sendable {
    let slab: Int
    let slabs: Int
    let rows: Int
    /// The elements.
    let range: Range<Int>

    /// Parts of about `elements` elements of a piece of one slab.
    func split(_ layout: GroupLayout, elements: Int) -> [Piece] {
      let step = max(1, elements / layout.period)
      return stride(from: 0, to: rows, by: step).map { row in
        let count = min(step, rows - row)
        let start = range.lowerBound + row * layout.period
        return Piece(
          slab: slab, slabs: 1, rows: count, range: start..<start + count * layout.period)
      }
    }
  }

  /// How many there are.
  let count: Int
  /// Whether every piece holds whole slabs.
  let wholeSlabs: Bool
  private let layout: GroupLayout
  private let slabsPerPiece: Int
  private let rowsPerPiece: Int
  private let piecesPerSlab: Int

  /// Pieces of one slab when every one has sums of its own.
  static let lanes = 16

  /// - Parameters:
  ///   - elements: How many a piece has, about. Pieces of whole slabs start at an even one.
  ///   - limit: Pieces of one slab at most.
  init(_ layout: GroupLayout, elements: Int, limit: Int = SlabPieces.lanes) {
    self.layout = layout
    wholeSlabs = layout.slabCount <= elements
    if wholeSlabs {
      let slabs = max(1, elements / max(1, layout.slabCount))
      slabsPerPiece = slabs + (slabs & 1 & layout.slabCount)
      rowsPerPiece = layout.rows
      piecesPerSlab = 1
      count = (layout.outer + slabsPerPiece - 1) / slabsPerPiece
    } else {
      slabsPerPiece = 1
      rowsPerPiece = max(
        1, elements / layout.period, (layout.rows + limit - 1) / limit)
      piecesPerSlab = (layout.rows + rowsPerPiece - 1) / rowsPerPiece
      count = layout.outer * piecesPerSlab
    }
  }

  /// The pieces of one slab.
  func indices(slab: Int) -> Range<Int> { slab * piecesPerSlab..<(slab + 1) * piecesPerSlab }

  subscript(index: Int) -> Piece {
    if wholeSlabs {
      let slab = index * slabsPerPiece
      let slabs = min(slabsPerPiece, layout.outer - slab)
      return Piece(
        slab: slab, slabs: slabs, rows: layout.rows,
        range: slab * layout.slabCount..<(slab + slabs) * layout.slabCount)
    }
    let slab = index / piecesPerSlab
    let row = index % piecesPerSlab * rowsPerPiece
    let rows = min(rowsPerPiece, layout.rows - row)
    let start = slab * layout.slabCount + row * layout.period
    return Piece(slab: slab, slabs: 1, rows: rows, range: start..<start + rows * layout.period)
  }
}
