/// A regular expression on names whose matching takes time in proportion to the name.
///
/// All states of the expression are followed at once, so that nothing is tried twice.
struct NameExpression: Sendable {
  private let program: [Instruction]

  /// Characters that one step may take.
  enum Characters: Sendable {
    case any
    case set([ClosedRange<UInt32>], classes: [CharacterClass], isNegated: Bool)
  }

  /// `\d`, `\w`, `\s`, and their opposites.
  struct CharacterClass: Sendable {
    enum Kind: Sendable { case digit, word, space }
    var kind: Kind
    var isNegated: Bool

    func contains(_ scalar: Unicode.Scalar) -> Bool {
      let isIn =
        switch kind {
        case .digit: ("0"..."9").contains(scalar)
        case .word: NameExpression.isWord(scalar)
        case .space: scalar.properties.isWhitespace
        }
      return isIn != isNegated
    }
  }

  /// A place that takes no character.
  enum Anchor: Sendable { case start, end, boundary, noBoundary }

  enum Instruction: Sendable {
    case take(Characters)
    case fork(Int, Int)
    case jump(Int)
    case anchor(Anchor)
    case found
  }

  /// - Throws: ``ConfigError`` with the reason.
  init(_ text: String) throws(ConfigError) {
    program = try ExpressionParser.program(text)
  }

  /// Whether some part of `name` that is not empty matches.
  func matches(_ name: String) -> Bool {
    let scalars = Array(name.unicodeScalars)
    var states = StateList(count: program.count)
    var next = states
    // A match without a character is none, so that the start is added after the others.
    _ = add(0, to: &states, scalars, 0)
    for position in scalars.indices {
      next.clear()
      for state in states.members {
        guard case .take(let characters) = program[state],
          NameExpression.takes(characters, scalars[position])
        else { continue }
        if add(state + 1, to: &next, scalars, position + 1) { return true }
      }
      _ = add(0, to: &next, scalars, position + 1)
      swap(&states, &next)
    }
    return false
  }

  /// Adds a state and those that it leads to without a character; returns whether one is the end.
  private func add(
    _ state: Int, to states: inout StateList, _ scalars: [Unicode.Scalar], _ position: Int
  ) -> Bool {
    var isFound = false
    var open = [state]
    while let state = open.popLast() {
      guard states.insert(state) else { continue }
      switch program[state] {
      case .take: break
      case .found: isFound = true
      case .jump(let target): open.append(target)
      case .fork(let first, let second): open += [second, first]
      case .anchor(let anchor):
        if NameExpression.holds(anchor, scalars, position) { open.append(state + 1) }
      }
    }
    return isFound
  }

  private static func takes(_ characters: Characters, _ scalar: Unicode.Scalar) -> Bool {
    switch characters {
    case .any: scalar != "\n"
    case .set(let ranges, let classes, let isNegated):
      (ranges.contains { $0.contains(scalar.value) } || classes.contains { $0.contains(scalar) })
        != isNegated
    }
  }

  private static func holds(
    _ anchor: Anchor, _ scalars: [Unicode.Scalar], _ position: Int
  ) -> Bool {
    let isInside = position > 0 && isWord(scalars[position - 1])
    let isBefore = position < scalars.count && isWord(scalars[position])
    return switch anchor {
    case .start: position == 0
    case .end: position == scalars.count
    case .boundary: isInside != isBefore
    case .noBoundary: isInside == isBefore
    }
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
  }

  /// States in the order of their arrival, each once.
  private struct StateList {
    private(set) var members: [Int] = []
    private var contains: [Bool]

    init(count: Int) { contains = [Bool](repeating: false, count: count) }

    mutating func insert(_ state: Int) -> Bool {
      if contains[state] { return false }
      contains[state] = true
      members.append(state)
      return true
    }

    mutating func clear() {
      for state in members { contains[state] = false }
      members.removeAll(keepingCapacity: true)
    }
  }
}
