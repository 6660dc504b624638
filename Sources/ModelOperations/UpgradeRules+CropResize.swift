import ModelGraph
import ModelTensors

extension UpgradeRules {
  /// Splits `roi` of `crop_resize` into `boxes` [N, 4] and `box_indices` [N].
  ///
  /// `roi` [N, 1, 5, 1, 1] holds the index of the image before each box; with [N, 1, 4, 1, 1] every
  /// box is cut from all images, which takes one box per pair. The output loses its second axis,
  /// which a further operation puts back. A constant `roi` is split here where its bytes are
  /// at hand, else operations split it.
  static func cropResize(
    _ operation: GraphOperation, _ context: inout UpgradeContext
  ) throws(UpgradeRefusal) -> [GraphOperation] {
    guard let roi = context.scope.tensor(operation, "roi"), roi.dimensions.count == 5,
      let width = roi.dimensions[2].size, width == 4 || width == 5,
      let argument = operation.inputs["roi"], let element = roi.elementType
    else { throw context.refusal(operation, "the shape of its roi is not known") }
    guard let output = operation.outputs.first, operation.outputs.count == 1,
      let outputType = output.type?.tensor, outputType.dimensions.count == 5
    else { throw context.refusal(operation, "the shape of its output is not known") }
    let count = roi.dimensions[0].size
    let images = width == 5 ? 1 : context.scope.tensor(operation, "x")?.dimensions.first?.size
    guard let images, images > 0, images == 1 || count != nil else {
      throw context.refusal(operation, "the number of its images or boxes is not known")
    }
    // coremltools declares as many crops as images for indexed boxes too; one is documented.
    guard outputType.dimensions[1].size == images else {
      throw context.refusal(operation, "its output does not have \(images) crops per box")
    }
    let (pairs, overflow) = images.multipliedReportingOverflow(by: count ?? 1)
    guard !overflow, pairs <= 1 << 20 else {
      throw context.refusal(operation, "it has too many boxes")
    }
    let split = CropBoxes(
      name: operation.name, width: width, count: count, images: images, element: element)
    let (added, boxes, indices): ([GraphOperation], Argument, Argument)
    let constant = context.scope.constant(operation, "roi")
    if let parts = constant.flatMap({ split.constants($0, &context) }) {
      (added, boxes, indices) = parts
    } else {
      (added, boxes, indices) = split.operations(argument, roi.dimensions[0], &context)
    }

    var crop = operation
    crop.inputs["roi"] = nil
    crop.inputs["boxes"] = boxes
    crop.inputs["box_indices"] = indices
    let name = context.unusedName("\(operation.name)_crops")
    var dimensions = outputType.dimensions
    dimensions.remove(at: 1)
    if images > 1 { dimensions[0] = Dimension(.constant(UInt64(pairs))) }
    crop.outputs = [
      NamedValueType(name, ValueType(.tensor(outputType.with(dimensions: dimensions))))
    ]
    crop.attributes["name"] = .string(name)
    context.note(operation, "roi was split into boxes and box_indices")

    var last: GraphOperation
    let parameter: GraphOperation
    if images == 1 {
      parameter = context.constant("\(operation.name)_axes", .int32s([1]))
      last = GraphOperation(
        type: "expand_dims", inputs: ["x": .name(name), "axes": .output(parameter)],
        outputs: [output])
    } else {
      let unknown = outputType.dimensions.count { $0.size == nil }
      guard unknown <= 1 else {
        throw context.refusal(operation, "the shape of its output is not known")
      }
      let sizes = outputType.dimensions.map { $0.size.map { Int32(clamping: $0) } ?? -1 }
      parameter = context.constant("\(operation.name)_shape", .int32s(sizes))
      last = GraphOperation(
        type: "reshape", inputs: ["x": .name(name), "shape": .output(parameter)],
        outputs: [output])
    }
    last.attributes["name"] = operation.attributes["name"] ?? .string(output.name)
    return added + [crop, parameter, last]
  }
}

/// The boxes of a `crop_resize` and the image of each.
private struct CropBoxes {
  typealias Parts = (added: [GraphOperation], boxes: Argument, indices: Argument)

  let name: String
  /// 5 when the image's index stands before the box, else 4.
  let width: Int
  let count: Int?
  /// The images that every box is cut from.
  let images: Int
  let element: ElementType

