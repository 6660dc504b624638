/// A pattern that picks weights: a glob on the weight's or a consumer's name, or `op:TYPE` for all
/// weights of operations of a type.
public struct WeightPattern: Sendable, Hashable {
  private enum Subject: Sendable, Hashable {
    case name
    case operationType
  }

  private let subject: Subject
  private let glob: [Character]

  /// A pattern as written on the command line; `*` and `?` stand for any characters and for one.
  public init(_ text: String) {
    if text.hasPrefix("op:") {
      subject = .operationType
      glob = Array(text.dropFirst(3))
    } else {
      subject = .name
      glob = Array(text)
    }
  }

  /// A glob on names, whatever it starts with.
  init(name: String) {
    subject = .name
    glob = Array(name)
  }

  /// Whether the pattern picks a weight of this name with consumers of these names and types.
  public func matches(name: String, consumers: [(name: String, type: String)]) -> Bool {
    switch subject {
    case .operationType: consumers.contains { matches($0.type) }
    case .name: matches(name) || consumers.contains { matches($0.name) }
    }
  }

  private func matches(_ text: String) -> Bool {
    let text = Array(text)
    var position = 0
    var index = 0
    var star: (glob: Int, text: Int)?
    while position < text.count {
      if index < glob.count, glob[index] == "*" {
        star = (index, position)
        index += 1
      } else if index < glob.count, glob[index] == "?" || glob[index] == text[position] {
        index += 1
        position += 1
      } else if let last = star {
        star = (last.glob, last.text + 1)
        index = last.glob + 1
        position = last.text + 1
      } else {
        return false
      }
    }
    return glob[index...].allSatisfy { $0 == "*" }
  }
}
