import ModelGraph
import ModelTensors
import TestSupport
import Testing

@testable import ModelPlan

/// Each rule where it holds and where it does not.
@Suite struct PlacementRuleTests {
  @Test func plainOperationsRunEverywhere() {
    for unit in ComputeUnit.allCases {
      #expect(Plans.rule("relu", on: unit) == nil)
    }
  }

  @Test(arguments: [
    "scatter", "lstm", "gru", "rnn", "reduce_prod", "mod", "logical_and", "non_zero", "one_hot",
    "band_part", "reverse_sequence", "sliding_windows", "argsort", "random_normal", "range_1d",
    "fill", "cond", "while_loop", "list_write", "non_maximum_suppression", "classify",
  ])
  func operationsWithoutPath(_ type: String) {
    #expect(Plans.rule(type)?.name == "no-ne-path")
    #expect(Plans.rule(type, on: .cpu) == nil)
  }

  @Test func operationsOfTheHostAreNotForTheGPU() {
    #expect(Plans.rule("while_loop", on: .gpu)?.name == "host-only")
    #expect(Plans.rule("non_zero", on: .gpu)?.name == "host-only")
    #expect(Plans.rule("lstm", on: .gpu) == nil)
  }

  @Test func unknownOperationsStayOnTheCPU() {
    #expect(Plans.rule("my_layer", on: .ne)?.name == "unknown-operation")
    #expect(Plans.rule("my_layer", on: .gpu)?.name == "unknown-operation")
    #expect(Plans.rule("my_layer", on: .cpu) == nil)
  }

  @Test(arguments: [
    ("crop_resize", 14), ("resample", 14), ("affine", 14), ("gather", 14), ("sin", 15), ("cos", 15),
    ("reduce_argmin", 15),
  ])
  func operationsOfLaterGenerations(_ type: String, _ first: Int) {
    #expect(Plans.rule(type, Plans.context(first - 1))?.name == "generation")
    #expect(Plans.rule(type, Plans.context(first)) == nil)
  }

  @Test func arithmeticOtherThanHalfPrecision() {
    #expect(Plans.rule("add", [1, 8], .float32)?.name == "fp16-only")
    #expect(Plans.rule("add", [1, 8], .float32)?.hint?.contains("--bits 16") == true)
    #expect(Plans.rule("add", [1, 8], .int32)?.name == "fp16-only")
    #expect(Plans.rule("add", [1, 8], .int8) == nil)
    #expect(Plans.rule("cast", [1, 8], .float32) == nil)
    #expect(Plans.rule("add", [1, 8], .float32, on: .gpu) == nil)
  }

  @Test func ranksAboveFive() {
    for unit in ComputeUnit.allCases {
      let rule = Plans.rule("relu", [1, 1, 1, 2, 2, 2], on: unit)
      #expect(rule?.name == "rank")
      #expect(rule?.confidence == .documented)
    }
    #expect(Plans.rule("relu", [1, 1, 2, 2, 2]) == nil)
  }

  @Test func axesThatAreTooLong() {
    #expect(Plans.rule("relu", [1, 16385], Plans.context(15))?.name == "axis-limit")
    #expect(Plans.rule("relu", [1, 16384], Plans.context(15)) == nil)
    #expect(Plans.rule("relu", [1, 65537], Plans.context(16))?.name == "axis-limit")
    #expect(Plans.rule("relu", [1, 65536], Plans.context(16)) == nil)
    #expect(Plans.rule("reduce_argmax", [1, 2049])?.name == "arg-reduce-axis")
    #expect(Plans.rule("reduce_argmax", [1, 2048]) == nil)
  }

