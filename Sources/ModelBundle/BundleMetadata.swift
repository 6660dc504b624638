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

  /// The form of the document.
  public var metadataOutputVersion = "3.0"
  /// The specification version of the source.
  public var specificationVersion: Int
  /// What the model is called for, `predict`.
  public var method = "predict"
  /// Parameters of training; always empty here.
  public var modelParameters: [String] = []
  /// `1` for a model that can be trained on the device, else `0`.
  public var isUpdatable: String
  /// The class that Xcode would generate.
  public var generatedClassName: String
  /// The kind of the model.
  public var modelType: Kind
  /// The first releases that load the model, by system.
  public var availability: [String: String]
  /// What the default function takes.
  public var inputSchema: [FeatureSchema]
  /// What the default function yields.
  public var outputSchema: [FeatureSchema]
  /// What the default function keeps between calls.
  public var stateSchema: [FeatureSchema]?
  /// Entries of the author.
  public var userDefinedMetadata: [String: String]
  /// What the author says about the model.
  public var shortDescription: String?
  /// The author.
  public var author: String?
  /// The license.
  public var license: String?
  /// The version that the author gives.
  public var version: String?
  /// The element types of the weights, one name or `Mixed (…)`.
  public var storagePrecision: String?
  /// The element types that operations yield, one name or `Mixed (…)`.
  public var computePrecision: String?
  /// Operations of a program by name.
  public var mlProgramOperationTypeHistogram: [String: Int]?
  /// Layers of a neural network by name.
  public var neuralNetworkLayerTypeHistogram: [String: Int]?
  /// The functions, where the interface lists several.
  public var functions: [FunctionSchema]?
  /// The function that is called when none is named.
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
