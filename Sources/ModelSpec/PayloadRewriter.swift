/// Writes a network's message anew with other `WeightParams` messages in it.
///
/// Lengths are computed from the inside out, then all is written in one pass.
struct PayloadRewriter {
  /// A piece of the new message.
  private enum Piece {
    /// Bytes of the old one.
    case kept(Range<Int>)
    case length(Int)
    case replacement(Int)
  }

  private let bytes: UnsafeRawBufferPointer
  private let replacements: [WeightReplacement]
  private let messages: [WeightMessage]
  private let sizes: [Int]
  private var pieces: [Piece] = []
  private var next = 0

  /// Takes the message in `bytes` and replacements of weights in it, each once.
  init(
    _ bytes: UnsafeRawBufferPointer, _ replacements: [WeightReplacement]
  ) throws(SpecError) {
    self.bytes = bytes
    self.replacements = replacements.sorted {
      $0.weight.range.lowerBound < $1.weight.range.lowerBound
    }
    var messages: [WeightMessage] = []
    var end = 0
    for replacement in self.replacements {
      let range = replacement.weight.range
      guard range.lowerBound >= end, range.upperBound <= bytes.count else {
        throw SpecError("weight \(replacement.weight.path) does not lie in this network")
      }
      end = range.upperBound
      messages.append(try WeightMessage(bytes, range))
    }
    self.messages = messages
    sizes = zip(self.replacements, messages).map { $0.messageSize(old: $1) }
  }

  /// The new message.
  consuming func rewritten() throws(SpecError) -> [UInt8] {
    let size = try plan(0..<bytes.count)
    guard next == replacements.count else { throw misplaced(next) }
    var writer = WireWriter()
    writer.reserve(size)
    for piece in pieces {
      switch piece {
      case .kept(let range): writer.append(bytes[range])
      case .length(let length): writer.varint(UInt64(length))
      case .replacement(let index):
        replacements[index].append(old: messages[index], in: bytes, to: &writer)
      }
    }
    return writer.bytes
  }

  private func misplaced(_ index: Int) -> SpecError {
    SpecError("weight \(replacements[index].weight.path) is no message of this network")
  }

  /// Plans the message in `range`, which holds all of the next replacements that start in it.
  ///
  /// - Returns: Its new size.
  private mutating func plan(_ range: Range<Int>) throws(SpecError) -> Int {
    var size = 0
    var kept = range.lowerBound
    var reader = WireReader(bytes, range, base: 0)
    while next < replacements.count, let field = try reader.next() {
      let wanted = replacements[next].weight.range
      guard field.wireType == WireReader.delimited, field.value.lowerBound <= wanted.lowerBound,
        field.value.upperBound >= wanted.upperBound
      else { continue }
      let head = kept..<field.raw.lowerBound
      pieces.append(.kept(head))
      let place = pieces.count
      pieces.append(.length(0))
      let content: Int
      if field.value == wanted {
        content = sizes[next]
        pieces.append(.replacement(next))
        next += 1
      } else {
        content = try plan(field.value)
      }
      pieces[place] = .length(content)
      size += head.count + WireWriter.size(ofVarint: UInt64(content)) + content
      kept = field.value.upperBound
    }
    if next < replacements.count, replacements[next].weight.range.upperBound <= range.upperBound {
      throw misplaced(next)
    }
    pieces.append(.kept(kept..<range.upperBound))
    return size + range.upperBound - kept
  }
}
