import ModelTensors
import Synchronization

/// How many values of a float tensor are not finite.
struct SpecialValues: Sendable, CustomStringConvertible {
  var nan = 0
  var infinite = 0

  /// A clause such as "2 NaN values and 1 infinite value".
  var description: String {
    var parts: [String] = []
    if nan > 0 { parts.append("\(nan) NaN value\(nan == 1 ? "" : "s")") }
    if infinite > 0 { parts.append("\(infinite) infinite value\(infinite == 1 ? "" : "s")") }
    return parts.joined(separator: " and ")
  }

  /// Counts those of an fp16 or fp32 tensor.
  static func count(_ source: any TensorSource, parallel: Parallel) throws -> SpecialValues {
    let total = Mutex(SpecialValues())
    let pieces = ElementPieces(source.elementCount, elements: 1 << 18)
    let isHalf = source.elementType == .float16
    try parallel.forEach(pieces.count) { index in
      var part = SpecialValues()
      try source.withElements(pieces[index]) { bytes in
        if isHalf {
          for bits in bytes.bindMemory(to: UInt16.self) where bits & 0x7FFF >= 0x7C00 {
            if bits & 0x7FFF == 0x7C00 { part.infinite += 1 } else { part.nan += 1 }
          }
        } else {
          for bits in bytes.bindMemory(to: UInt32.self) where bits & 0x7FFF_FFFF >= 0x7F80_0000 {
            if bits & 0x7FFF_FFFF == 0x7F80_0000 { part.infinite += 1 } else { part.nan += 1 }
          }
        }
      }
      let found = part
      total.withLock {
        $0.nan += found.nan
        $0.infinite += found.infinite
      }
    }
    return total.withLock { $0 }
  }
}

/// Ranges of equal size that cover `0..<total`.
struct ElementPieces: Sendable {
  let total: Int
  let elements: Int

  init(_ total: Int, elements: Int) {
    self.total = total
    self.elements = elements
  }

  var count: Int { (total + elements - 1) / elements }

  subscript(index: Int) -> Range<Int> {
    index * elements..<min((index + 1) * elements, total)
  }
}
