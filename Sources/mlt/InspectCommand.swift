import ModelSpec

enum InspectCommand: Command {
  static let name = "inspect"
  static let summary = "interface, operations, weights, sizes, minimum OS of a model"
  static let options: [Option] = []
  static let discussion = ""

  static func run(_ arguments: Arguments, _ console: Console) throws -> Int32 {
    let model = try LoadedModel(path: try arguments.operand("MODEL"), readingWeights: false)
    try console.print(model.model.kind.typeName)
    return 0
  }
}
