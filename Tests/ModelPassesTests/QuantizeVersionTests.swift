import ModelToolchain
import TestSupport
import Testing

/// Which specification version is written, and what that does to the rest of the program.
@Suite struct QuantizeVersionTests {
  private static let int4 = QuantizePass(scheme: AffineScheme(bits: 4))

  @Test func risesNoFurtherThanNeeded() throws {
    let cases: [(Int, QuantizePass, Int, String?)] = [
      (6, QuantizePass(), 7, "constexpr_affine_dequantize"), (7, QuantizePass(), 7, nil),
      (8, QuantizePass(), 8, nil), (9, QuantizePass(), 9, nil), (10, QuantizePass(), 10, nil),
      (6, Self.int4, 9, "constexpr_blockwise_shift_scale"), (9, Self.int4, 9, nil),
      (7, QuantizePass(granularity: .block(16)), 9, "block"),
    ]
    for (before, pass, after, reason) in cases {
      let run = try PassRun(Sample.linear(before), pass)
      #expect(run.ledger.version.before == before)
      #expect(run.ledger.version.after == after)
      #expect(try run.output.specificationVersion == after)
      let function = try #require(try run.output.program?.functions["main"])
      #expect(function.opset == Opset.name(specificationVersion: after))
      #expect(function.specializations.keys == [function.opset])
      if let reason {
        #expect(run.ledger.version.reason?.contains(reason) == true)
      } else {
        #expect(run.ledger.version.reason == nil)
      }
      let type = try run.output.operation("w")?.type
      let form = after < 9 ? "constexpr_affine_dequantize" : "constexpr_blockwise_shift_scale"
      #expect(type == form)
    }
  }

  @Test func targetVersion() throws {
    let higher = try PassRun(Sample.linear(7)) { $0.targetVersion = 9 }
    #expect(higher.ledger.version.after == 9)
    #expect(higher.ledger.version.reason == "--target-os")
    for (model, pass, target) in [(8, QuantizePass(), 7), (7, Self.int4, 8)] {
      do {
        _ = try PassRun(Sample.linear(model), pass) { $0.targetVersion = target }
        Issue.record("no error")
      } catch let error as PassError {
        #expect(error.isUsage)
        #expect("\(error)".contains("\(target)"))
      }
    }
  }