  @Test(arguments: [(13, false, 13), (14, true, 16), (16, true, 16)])
  func kernelsThatAreTooWide(_ generation: Int, _ isPhone: Bool, _ most: Int) throws {
    func rule(_ width: Int) throws -> PlacementRule? {
      let graph = Plans.graph(
        [Make.tensor("x", [1, 8, 32, 32])],
        [
          Make.const("w", try Plans.zeros(.float16, [8, 8, 1, width], at: 64)),
          Plans.convolution("x", "w", Make.tensor("y", [1, 8, 32, 32])),
        ])
      return graph.nodes.first.flatMap {
        PlacementRules.obstacle($0, on: .ne, Plans.context(generation, isPhone: isPhone))
      }
    }
    #expect(try rule(most) == nil)
    #expect(try rule(most + 1)?.name == "kernel-width")
  }

  @Test(arguments: [(32, true), (64, true), (48, false)])
  func widthsOfStates(_ width: Int, _ isTaken: Bool) {
    let graph = Plans.graph(
      [NamedValueType("s", ValueType(.state(.tensor(.float16, [1, width]))))],
      [Make.operation("read_state", ["input": "s"], Make.tensor("y", [1, width]))])
    let rule = graph.nodes.first.flatMap {
      PlacementRules.obstacle($0, on: .ne, Plans.context(16))
    }
    #expect(rule?.name == (isTaken ? nil : "state-width"))
    #expect(isTaken || rule?.confidence == .measured)
  }

  @Test func shapesThatAreFlexible() {
    var context = Plans.context(16)
    context.isFlexible = true
    #expect(Plans.rule("relu", context)?.name == "flexible-shapes")
    context.isEnumerated = true
    #expect(Plans.rule("relu", context) == nil)
    #expect(Plans.rule("layer_norm", context)?.name == "enumerated-layer-norm")
  }

  @Test func modelsThatAreTooLarge() {
    var context = Plans.context(16)
    context.modelBytes = 1.1e9
    #expect(Plans.rule("relu", context)?.name == "model-size")
    context.isPhone = false
    #expect(Plans.rule("relu", context) == nil)
  }

  /// Every rule says what it rests on.
  @Test func rulesHaveSources() {
    let rules = [
      Plans.rule("lstm"), Plans.rule("sin", Plans.context(12)), Plans.rule("add", [2], .float32),
      Plans.rule("relu", [1, 100_000]), Plans.rule("my_layer"),
    ]
    for rule in rules {
      #expect(rule?.source.isEmpty == false)
      #expect(rule?.reason.isEmpty == false)
    }
  }
}

extension Plans {
  /// The rule for an operation of the usual shape in a context.
  static func rule(_ type: String, _ context: PlacementRules.Context) -> PlacementRule? {
    rule(type, [1, 8, 4, 4], .float16, on: .ne, context)
  }

  /// The rule for an operation of a shape in a context.
  static func rule(
    _ type: String, _ shape: [Int], _ context: PlacementRules.Context
  ) -> PlacementRule? {
    rule(type, shape, .float16, on: .ne, context)
  }
}

@Suite struct RuleGenerationTests {
  /// Reports name M2 beside A14, M3 beside A15, M4 beside A16.
  @Test(arguments: [
    ("a14", 14), ("a16", 16), ("m1", 13), ("m2-max", 14), ("m3", 15), ("m4-pro", 16),
  ]) func generations(_ chip: String, _ expected: Int) throws {
    #expect(try Plans.device(chip).chip.ruleGeneration == expected)
  }

  @Test(arguments: [
    ("m2", PlanWeight.Encoding.blockwise, false), ("m3", .blockwise, true),
    ("a15", .blockwise, true),
    ("m1", .table, true), ("a13", .table, false), ("m1", .affine, false), ("m2", .affine, true),
  ]) func encodingsReadAsStored(
    _ chip: String, _ encoding: PlanWeight.Encoding, _ isStored: Bool
  ) throws {
    var weight = try #require(PlanWeight(try Plans.zeros(.float16, [64, 64], at: 64)))
    weight.storedBytes = 100
    weight.denseBytes = 8192
    weight.encodings = [encoding]
    let cost = CostModel(chip: try Plans.device(chip).chip, calibration: .standard)
    #expect(cost.bytes(of: weight, on: .ne) == (isStored ? 100 : 8192))
  }
}
