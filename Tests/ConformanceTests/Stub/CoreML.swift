// The declarations of Core ML that an interface uses, without what they do: enough to check types.
@_exported import Foundation

/// An error that stands for everything.
public struct StubError: Error {}

/// As in Core Graphics.
public final class CGImage {}
/// As in Core Video.
public final class CVPixelBuffer {}
/// As in Core Video.
public let kCVPixelFormatType_32BGRA: UInt32 = 0x4247_5241
/// As in Core Video.
public let kCVPixelFormatType_OneComponent8: UInt32 = 0x4C30_3038
/// As in Core Video.
public let kCVPixelFormatType_OneComponent16Half: UInt32 = 0x4C30_3068

/// As in Core ML.
public protocol MLFeatureProvider {
  /// The names.
  var featureNames: Set<String> { get }
  /// The value of a feature.
  func featureValue(for featureName: String) -> MLFeatureValue?
}

/// As in Core ML.
open class MLDictionaryFeatureProvider: NSObject, MLFeatureProvider {
  /// From values by name.
  public init(dictionary: [String: Any]) throws {}
  /// The names.
  open var featureNames: Set<String> { [] }
  /// The value of a feature.
  open func featureValue(for featureName: String) -> MLFeatureValue? { nil }
}

/// As in Core ML.
public protocol MLBatchProvider {
  /// How many there are.
  var count: Int { get }
  /// The features at an index.
  func features(at index: Int) -> any MLFeatureProvider
}

/// As in Core ML.
open class MLArrayBatchProvider: NSObject, MLBatchProvider {
  /// From an array.
  public init(array: [any MLFeatureProvider]) {}
  /// How many there are.
  open var count: Int { 0 }
  /// The features at an index.
  open func features(at index: Int) -> any MLFeatureProvider {
    StubProvider()
  }
}

private struct StubProvider: MLFeatureProvider {
  var featureNames: Set<String> { [] }
  func featureValue(for featureName: String) -> MLFeatureValue? { nil }
}

/// As in Core ML.
open class MLFeatureValue: NSObject {
  /// As in Core ML.
  public struct ImageOption: Hashable, Sendable {}

  /// A whole number.
  public init(int64 value: Int64) {}
  /// A number.
  public init(double value: Double) {}
  /// A text.
  public init(string value: String) {}
  /// An array.
  public init(multiArray value: MLMultiArray) {}
  /// An image.
  public init(pixelBuffer value: CVPixelBuffer) {}
  /// A dictionary.
  public init(dictionary value: [AnyHashable: NSNumber]) throws {}
  /// A sequence.
  public init(sequence: MLSequence) {}
  /// An image of another size.
  public init(
    cgImage: CGImage, pixelsWide: Int, pixelsHigh: Int, pixelFormatType: UInt32,
    options: [ImageOption: Any]? = nil
  ) throws {}
  /// An image of a file.
  public init(
    imageAt url: URL, pixelsWide: Int, pixelsHigh: Int, pixelFormatType: UInt32,
    options: [ImageOption: Any]? = nil
  ) throws {}

  /// The whole number.
  open var int64Value: Int64 { 0 }
  /// The number.
  open var doubleValue: Double { 0 }
  /// The text.
  open var stringValue: String { "" }
  /// The array.
  open var multiArrayValue: MLMultiArray? { nil }
  /// The image.
  open var imageBufferValue: CVPixelBuffer? { nil }
  /// The dictionary.
  open var dictionaryValue: [AnyHashable: NSNumber] { [:] }
  /// The sequence.
  open var sequenceValue: MLSequence? { nil }
}

/// As in Core ML.
open class MLSequence: NSObject {}

/// As in Core ML.
open class MLMultiArray: NSObject {
  /// From a shaped array.
  public convenience init<C: MLShapedArrayProtocol>(_ shapedArray: C) { self.init() }
}

/// As in Core ML.
public protocol MLShapedArrayScalar {}
extension Float: MLShapedArrayScalar {}
extension Double: MLShapedArrayScalar {}
extension Int32: MLShapedArrayScalar {}
extension Int8: MLShapedArrayScalar {}
#if !((os(macOS) || targetEnvironment(macCatalyst)) && arch(x86_64))
  extension Float16: MLShapedArrayScalar {}
#endif

/// As in Core ML.
public protocol MLShapedArrayProtocol {
  /// The type of the elements.
  associatedtype Scalar: MLShapedArrayScalar
}

/// As in Core ML.
public struct MLShapedArray<Scalar: MLShapedArrayScalar>: MLShapedArrayProtocol {
  /// From a multi-array.
  public init(_ multiArray: MLMultiArray) {}
}

/// As in Core ML.
open class MLState: NSObject {
  /// Calls the closure with the array of a state.
  public func withMultiArray<R>(
    for stateName: String, _ body: (MLMultiArray) throws -> R
  ) rethrows -> R { try body(MLMultiArray()) }
}

/// As in Core ML.
open class MLPredictionOptions: NSObject {}

/// As in Core ML.
open class MLModelConfiguration: NSObject, NSCopying {
  /// The function of the model.
  open var functionName: String?
  /// A copy.
  open func copy(with zone: NSZone? = nil) -> Any { self }
}

/// As in Core ML.
open class MLModel: NSObject {
  /// Loads a bundle.
  public init(contentsOf url: URL) throws {}
  /// Loads a bundle.
  public init(contentsOf url: URL, configuration: MLModelConfiguration) throws {}

  /// Loads a bundle.
  public class func load(
    contentsOf url: URL, configuration: MLModelConfiguration = MLModelConfiguration(),
    completionHandler handler: @escaping (Result<MLModel, any Error>) -> Void
  ) {}

  /// Loads a bundle.
  public class func load(
    contentsOf url: URL, configuration: MLModelConfiguration = MLModelConfiguration()
  ) async throws -> MLModel { throw StubError() }

  /// Predicts.
  open func prediction(
    from input: any MLFeatureProvider, options: MLPredictionOptions
  ) throws -> any MLFeatureProvider { throw StubError() }

  /// Predicts.
  public func prediction(
    from input: any MLFeatureProvider, options: MLPredictionOptions = MLPredictionOptions()
  ) async throws -> any MLFeatureProvider { throw StubError() }

  /// Predicts with a state.
  open func prediction(
    from input: any MLFeatureProvider, using state: MLState
  ) throws -> any MLFeatureProvider { throw StubError() }

  /// Predicts with a state.
  open func prediction(
    from input: any MLFeatureProvider, using state: MLState, options: MLPredictionOptions
  ) throws -> any MLFeatureProvider { throw StubError() }

  /// Predicts with a state.
  public func prediction(
    from input: any MLFeatureProvider, using state: MLState,
    options: MLPredictionOptions = MLPredictionOptions()
  ) async throws -> any MLFeatureProvider { throw StubError() }

  /// Predicts from several inputs.
  open func predictions(
    from batch: any MLBatchProvider, options: MLPredictionOptions
  ) throws -> any MLBatchProvider { throw StubError() }

  /// A new state.
  open func makeState() -> MLState { MLState() }
}
