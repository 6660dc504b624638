import ModelPlan
import Testing

@Suite struct DeviceCatalogTests {
  @Test func theCatalogOfTheLibraryIsWhole() throws {
    let catalog = DeviceCatalog.standard
    #expect(catalog.devices.count > 20)
    #expect(catalog.chips.count > 15)
    #expect(Set(catalog.names).count == catalog.names.count)
    for device in catalog.devices {
      let choice = try #require(catalog.choice(device.name), "\(device.name)")
      #expect(choice.chip.name == device.chip)
      #expect(!choice.title.isEmpty && !choice.os.isEmpty)
    }
    for chip in catalog.chips {
      #expect(chip.figures.count >= 9, "\(chip.name)")
      for (name, figure) in chip.figures {
        #expect(catalog.sources[figure.source]?.isEmpty == false, "\(chip.name): \(name)")
        #expect(figure.value >= 0)
      }
      #expect(chip.ne != nil)
      #expect(chip.generation >= 12)
    }
  }

  @Test func namesAreOfProductsAndChips() {
    let catalog = DeviceCatalog.standard
    #expect(catalog.choice("iphone-15-pro")?.chip.name == "a17-pro")
    #expect(catalog.choice("iPhone-15-Pro")?.title == "iPhone 15 Pro")
    #expect(catalog.choice("m1-max")?.os == "macOS 26")
    #expect(catalog.choice("a16")?.chip.isPhone == true)
    #expect(catalog.choice("a99") == nil)
  }

  private static let processor =
    "{\"fp16_tflops\":[1,\"D\",\"own\"],\"bandwidth_gb_per_s\":[10,\"D\",\"own\"],"
    + "\"dispatch_ms\":[0.1,\"D\",\"own\"],\"operation_ms\":[0.01,\"D\",\"own\"]}"

  private static func file(_ chip: String = "x1", memory: String = "[20,\"A\",\"own\"]") -> String {
    """
    {"sources":{"own":"own timings"},"devices":[{"name":"my-board","title":"My board",
    "chip":"\(chip)","os":"iOS 18"}],"chips":[{"name":"x1","title":"X1","generation":15,
    "is_phone":false,"dram_gb_per_s":\(memory),"gpu":\(processor),"cpu":\(processor)}]}
    """
  }

  @Test func filesOfUsersComeFirst() throws {
    let own = try DeviceCatalog(json: Array(Self.file().utf8))
    let catalog = DeviceCatalog.standard.adding(own)
    let choice = try #require(catalog.choice("my-board"))
    #expect(choice.chip.ne == nil)
    #expect(choice.chip.dram == Figure(20, .documented, "own"))
    #expect(catalog.sources["own"] == "own timings")
    #expect(catalog.choice("iphone-15-pro") != nil)
    // A chip of the library may be named.
    _ = try DeviceCatalog(json: Array(Self.file("a16").utf8))
  }

  @Test(arguments: [
    (file("y1"), "my-board has the chip y1, which is not listed"),
    (file(memory: "[20,\"Z\",\"own\"]"), "chips.[0].dram_gb_per_s.[1]"),
    (file(memory: "[-1,\"A\",\"own\"]"), "is no figure"), (file(memory: "20"), "dram_gb_per_s"),
    ("{\"sources\":{},\"devices\":[]}", "\"chips\" is missing"), ("[", "the file"),
    ("", "the file"),
  ])
  func filesThatAreWrong(_ text: String, _ message: String) throws {
    let error = #expect(throws: PlanError.self) { try DeviceCatalog(json: Array(text.utf8)) }
    #expect(error?.kind == .malformed)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }
}
