import CModelSchemas
import ModelGraph
import ModelSpec

/// What each model kind has to tell, as ordered trees.
enum ModelDetails {
  typealias Fields = [(key: String, value: Detail)]

  /// The details of a model.
  ///
  /// - Throws: ``SpecError`` when a kind that is kept whole cannot be unpacked.
  static func details(of model: Model) throws -> NamedList<Detail> {
    var fields: Fields =
      switch model.kind {
      case .program(let program): program.details
      case .neuralNetwork(let network): try network.details
      case .pipeline: []
      case .other(let opaque): try details(of: opaque)
      case .absent: []
      }
    let description = model.description
    func add(_ key: String, _ text: String?) {
      if let text, !text.isEmpty { fields.append((key, .text(text))) }
    }
    add("predicted_feature", description?.predictedFeatureName)
    add("predicted_probabilities", description?.predictedProbabilitiesName)
    if let inputs = description?.trainingInputs, !inputs.isEmpty {
      fields.append(("training_inputs", .texts(inputs.map(\.name))))
    }
    return NamedList(fields)
  }

  private static func details(of model: OpaqueModel) throws -> Fields {
    switch model.typeName {
    case "treeEnsembleClassifier", "treeEnsembleRegressor": try TreeDetails.details(of: model)
    case "glmClassifier", "glmRegressor": try glm(model)
    case "supportVectorClassifier", "supportVectorRegressor": try supportVectors(model)
    case "kNearestNeighborsClassifier": try nearestNeighbors(model)
    case "bayesianProbitRegressor": try bayesianProbit(model)
    case "itemSimilarityRecommender": try recommender(model)
    case "textClassifier", "wordTagger", "gazetteer", "wordEmbedding": try language(model)
    case "visionFeaturePrint", "audioFeaturePrint", "soundAnalysisPreprocessing":
      try featurePrint(model)
    case "customModel": try custom(model)
    case "linkedModel": try linked(model)
    case "serializedModel": try serialized(model)
    case "nonMaximumSuppression": try nonMaximumSuppression(model)
    case "classConfidenceThresholding":
      try model.withMessage(as: CoreML__Specification__ClassConfidenceThresholding.self) {
        [("curves", .integer($0.pointee.n_precisionrecallcurves))]
      }
    case "oneHotEncoder", "imputer", "featureVectorizer", "dictVectorizer", "scaler",
      "categoricalMapping", "normalizer", "arrayFeatureExtractor":
      try featureEngineering(model)
    default: []
    }
  }
}

extension Program {
  /// Class labels, the tool that built the program, its documentation.
  fileprivate var details: ModelDetails.Fields {
    var fields = functions.lazy.compactMap { $0.value.classLabels }.first.fields
    if case .immediate(let value) = attributes["buildInfo"]?.content,
      case .dictionary(let pairs) = value.kind
    {
      let entries = pairs.compactMap { pair -> (key: String, value: Detail)? in
        guard let key = pair.key?.stringValue, let value = pair.value?.stringValue else {
          return nil
        }
        return (key, .text(value))
      }
      if !entries.isEmpty { fields.append(("build_info", .object(NamedList(entries)))) }
    }
    if !docString.isEmpty { fields.append(("documentation", .text(docString))) }
    return fields
  }
}
