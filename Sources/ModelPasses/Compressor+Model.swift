import ModelGraph

extension Compressor {
  static func programs(_ model: Model) -> [(model: Model, program: Program)] {
    switch model.kind {
    case .program(let program): [(model, program)]
    case .pipeline(let pipeline): pipeline.models.flatMap(programs)
    case .neuralNetwork, .other, .absent: []
    }
  }

  static func hasProgram(_ model: Model) -> Bool { !programs(model).isEmpty }

  static func hasNeuralNetwork(_ model: Model) -> Bool {
    switch model.kind {
    case .neuralNetwork: true
    case .pipeline(let pipeline): pipeline.models.contains(where: hasNeuralNetwork)
    case .program, .other, .absent: false
    }
  }

  static func functionNames(_ model: Model) -> [String] {
    programs(model).flatMap { $0.program.functions.keys }
      + (hasNeuralNetwork(model) ? [NetworkCompressor.functionName] : [])
  }
}
