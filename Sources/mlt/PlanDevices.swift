import ModelPlan

/// The devices and chips that plans are made for.
struct PlanDevices {
  let catalog: DeviceCatalog

  func show(_ console: Console) throws {
    if console.isJSON {
      try console.print(json)
      return
    }
    var devices = Table(["device", "chip", ""], alignments: [.left, .left, .left])
    for device in catalog.devices { devices.add([device.name, device.chip, device.title]) }
    var chips = Table(
      ["chip", "NE TOPS", "NE fp16", "memory GB/s", "GPU TFLOPS", "generation"],
      alignments: [.left, .right, .right, .right, .right, .right])
    for chip in catalog.chips {
      chips.add([
        chip.name, chip.ne?.marketedTops.map(text) ?? "–", chip.ne.map { text($0.fp16Tops) } ?? "–",
        text(chip.dram), text(chip.gpu.fp16Tflops), "A\(chip.generation)",
      ])
    }
    let lines =
      devices.lines(indent: 0) + [""] + chips.lines(indent: 0) + [
        "", "A documented by Apple, M measured by others, R reported, D derived; --json has every",
        "figure with its source.",
      ]
    try console.print(lines.joined(separator: "\n"))
  }

  private func text(_ figure: Figure) -> String {
    let digits = figure.value == figure.value.rounded() ? 0 : 1
    return "\(Human.fixed(figure.value, digits)) \(figure.confidence.rawValue)"
  }

  private var json: JSONValue {
    .object([
      ("schema", .integer(1)),
      (
        "devices",
        .array(
          catalog.devices.map { device in
            .object([
              ("name", .string(device.name)), ("title", .string(device.title)),
              ("chip", .string(device.chip)), ("os", .string(device.os)),
            ])
          })
      ),
      (
        "chips",
        .array(
          catalog.chips.map { chip in
            .object([
              ("name", .string(chip.name)), ("title", .string(chip.title)),
              ("generation", .integer(chip.generation)),
              (
                "figures",
                .array(
                  chip.figures.map { name, figure in
                    .object([
                      ("name", .string(name)), ("value", .number(figure.value)),
                      ("confidence", .string(figure.confidence.rawValue)),
                      ("source", .string(catalog.sources[figure.source] ?? figure.source)),
                    ])
                  })
              ),
            ])
          })
      ),
    ])
  }
}