  /// Both as constants, or nil when the bytes of `roi` cannot be had.
  func constants(_ roi: Value, _ context: inout UpgradeContext) -> Parts? {
    guard let count, let numbers = roi.floatValues, numbers.count == count * width,
      let bytes = try? roi.tensorSource?.bytes()
    else { return nil }
    let size = element.bitWidth / 8
    var boxBytes: [UInt8] = []
    var imageIndices: [Int32] = []
    for box in 0..<count {
      let start = (box * width + width - 4) * size
      for image in 0..<images {
        boxBytes += bytes[start..<start + 4 * size]
        if width == 4 {
          imageIndices.append(Int32(clamping: image))
        } else {
          guard let index = Int32(exactly: numbers[box * width]) else { return nil }
          imageIndices.append(index)
        }
      }
    }
    guard let boxes = Value(element, [count * images, 4], packed: boxBytes) else { return nil }
    let boxesConstant = context.constant("\(name)_boxes", boxes)
    let indicesConstant = context.constant("\(name)_box_indices", .int32s(imageIndices))
    return ([boxesConstant, indicesConstant], .output(boxesConstant), .output(indicesConstant))
  }

  /// Both computed from `roi`, whose first axis is `boxes`.
  func operations(
    _ roi: Argument, _ boxes: Dimension, _ context: inout UpgradeContext
  ) -> Parts {
    var added: [GraphOperation] = []
    func append(_ operation: GraphOperation) -> Argument {
      added.append(operation)
      return .output(operation)
    }
    func type(_ element: ElementType, _ dimensions: [Dimension]) -> ValueType {
      ValueType(.tensor(TensorType(element, []).with(dimensions: dimensions)))
    }
    let columns = Dimension(.constant(UInt64(width)))
    let four = Dimension(.constant(4))
    let rowCount = count.map { Int32(clamping: $0) } ?? -1

    let flatShape = append(
      context.constant("\(name)_roi_shape", .int32s([rowCount, Int32(width)])))
    let flat = append(
      context.operation(
        "reshape", "\(name)_roi", ["x": roi, "shape": flatShape], type(element, [boxes, columns])))
    if width == 5 {
      func slice(
        _ base: String, _ bounds: (Int32, Int32), squeeze: Bool, _ output: ValueType
      ) -> Argument {
        let begin = append(context.constant("\(base)_begin", .int32s([0, bounds.0])))
        let end = append(context.constant("\(base)_end", .int32s([0, bounds.1])))
        let mask = append(
          context.constant("\(base)_mask", Value(.bool, [2], .bools([true, false]))))
        let squeezeMask = append(
          context.constant("\(base)_squeeze", Value(.bool, [2], .bools([false, squeeze]))))
        return append(
          context.operation(
            "slice_by_index", base,
            [
              "x": flat, "begin": begin, "end": end, "begin_mask": mask, "end_mask": mask,
              "squeeze_mask": squeezeMask,
            ], output))
      }
      let rows = slice("\(name)_boxes", (1, 5), squeeze: false, type(element, [boxes, four]))
      let numbers = slice("\(name)_images", (0, 1), squeeze: true, type(element, [boxes]))
      let dtype = append(context.constant("\(name)_box_indices_dtype", .string("int32")))
      let indices = append(
        context.operation(
          "cast", "\(name)_box_indices", ["x": numbers, "dtype": dtype], type(.int32, [boxes])))
      return (added, rows, indices)
    }
    guard let count else {
      let reduced = append(context.constant("\(name)_axes", .int32s([1])))
      let keep = append(context.constant("\(name)_keep_dims", .bool(false)))
      let vector = append(
        context.operation(
          "reduce_max", "\(name)_rows", ["x": flat, "axes": reduced, "keep_dims": keep],
          type(element, [boxes])))
      let zero = append(context.constant("\(name)_zero", .int32(0)))
      let indices = append(
        context.operation(
          "fill_like", "\(name)_box_indices", ["ref_tensor": vector, "value": zero],
          type(.int32, [boxes])))
      return (added, flat, indices)
    }
    let pairs = count * images
    let repeated = (0..<count).flatMap { _ in (0..<images).map { Int32(clamping: $0) } }
    let indices = append(context.constant("\(name)_box_indices", .int32s(repeated)))
    if images == 1 { return (added, flat, indices) }
    let one = Dimension(.constant(1))
    let all = Dimension(.constant(UInt64(images)))
    let axes = append(context.constant("\(name)_boxes_axes", .int32s([1])))
    let expanded = append(
      context.operation(
        "expand_dims", "\(name)_boxes_expanded", ["x": flat, "axes": axes],
        type(element, [boxes, one, four])))
    let reps = append(
      context.constant("\(name)_boxes_reps", .int32s([1, Int32(clamping: images), 1])))
    let tiled = append(
      context.operation(
        "tile", "\(name)_boxes_tiled", ["x": expanded, "reps": reps],
        type(element, [boxes, all, four])))
    let shape = append(
      context.constant("\(name)_boxes_shape", .int32s([Int32(clamping: pairs), 4])))
    let rows = append(
      context.operation(
        "reshape", "\(name)_boxes", ["x": tiled, "shape": shape],
        type(element, [Dimension(.constant(UInt64(pairs))), four])))
    return (added, rows, indices)
  }
}