  /// Both forms hold the same codes and scales.
  @Test func formsAreEquivalent() throws {
    for mode in [AffineScheme.Mode.symmetric, .affine] {
      for signed in [true, false] {
        let pass = QuantizePass(scheme: AffineScheme(signed: signed, mode: mode))
        let old = try PassRun(Sample.linear(7), pass)
        let new = try PassRun(Sample.linear(9), pass)
        let left = try #require(try old.output.operation("w"))
        let right = try #require(try new.output.operation("w"))
        for (attribute, input) in [
          ("quantized_data", "data"), ("scale", "scale"), ("zero_point", "offset"),
        ] {
          let first = try #require(try left.attributes[attribute]?.tensorSource?.bytes())
          let second = try right.inputs[input]?.value?.tensorSource?.bytes()
          // The old form writes the zero points that the new one leaves out.
          #expect(first == second || second == nil && first.allSatisfy { $0 == 0 })
          #expect((second == nil) == (input == "offset" && signed && mode == .symmetric))
        }
        #expect(
          try old.output.constant("w")?.bytes() == new.output.constant("w")?.bytes())
      }
    }
  }

  /// Operations whose inputs change between versions 6 and 9.
  @Test func operationsAreUpgradedOnTheWay() throws {
    var weights = WeightMaker()
    let int = { (name: String, value: Int32) in Make.const(name, .int32(value)) }
    let model = Make.model(
      6, [Make.tensor("image", [1, 3, 16, 16], .float32)],
      [
        Make.const("table", try weights.random(.float32, [64, 40])),
        Make.const("indices", .int32s([3, 5])), int("axis", 0),
        Make.operation(
          "gather", ["x": "table", "indices": "indices", "axis": "axis"],
          Make.tensor("rows", [2, 40], .float32)),
        Make.const(
          "roi", Value(.float32, [1, 1, 4, 1, 1], .floats([0, 0.1, 0.7, 0.8]))),
        int("height", 4), int("width", 4), Make.const("normalized", .bool(true)),
        Make.const("mode", .string("ALIGN_CORNERS")),
        Make.const("corners", .string("CORNERS_HEIGHT_FIRST")),
        Make.const("scale", Value(.float32, [], .floats([1]))),
        Make.operation(
          "crop_resize",
          [
            "x": "image", "roi": "roi", "target_height": "height", "target_width": "width",
            "normalized_coordinates": "normalized", "sampling_mode": "mode",
            "box_coordinate_mode": "corners", "spatial_scale": "scale",
          ], Make.tensor("crop", [1, 1, 3, 4, 4], .float32)),
      ],
      outputs: [
        Make.tensor("rows", [2, 40], .float32), Make.tensor("crop", [1, 1, 3, 4, 4], .float32),
      ])
    let run = try PassRun(model, Self.int4)
    #expect(run.ledger.version.after == 9)
    let gather = try #require(try run.output.operations().first { $0.type == "gather" })
    #expect(gather.inputs["validate_indices"] != nil || gather.inputs.count == 3)
    let crop = try #require(try run.output.operations().first { $0.type == "crop_resize" })
    #expect(crop.inputs["roi"] == nil && crop.inputs["boxes"] != nil)
  }

  /// Where a rise cannot be exact, nothing is written and the operation is named.
  @Test func refusedRise() throws {
    let fixed = [
      Make.const("boxes", Value(.float32, [1, 8, 4], .floats(RandomNumbers.floats(32)))),
      Make.const("scores", Value(.float32, [1, 8, 2], .floats(RandomNumbers.floats(16)))),
      Make.const("iou", Value(.float32, [], .floats([0.5]))),
      Make.const("score", Value(.float32, [], .floats([0.1]))),
      Make.const("most", .int32(4)), Make.const("each", .bool(false)),
    ]
    let model = try Sample.linear(6, type: .float32).appending(
      fixed + [
        GraphOperation(
          type: "non_maximum_suppression",
          inputs: [
            "boxes": .name("boxes"), "scores": .name("scores"), "iou_threshold": .name("iou"),
            "score_threshold": .name("score"), "max_boxes": .name("most"),
            "per_class_suppression": .name("each"),
          ],
          outputs: [
            Make.tensor("b", [1, 4, 4], .float32), Make.tensor("s", [1, 4, 2], .float32),
            Make.tensor("i", [1, 4], .int32), Make.tensor("n", [1], .int32),
          ], attributes: ["name": .string("nms")])
      ])
    guard var program = model.program, var function = program.functions["main"],
      var block = function.activeBlock
    else { return }
    block.outputs = ["n"]
    function.activeBlock = block
    program.functions["main"] = function
    var changed = model
    changed.program = program
    changed.description?.outputs = [Make.feature(Make.tensor("n", [1], .int32))]
    let folder = try TestFolder()
    try TestPackage.write(changed, to: folder("in.mlpackage"))
    do {
      _ = try PassRun(folder: folder, Self.int4)
      Issue.record("no error")
    } catch let error as UpgradeRefusal {
      #expect("\(error)".contains("non_maximum_suppression") || "\(error)".contains("nms"))
    }
    #expect(try folder.files().allSatisfy { $0.hasPrefix("in.mlpackage/") })
  }

  /// Specializations beside the active one are compressed and upgraded too, or dropped with a note.
  @Test func severalSpecializations() throws {
    var model = try Sample.linear(7)
    guard var program = model.program, var function = program.functions["main"] else { return }
    function.specializations["CoreML5"] = function.activeBlock
    program.functions["main"] = function
    model.program = program
    for pass in [QuantizePass(), Self.int4] {
      let run = try PassRun(model, pass)
      let main = try #require(try run.output.program?.functions["main"])
      #expect(main.activeBlock != nil)
      #expect(run.ledger.totals.weights == 1)
      for (_, block) in main.specializations {
        #expect(!block.operations.contains { $0.name == "w" && $0.isConst })
      }
      #expect(main.specializations.count == 2 || !run.ledger.notes.isEmpty)
    }
  }
}
