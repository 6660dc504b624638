import ModelGraph
import ModelTensors

extension InferenceRules {
  /// Convolution, pooling, resizing and other operations on the axes behind batch and channels.
  static let spatial = table(
    (
      "conv conv_quantized",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        let weight = try call.shape("weight")
        guard shape.count >= 3, weight.count == shape.count else {
          throw call.fault("x and weight have the same rank, 3 to 5.")
        }
        let groups = try call.number("groups", default: 1)
        _ = try call.equal(
          shape[1], call.symbols.product(weight[1], .known(groups)),
          "The channels of x and of weight times groups")
        let window = Window(
          kernel: Array(weight.dropFirst(2)), input: Array(shape.dropFirst(2)),
          dilations: "dilations")
        return tensor(x.elementType, [shape[0], weight[0]] + (try window.sizes(call)))
      }
    ),
    (
      "avg_pool max_pool l2_pool",
      { call throws(InferenceFault) in
        let x = try call.tensor("x")
        let shape = try call.shape("x")
        let kernel = try call.requiredNumbers("kernel_sizes")
        guard shape.count == kernel.count + 2 else {
          throw call.fault("x has the rank of kernel_sizes and two more axes.")
        }
        var window = Window(
          kernel: kernel.map(SymbolicSize.known), input: Array(shape.dropFirst(2)))
        window.roundsUp = call.flag("ceil_mode")
        return tensor(x.elementType, Array(shape.prefix(2)) + (try window.sizes(call)))
      }
    ), ("conv_transpose", transposedConvolution),
    ("upsample_nearest_neighbor upsample_bilinear", upsample),
    (
      "resize_bilinear resize_nearest_neighbor",
      { call throws(InferenceFault) in
        try last(
          call, call.integers("target_size_height")?.first,
          call.integers("target_size_width")?.first)
      }
    ),
    (
      "affine",
      { call throws(InferenceFault) in
        try last(call, call.integers("output_height")?.first, call.integers("output_width")?.first)
      }
    ),
    (
      "resample",
      { call throws(InferenceFault) in
        let grid = try call.shape("coordinates")
        guard grid.count == 4 else { throw call.fault("coordinates has rank 4.") }
        return try last(call, grid[1], grid[2])
      }
    ), ("crop_resize", cropResize), ("resize", resize),
    (
      "crop",
      { call throws(InferenceFault) in
        let shape = try call.shape("x")
        let (rows, columns) = (
          try call.requiredNumbers("crop_height"), try call.requiredNumbers("crop_width")
        )
        guard shape.count >= 2, rows.count == 2, columns.count == 2 else {
          throw call.fault("crop takes two numbers for height and for width.")
        }
        return try last(
          call,
          call.symbols.difference(shape[shape.count - 2], .known(rows[0] &+ rows[1])),
          call.symbols.difference(shape[shape.count - 1], .known(columns[0] &+ columns[1])))
      }
    ),
    (
      "depth_to_space pixel_shuffle",
      { call throws(InferenceFault) in try rearranged(call, up: true) }
    ),
    (
      "space_to_depth pixel_unshuffle",
      { call throws(InferenceFault) in try rearranged(call, up: false) }
    ),
    ("batch_to_space", { call throws(InferenceFault) in try batched(call, up: true) }),
    ("space_to_batch", { call throws(InferenceFault) in try batched(call, up: false) }))

  /// x with other sizes of its last two axes.
  private static func last(
    _ call: OperationCall, _ height: SymbolicSize?, _ width: SymbolicSize?
  ) throws(InferenceFault) -> [InferredType] {
    let x = try call.tensor("x")
    var shape = try call.shape("x")
    guard shape.count >= 2 else { throw call.fault("x has rank 2 or more.") }
    shape[shape.count - 2] = height ?? call.symbols.next()
    shape[shape.count - 1] = width ?? call.symbols.next()
    return tensor(x.elementType, shape)
  }

  private static let transposedConvolution: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    let shape = try call.shape("x")
    let weight = try call.shape("weight")
    guard shape.count >= 3, weight.count == shape.count else {
      throw call.fault("x and weight have the same rank, 3 to 5.")
    }
    if let sizes = call.integers("output_shape"), sizes.count == shape.count {
      return tensor(x.elementType, sizes)
    }
    let groups = try call.number("groups", default: 1)
    let count = shape.count - 2
    let strides = call.numbers("strides") ?? [Int](repeating: 1, count: count)
    let dilations = call.numbers("dilations") ?? [Int](repeating: 1, count: count)
    let pads = call.numbers("pad") ?? [Int](repeating: 0, count: 2 * count)
    let type = call.text("pad_type", default: "valid")
    guard strides.count == count, dilations.count == count, pads.count == 2 * count else {
      throw call.fault("strides, dilations or pad do not fit the rank.")
    }
    var sizes: [SymbolicSize] = []
    for axis in 0..<count {
      let input = shape[axis + 2]
      if type.hasPrefix("same") {
        sizes.append(call.symbols.product(input, .known(strides[axis])))
        continue
      }
      guard let size = input.value, let kernel = weight[axis + 2].value else {
        sizes.append(call.symbols.next())
        continue
      }
      let pad = type == "custom" ? pads[2 * axis] &+ pads[2 * axis + 1] : 0
      sizes.append(
        call.symbols.size(
          (size &- 1) &* strides[axis] &+ dilations[axis] &* (kernel &- 1) &+ 1 &- pad))
    }
    return tensor(
      x.elementType, [shape[0], call.symbols.product(weight[1], .known(groups))] + sizes)
  }

  private static let upsample: Rule = { call throws(InferenceFault) in
    let shape = try call.shape("x")
    guard shape.count >= 2 else { throw call.fault("x has rank 2 or more.") }
    func scaled(_ size: SymbolicSize, _ input: String) throws(InferenceFault) -> SymbolicSize {
      let factor = call.has(input) ? call.real(input) : 1
      guard let factor, factor.isFinite, let size = size.value else { return call.symbols.next() }
      let product = (Double(size) * factor).rounded(.down)
      return call.symbols.size(Int(exactly: product))
    }
    return try last(
      call, try scaled(shape[shape.count - 2], "scale_factor_height"),
      try scaled(shape[shape.count - 1], "scale_factor_width"))
  }

  private static let cropResize: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    let shape = try call.shape("x")
    let (height, width) = (
      call.integers("target_height")?.first ?? call.symbols.next(),
      call.integers("target_width")?.first ?? call.symbols.next()
    )
    guard shape.count == 4 else { throw call.fault("x has rank 4.") }
    if call.version >= 8 {
      return tensor(x.elementType, [try call.shape("boxes")[0], shape[1], height, width])
    }
    guard let boxes = try call.shape("roi").first else { throw call.fault("roi is a scalar.") }
    return tensor(x.elementType, [boxes, shape[0], shape[1], height, width])
  }

  private static let resize: Rule = { call throws(InferenceFault) in
    let x = try call.tensor("x")
    var shape = try call.shape("x")
    let count = try call.number("resized_dims")
    guard count >= 0, count <= shape.count else {
      throw call.fault("resized_dims is \(count) for a rank of \(shape.count).")
    }
    let sizes = call.integers("shape") ?? (0..<count).map { _ in call.symbols.next() }
    guard sizes.count >= count else { throw call.fault("shape has \(sizes.count) sizes.") }
    for (index, size) in sizes.suffix(count).enumerated() {
      // Zero keeps the size.
      if size != 0 { shape[shape.count - count + index] = size }
    }
    return tensor(x.elementType, shape)
  }

  /// Blocks of pixels to channels, or back.
  private static func rearranged(
    _ call: OperationCall, up: Bool
  ) throws(InferenceFault) -> [InferredType] {
    let x = try call.tensor("x")
    var shape = try call.shape("x")
    let names = ["block_size", "upscale_factor", "downscale_factor"]
    let name = names.first(where: call.has) ?? "block_size"
    let block = SymbolicSize.known(try call.number(name))
    guard shape.count >= 3 else { throw call.fault("x has rank 3 or more.") }
    let channels = shape.count - 3
    let square = call.symbols.product(block, block)
    shape[channels] =
      up
      ? call.symbols.quotient(shape[channels], square)
      : call.symbols.product(shape[channels], square)
    for axis in channels + 1..<shape.count {
      shape[axis] =
        up ? call.symbols.product(shape[axis], block) : call.symbols.quotient(shape[axis], block)
    }
    return tensor(x.elementType, shape)
  }

  /// Blocks of pixels to the batch, or back.
  private static func batched(
    _ call: OperationCall, up: Bool
  ) throws(InferenceFault) -> [InferredType] {
    let x = try call.tensor("x")
    var shape = try call.shape("x")
    let blocks = try call.requiredNumbers("block_shape")
    let borders = try call.requiredNumbers(up ? "crops" : "paddings")
    guard shape.count >= blocks.count + 2, borders.count == 2 * blocks.count else {
      throw call.fault("block_shape does not fit the rank of x.")
    }
    for (index, block) in blocks.enumerated() {
      let axis = index + 2
      let border = SymbolicSize.known(borders[2 * index] &+ borders[2 * index + 1])
      if up {
        shape[0] = call.symbols.quotient(shape[0], .known(block))
        shape[axis] = call.symbols.difference(
          call.symbols.product(shape[axis], .known(block)), border)
      } else {
        shape[0] = call.symbols.product(shape[0], .known(block))
        shape[axis] = call.symbols.quotient(
          call.symbols.sum(shape[axis], border), .known(block))
      }
    }
    return tensor(x.elementType, shape)
  }
}

