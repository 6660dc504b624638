// swift-tools-version: 6.0
import PackageDescription

// Targets are layers: each imports only targets named above it.
let package = Package(
  name: "mlt",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "ModelToolchain", targets: ["ModelToolchain"]),
    .executable(name: "mlt", targets: ["mlt"]),
  ],
  targets: [
    .target(name: "CModelSchemas", linkerSettings: [.linkedLibrary("protobuf-c")]),
    .systemLibrary(name: "CZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"])]),
    .systemLibrary(name: "CYaml", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(name: "CKernels"),
    .target(name: "ModelTensors"),
    .target(name: "ModelCompression", dependencies: ["CKernels", "ModelTensors"]),
    .target(name: "ModelFiles", dependencies: ["CCrypto", "CZip", "ModelTensors"]),
    .target(name: "ModelGraph", dependencies: ["ModelTensors"]),
    .target(
      name: "ModelOperations", dependencies: ["ModelTensors", "ModelCompression", "ModelGraph"]),
    .target(
      name: "ModelSpec",
      dependencies: ["CModelSchemas", "ModelTensors", "ModelFiles", "ModelGraph"]),
    .target(
      name: "ModelPasses",
      dependencies: [
        "CYaml", "ModelTensors", "ModelCompression", "ModelFiles", "ModelGraph", "ModelOperations",
        "ModelSpec",
      ]),
    .target(
      name: "ModelInspection",
      dependencies: [
        "CModelSchemas", "ModelTensors", "ModelCompression", "ModelFiles", "ModelGraph",
        "ModelOperations", "ModelSpec",
      ]),
    .target(
      name: "ModelPlan",
      dependencies: [
        "ModelTensors", "ModelFiles", "ModelGraph", "ModelOperations", "ModelSpec",
        "ModelInspection",
      ],
      resources: [
        .embedInCode("Resources/devices.json"), .embedInCode("Resources/calibration.json"),
      ]),
    .target(
      name: "ModelBundle",
      dependencies: [
        "ModelTensors", "ModelFiles", "ModelGraph", "ModelOperations", "ModelSpec",
        "ModelInspection",
      ]),
    .target(
      name: "ModelCache",
      dependencies: ["ModelFiles", "ModelGraph", "ModelSpec", "ModelInspection", "ModelBundle"]),
    .target(
      name: "ModelToolchain",
      dependencies: [
        "ModelTensors", "ModelCompression", "ModelFiles", "ModelGraph", "ModelOperations",
        "ModelSpec", "ModelPasses", "ModelInspection", "ModelPlan", "ModelBundle", "ModelCache",
      ]),
    .executableTarget(name: "mlt", dependencies: ["ModelToolchain"]),
    .executableTarget(
      name: "mlt-generate", dependencies: ["ModelToolchain"], path: "Sources/GenerateModels"),
    .executableTarget(
      name: "mlt-calibrate", dependencies: ["ModelToolchain"], path: "Sources/CalibratePlan"),
    .target(
      name: "TestSupport", dependencies: ["CZip", "ModelToolchain"], path: "Tests/TestSupport"),
    .testTarget(name: "ModelTensorsTests", dependencies: ["ModelTensors", "TestSupport"]),
    .testTarget(
      name: "ModelCompressionTests", dependencies: ["ModelCompression", "TestSupport"]),
    .testTarget(name: "ModelFilesTests", dependencies: ["ModelFiles", "TestSupport"]),
    .testTarget(name: "ModelGraphTests", dependencies: ["ModelGraph", "TestSupport"]),
    .testTarget(name: "ModelOperationsTests", dependencies: ["ModelOperations", "TestSupport"]),
    .testTarget(
      name: "ModelSpecTests", dependencies: ["CModelSchemas", "ModelSpec", "TestSupport"]),
    .testTarget(
      name: "ModelPassesTests", dependencies: ["ModelPasses", "ModelToolchain", "TestSupport"]),
    .testTarget(name: "ModelInspectionTests", dependencies: ["ModelInspection", "TestSupport"]),
    .testTarget(name: "ModelPlanTests", dependencies: ["ModelPlan", "TestSupport"]),
    .testTarget(name: "ModelBundleTests", dependencies: ["ModelBundle", "TestSupport"]),
    .testTarget(
      name: "ModelCacheTests", dependencies: ["ModelCache", "ModelToolchain", "TestSupport"]),
    .testTarget(
      name: "ConformanceTests", dependencies: ["ModelToolchain", "TestSupport"], exclude: ["Stub"]),
    .testTarget(
      name: "CommandLineTests", dependencies: ["ModelToolchain", "mlt", "TestSupport"],
      exclude: ["Cases"]),
  ],
  swiftLanguageModes: [.v6]
)
