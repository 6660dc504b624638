/// A size of an axis, or an integer that sizes are computed from: a number, or a symbol for one that
/// nothing fixes.
public enum SymbolicSize: Sendable, Hashable {
  /// A number.
  case known(Int)
  /// The same symbol stands for the same number wherever it occurs in a function.
  case symbol(Int)

  /// The number, or nil for a symbol.
  public var value: Int? {
    if case .known(let value) = self { return value }
    return nil
  }
}

extension SymbolicSize: ExpressibleByIntegerLiteral {
  /// A number.
  public init(integerLiteral value: Int) { self = .known(value) }
}

/// Gives out symbols and computes with sizes; a result that is no number is a new symbol.
struct SymbolSource {
  private var count = 0

  mutating func next() -> SymbolicSize {
    defer { count += 1 }
    return .symbol(count)
  }

  /// The largest number that is kept, on both sides of zero; no sum of a few of them overflows.
  private static let limit = 1 << 48

  /// The size of a number, a new symbol for nil and for numbers that no tensor has.
  mutating func size(_ value: Int?) -> SymbolicSize {
    guard let value, value.magnitude <= SymbolSource.limit else { return next() }
    return .known(value)
  }

  mutating func sum(_ left: SymbolicSize, _ right: SymbolicSize) -> SymbolicSize {
    switch (left, right) {
    case (.known(0), let other), (let other, .known(0)): other
    case (.known(let left), .known(let right)):
      size(Self.checked(left.addingReportingOverflow(right)))
    default: next()
    }
  }

  mutating func difference(_ left: SymbolicSize, _ right: SymbolicSize) -> SymbolicSize {
    if left == right { return 0 }
    switch (left, right) {
    case (let other, .known(0)): return other
    case (.known(let left), .known(let right)):
      return size(Self.checked(left.subtractingReportingOverflow(right)))
    default: return next()
    }
  }

  mutating func product(_ left: SymbolicSize, _ right: SymbolicSize) -> SymbolicSize {
    switch (left, right) {
    case (.known(1), let other), (let other, .known(1)): other
    case (.known(0), _), (_, .known(0)): 0
    case (.known(let left), .known(let right)):
      size(Self.checked(left.multipliedReportingOverflow(by: right)))
    default: next()
    }
  }

  mutating func product(_ sizes: some Sequence<SymbolicSize>) -> SymbolicSize {
    sizes.reduce(1) { product($0, $1) }
  }

  /// The quotient rounded towards −∞.
  mutating func quotient(_ left: SymbolicSize, _ right: SymbolicSize) -> SymbolicSize {
    switch (left, right) {
    case (let other, .known(1)): return other
    case (.known(let left), .known(let right)):
      if right == 0 || (left == Int.min && right == -1) { return next() }
      let quotient = left / right
      return .known(left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient)
    default: return left == right ? 1 : next()
    }
  }

  private static func checked(_ result: (partialValue: Int, overflow: Bool)) -> Int? {
    result.overflow ? nil : result.partialValue
  }
}
