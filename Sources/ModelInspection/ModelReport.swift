import ModelFiles
import ModelGraph

/// Facts about a model, in the order and under the names of the JSON that `inspect` prints.
public struct ModelReport: Sendable, Equatable {
  /// The path that was opened.
  public var path: String
  /// The form of what was opened.
  public var container: ContainerKind
  /// The name of its field in `Model`: `mlProgram`, `neuralNetworkClassifier` and so on.
  public var modelType: String
  /// The version that the file declares.
  public var specificationVersion: Int
  /// The releases that load the declared version.
  public var minimumOS: MinimumOS
  /// What asks for a version above the lowest of the model's kind, the highest version first.
  public var versionReasons: [VersionReason]
  /// The version that the model's content needs, as far as it is known.
  public var neededVersion: Int
  /// What the author says about the model.
  public var metadata: MetadataFact
  /// Whether parts can be trained on the device.
  public var isUpdatable: Bool
  /// The functions of a program, the default one first; one named `main` for other kinds.
  public var functions: [FunctionFact]
  /// Bytes on disk.
  public var sizes: SizeFact
  /// The weights together.
  public var parameters: ParameterTotals
  /// Every weight, in file order.
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
  /// The specification version.
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
  /// Who made the model.
  public var author = ""
  /// What the model does.
  public var shortDescription = ""
  /// The terms of use.
  public var license = ""
  /// The version of the model.
  public var version = ""
  /// Further entries.
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
  /// Bytes of all files.
  public var totalBytes: Int
  /// Bytes of the specification.
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
  /// The number of decoded elements.
  public var count = 0
  /// Bytes of data, tables, scales, offsets and masks.
  public var storedBytes = 0

  /// Stored bits for each parameter, or nil without parameters.
  public var bitsPerParameter: Double? {
    count > 0 ? Double(storedBytes) * 8 / Double(count) : nil
  }
}

/// One function of a model with its interface.
public struct FunctionFact: Sendable, Equatable {
  /// The name.
  public var name: String
  /// Whether it runs when none is named.
  public var isDefault: Bool
  /// The opset in force, or nil for kinds other than programs.
  public var opset: String?
  /// What it takes.
  public var inputs: [FeatureFact]
  /// What it yields.
  public var outputs: [FeatureFact]
  /// What it keeps between calls.
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
  /// The name.
  public var name: String
  /// The name of its field in `Model`.
  public var modelType: String
  /// The version that the child declares.
  public var specificationVersion: Int
  /// Whether parts can be trained on the device.
  public var isUpdatable: Bool
  /// What it takes.
  public var inputs: [FeatureFact]
  /// What it yields.
  public var outputs: [FeatureFact]
  /// Where each input comes from, in the order of the inputs.
  public var sources: [Flow]
  /// Its functions; one named `main` for kinds other than programs.
  public var functions: [FunctionFact]
  /// What its kind has to tell.
  public var details: NamedList<Detail>
  /// The models of a pipeline in the pipeline.
  public var children: [ChildFact]

  /// Operations or layers of all functions.
  public var operationCount: Int { functions.reduce(0) { $0 + $1.operationCount } }

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

    /// The name of the input.
    public var feature: String
    /// What feeds it.
    public var origin: Origin
  }
}