/// A window that slides over the spatial axes.
private struct Window {
  var kernel: [SymbolicSize]
  var input: [SymbolicSize]
  /// The input that holds the dilations.
  var dilations: String?
  var roundsUp = false

  /// How often the window fits on each axis.
  func sizes(_ call: OperationCall) throws(InferenceFault) -> [SymbolicSize] {
    let count = input.count
    let ones = [Int](repeating: 1, count: count)
    let strides = call.has("strides") ? try call.requiredNumbers("strides") : ones
    let gaps = try dilations.flatMap { name throws(InferenceFault) in
      call.has(name) ? try call.requiredNumbers(name) : nil
    }
    let steps = gaps ?? ones
    let type = call.text("pad_type", default: "valid")
    let zeros = [Int](repeating: 0, count: 2 * count)
    let pads = type == "custom" && call.has("pad") ? try call.requiredNumbers("pad") : zeros
    guard strides.count == count, steps.count == count, pads.count == 2 * count,
      strides.allSatisfy({ $0 > 0 })
    else { throw call.fault("strides, dilations or pad do not fit the rank.") }
    var sizes: [SymbolicSize] = []
    for axis in 0..<count {
      guard let size = input[axis].value, let width = kernel[axis].value else {
        sizes.append(
          strides[axis] == 1 && type.hasPrefix("same") ? input[axis] : call.symbols.next())
        continue
      }
      if type.hasPrefix("same") {
        sizes.append(.known((size &+ strides[axis] &- 1) / strides[axis]))
        continue
      }
      let reach = steps[axis] &* (width &- 1) &+ 1
      let free = size &+ pads[2 * axis] &+ pads[2 * axis + 1] &- reach
      guard free >= 0 else { throw call.fault("The window is larger than the padded input.") }
      var places = free / strides[axis] &+ 1
      if roundsUp, free % strides[axis] != 0,
        // The last window starts inside the input or the padding before it.
        places &* strides[axis] < size &+ pads[2 * axis]
      {
        places &+= 1
      }
      sizes.append(call.symbols.size(places))
    }
    return sizes
  }
}
