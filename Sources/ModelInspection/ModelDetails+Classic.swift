import CModelSchemas
import ModelGraph
import ModelSpec

// Generalized linear models, support vector machines, nearest neighbours, probit, recommender.
extension ModelDetails {
  static func glm(_ model: OpaqueModel) throws -> Fields {
    if model.typeName == "glmRegressor" {
      return try model.withMessage(as: CoreML__Specification__GLMRegressor.self) {
        let message = $0.pointee
        let rows = messages(message.n_weights, message.weights).map {
          scalars($0.pointee.n_value, $0.pointee.value)
        }
        return coefficients(rows, offsets: message.n_offset) + [
          (
            "transform",
            .named(["none", "logit", "probit"], message.postevaluationtransform.rawValue)
          )
        ]
      }
    }
    return try model.withMessage(as: CoreML__Specification__GLMClassifier.self) {
      let message = $0.pointee
      let rows = messages(message.n_weights, message.weights).map {
        scalars($0.pointee.n_value, $0.pointee.value)
      }
      let fields = coefficients(rows, offsets: message.n_offset)
      return fields + [
        ("transform", .named(["logit", "probit"], message.postevaluationtransform.rawValue)),
        (
          "class_encoding",
          .named(["reference class", "one vs rest"], message.classencoding.rawValue)
        ),
      ] + message.labels.fields
    }
  }

  private static func coefficients(_ rows: [[Double]], offsets: Int) -> Fields {
    let count = rows.reduce(0) { $0 + $1.count }
    let zeros = rows.reduce(0) { $0 + $1.count { $0 == 0 } }
    return [
      ("features", .integer(rows.map(\.count).max() ?? 0)), ("rows", .integer(rows.count)),
      ("coefficients", .integer(count)), ("zero_coefficients", .integer(zeros)),
      ("offsets", .integer(offsets)),
    ]
  }

  static func supportVectors(_ model: OpaqueModel) throws -> Fields {
    if model.typeName == "supportVectorRegressor" {
      return try model.withMessage(as: CoreML__Specification__SupportVectorRegressor.self) {
        let message = $0.pointee
        return [kernel(message.kernel)]
          + supports(
            sparse: message.support_vectors_case.rawValue == 2
              ? message.sparsesupportvectors : nil,
            dense: message.support_vectors_case.rawValue == 3 ? message.densesupportvectors : nil)
          + [
            ("coefficients", .integer(message.coefficients?.pointee.n_alpha ?? 0)),
            ("rho", .number(message.rho)),
          ]
      }
    }
    return try model.withMessage(as: CoreML__Specification__SupportVectorClassifier.self) {
      let message = $0.pointee
      let perClass = scalars(
        message.n_numberofsupportvectorsperclass, message.numberofsupportvectorsperclass)
      let coefficients = messages(message.n_coefficients, message.coefficients)
        .reduce(0) { $0 + $1.pointee.n_alpha }
      return [kernel(message.kernel)]
        + supports(
          sparse: message.support_vectors_case.rawValue == 3 ? message.sparsesupportvectors : nil,
          dense: message.support_vectors_case.rawValue == 4 ? message.densesupportvectors : nil)
        + [
          ("support_vectors_per_class", .integers(perClass.prefix(1000).map { Int($0) })),
          ("coefficients", .integer(coefficients)),
          ("probabilities", .bool(message.n_proba > 0)),
        ] + message.labels.fields
    }
  }

  private static func kernel(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__Kernel>?
  ) -> (key: String, value: Detail) {
    guard let kernel = pointer?.pointee else { return ("kernel", .none) }
    let fields: NamedList<Detail>
    switch kernel.kernel_case.rawValue {
    case 1: fields = ["type": .text("linear")]
    case 2:
      fields = [
        "type": .text("rbf"), "gamma": kernel.rbfkernel.map { .number($0.pointee.gamma) } ?? .none,
      ]
    case 3:
      guard let values = kernel.polykernel?.pointee else { return ("kernel", .none) }
      fields = [
        "type": .text("poly"), "degree": .integer(Int(values.degree)), "c": .number(values.c),
        "gamma": .number(values.gamma),
      ]
    case 4:
      guard let values = kernel.sigmoidkernel?.pointee else { return ("kernel", .none) }
      fields = [
        "type": .text("sigmoid"), "gamma": .number(values.gamma), "c": .number(values.c),
      ]
    default: return ("kernel", .none)
    }
    return ("kernel", .object(fields))
  }

