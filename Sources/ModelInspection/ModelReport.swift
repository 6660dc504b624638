import ModelFiles
import ModelGraph

/// Facts about a model, in the order and under the names of the JSON that `inspect` prints.
public struct ModelReport: Sendable, Equatable {
  /// The path that was opened.
  public var path: String
  public var container: ContainerKind
  /// The name of the field in `Model`, `mlProgram`, `neuralNetworkClassifier` …
  public var modelType: String
  /// The version that the file declares.
  public var specificationVersion: Int
  /// The releases that load the declared version.
  public var minimumOS: MinimumOS
  /// What asks for a version above the lowest of the model's kind, the highest version first.
  public var versionReasons: [VersionReason]
  /// The version that the model's content needs, as far as it is known.
  public var neededVersion: Int
  public var metadata: MetadataFact
  public var isUpdatable: Bool
  /// The functions of a program, the default one first; one named `main` for other kinds.
  public var functions: [FunctionFact]
  public var sizes: SizeFact
  public var parameters: ParameterTotals
  public var weights: [WeightFact]
  /// The models of a pipeline, in the order in which they run.
  public var children: [ChildFact]
  /// What the model kind has to tell beyond that.
  public var details: NamedList<Detail>

  /// Remarks that a reader should not miss, the most important first.
  public var findings: [String]
}

/// A feature, operation or type that asks for a specification version.
public struct VersionReason: Sendable, Hashable {
  public var version: Int
  /// What asks for it, in a few words.
  public var reason: String

  /// A reason for `version`.
  public init(version: Int, reason: String) {
    self.version = version
    self.reason = reason
  }
}

/// What the author says about the model.
public struct MetadataFact: Sendable, Equatable {
  public var author = ""
  public var shortDescription = ""
  public var license = ""
  public var version = ""
  public var userDefined: NamedList<String> = [:]

  init(_ metadata: Metadata?) {
    guard let metadata else { return }
    author = metadata.author
    shortDescription = metadata.shortDescription
    license = metadata.license
    version = metadata.version
    userDefined = metadata.userDefined
  }
}

/// Bytes on disk, unpacked.
public struct SizeFact: Sendable, Equatable {
  public var totalBytes: Int
  public var specificationBytes: Int
  /// Bytes of the weight files; weights inside the specification do not count.
  public var weightBytes: Int

  /// Sizes of a model's files.
  public init(totalBytes: Int, specificationBytes: Int, weightBytes: Int) {
    self.totalBytes = totalBytes
    self.specificationBytes = specificationBytes
    self.weightBytes = weightBytes
  }
}

/// The weights of a model together; what several of them share counts once.
public struct ParameterTotals: Sendable, Equatable {
  public var count = 0
  public var storedBytes = 0

  /// Stored bits for each parameter, or nil without parameters.
  public var bitsPerParameter: Double? {
    count > 0 ? Double(storedBytes) * 8 / Double(count) : nil
  }
}

/// One function of a model with its interface.
public struct FunctionFact: Sendable, Equatable {
  public var name: String
  public var isDefault: Bool
  /// The opset in force, or nil for kinds other than programs.
  public var opset: String?
  public var inputs: [FeatureFact]
  public var outputs: [FeatureFact]
  public var states: [FeatureFact]
  /// Operations, those of nested blocks included, without `const`; layers of a neural network.
  public var operationCount: Int
  /// Operations by type, the most frequent first.
  public var operations: [(type: String, count: Int)]

  /// Compares all facts.
  public static func == (left: FunctionFact, right: FunctionFact) -> Bool {
    left.name == right.name && left.isDefault == right.isDefault && left.opset == right.opset
      && left.inputs == right.inputs && left.outputs == right.outputs
      && left.states == right.states && left.operationCount == right.operationCount
      && left.operations.elementsEqual(right.operations) { $0 == $1 }
  }
}

/// A model of a pipeline.
public struct ChildFact: Sendable, Equatable {
  public var name: String
  public var modelType: String
  public var specificationVersion: Int
  public var isUpdatable: Bool
  public var inputs: [FeatureFact]
  public var outputs: [FeatureFact]
  /// Where each input comes from, in the order of the inputs.
  public var sources: [Flow]
  public var operationCount: Int
  public var details: NamedList<Detail>
  public var children: [ChildFact]

  /// An input of a child and what feeds it.
  public struct Flow: Sendable, Equatable {
    /// What feeds an input.
    public enum Origin: Sendable, Equatable {
      /// An input of the pipeline.
      case pipeline
      /// An output of an earlier child.
      case child(String)
      /// Nothing that is known; an optional input may stay without a source.
      case nothing
    }

    public var feature: String
    public var origin: Origin
  }
}
