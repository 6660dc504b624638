import ModelGraph
import ModelTensors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The object in a bundle's `metadata.json`, which Xcode shows and tools read; Core ML does not need
/// it.
///
/// Keys and values are those of files that Apple's compiler wrote (docs/compiled-bundles.md).
public struct BundleMetadata: Codable, Sendable, Equatable {
  /// The kind of a model.
  public struct Kind: Codable, Sendable, Equatable {
    /// `MLModelType_mlProgram` and so on.
    public var name: String
    /// The kinds of a pipeline's models.
    public var structure: [Kind]?
  }

  /// A function of a multi-function program.
  public struct FunctionSchema: Codable, Sendable, Equatable {
    /// The name.
    public var name: String
    /// The element types that its operations yield.
    public var computePrecision: String?
    /// What it takes.
    public var inputSchema: [FeatureSchema]
    /// What it yields.
    public var outputSchema: [FeatureSchema]
    /// What it keeps between calls.
    public var stateSchema: [FeatureSchema]
    /// Operations by name.
    public var mlProgramOperationTypeHistogram: [String: Int]
  }

  public var metadataOutputVersion = "3.0"
  public var specificationVersion: Int
  public var method = "predict"
  public var modelParameters: [String] = []
  public var isUpdatable: String
  public var generatedClassName: String
  public var modelType: Kind
  public var availability: [String: String]
  public var inputSchema: [FeatureSchema]
  public var outputSchema: [FeatureSchema]
  public var stateSchema: [FeatureSchema]?
  public var userDefinedMetadata: [String: String]
  public var shortDescription: String?
  public var author: String?
  public var license: String?
  public var version: String?
  public var storagePrecision: String?
  public var computePrecision: String?
  public var mlProgramOperationTypeHistogram: [String: Int]?
  public var neuralNetworkLayerTypeHistogram: [String: Int]?
  public var functions: [FunctionSchema]?
  public var defaultFunctionName: String?

  /// The file's bytes: an array of this one object, keys sorted.
  public var json: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return (try? encoder.encode([self])).map(Array.init) ?? []
  }

  /// Reads a file; nil where it is no such document.
  public init?(json: [UInt8]) {
    guard let all = try? JSONDecoder().decode([BundleMetadata].self, from: Data(json)),
      let first = all.first
    else { return nil }
    self = first
  }
}