  private static func supports(
    sparse: UnsafeMutablePointer<CoreML__Specification__SparseSupportVectors>?,
    dense: UnsafeMutablePointer<CoreML__Specification__DenseSupportVectors>?
  ) -> Fields {
    if let vectors = sparse?.pointee {
      let list = messages(vectors.n_vectors, vectors.vectors)
      let dimensions = list.lazy.flatMap { messages($0.pointee.n_nodes, $0.pointee.nodes) }
        .map { Int($0.pointee.index) }.max()
      return [
        ("support_vectors", .integer(vectors.n_vectors)), ("storage", .text("sparse")),
        ("dimensions", .integer(dimensions ?? 0)),
      ]
    }
    if let vectors = dense?.pointee {
      let list = messages(vectors.n_vectors, vectors.vectors)
      return [
        ("support_vectors", .integer(vectors.n_vectors)), ("storage", .text("dense")),
        ("dimensions", .integer(list.map { $0.pointee.n_values }.max() ?? 0)),
      ]
    }
    return [("support_vectors", .integer(0))]
  }

  static func nearestNeighbors(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__KNearestNeighborsClassifier.self) {
      let message = $0.pointee
      var fields: Fields = []
      if let index = message.nearestneighborsindex?.pointee {
        fields = [
          ("points", .integer(index.n_floatsamples)),
          ("dimensions", .integer(Int(index.numberofdimensions))),
        ]
        switch index.index_type_case.rawValue {
        case 100: fields.append(("index", .object(["type": .text("linear")])))
        case 110:
          let leaf = index.singlekdtreeindex.map { Detail.integer(Int($0.pointee.leafsize)) }
          fields.append(
            ("index", .object(["type": .text("kd-tree"), "leaf_size": leaf ?? .none])))
        default: fields.append(("index", .none))
        }
        let isEuclidean = index.distance_function_case.rawValue == 200
        fields.append(("distance", isEuclidean ? .text("squared euclidean") : .none))
      }
      fields.append(("neighbors", Parameters.detail(message.numberofneighbors)))
      switch message.weighting_scheme_case.rawValue {
      case 200: fields.append(("weighting", .text("uniform")))
      case 210: fields.append(("weighting", .text("inverse distance")))
      default: fields.append(("weighting", .none))
      }
      fields += message.labels.fields
      switch message.default_class_label_case.rawValue {
      case 110: fields.append(("default_label", .text(shown(message.defaultstringlabel))))
      case 111: fields.append(("default_label", .integer(Int(message.defaultint64label))))
      default: break
      }
      return fields
    }
  }

  static func bayesianProbit(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__BayesianProbitRegressor.self) {
      let message = $0.pointee
      let features = messages(message.n_features, message.features)
      var fields: Fields = [
        ("features", .integer(Int(message.numberoffeatures))),
        ("feature_values", .integer(features.reduce(0) { $0 + $1.pointee.n_weights })),
      ]
      if let bias = message.bias?.pointee {
        fields.append(
          ("bias", .object(["mean": .number(bias.mean), "precision": .number(bias.precision)])))
      }
      return fields
    }
  }

  static func recommender(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__ItemSimilarityRecommender.self) {
      let message = $0.pointee
      let items = messages(message.n_itemitemsimilarities, message.itemitemsimilarities)
      let strings = message.itemstringids?.pointee.n_vector ?? 0
      let numbers = message.itemint64ids?.pointee.n_vector ?? 0
      return [
        ("items", .integer(items.count)),
        ("similarities", .integer(items.reduce(0) { $0 + $1.pointee.n_similaritemlist })),
        ("identifiers", .text(strings > 0 ? "string" : numbers > 0 ? "int64" : "none")),
      ]
    }
  }
}
