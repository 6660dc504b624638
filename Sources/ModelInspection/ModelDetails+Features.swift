import CModelSchemas
import ModelGraph
import ModelSpec

// Feature engineering.
extension ModelDetails {
  static func featureEngineering(_ model: OpaqueModel) throws -> Fields {
    switch model.typeName {
    case "oneHotEncoder": try oneHotEncoder(model)
    case "imputer": try imputer(model)
    case "featureVectorizer": try featureVectorizer(model)
    case "dictVectorizer": try dictVectorizer(model)
    case "scaler": try scaler(model)
    case "categoricalMapping": try categoricalMapping(model)
    case "normalizer":
      try model.withMessage(as: CoreML__Specification__Normalizer.self) {
        [("norm", .named(["max", "l1", "l2"], $0.pointee.normtype.rawValue))]
      }
    case "arrayFeatureExtractor":
      try model.withMessage(as: CoreML__Specification__ArrayFeatureExtractor.self) {
        let indices = scalars($0.pointee.n_extractindex, $0.pointee.extractindex)
        return [
          ("count", .integer(indices.count)),
          ("indices", .list(indices.prefix(100).map(Detail.unsigned))),
        ]
      }
    default: []
    }
  }

  private static func oneHotEncoder(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__OneHotEncoder.self) {
      let message = $0.pointee
      let categories = ClassLabels(
        strings: message.category_type_case.rawValue == 1 ? message.stringcategories : nil,
        numbers: message.category_type_case.rawValue == 2 ? message.int64categories : nil)
      return [
        ("categories", categories?.detail ?? .none),
        ("output", .text(message.outputsparse != 0 ? "sparse" : "dense")),
        ("unknown", .named(["error", "ignored"], message.handleunknown.rawValue)),
      ]
    }
  }

  private static func imputer(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__Imputer.self) {
      let message = $0.pointee
      let imputed: Detail
      switch message.imputed_value_case.rawValue {
      case 1: imputed = .number(message.imputeddoublevalue)
      case 2: imputed = .integer(Int(message.imputedint64value))
      case 3: imputed = .text(shown(message.imputedstringvalue))
      case 4: imputed = values(message.imputeddoublearray?.pointee.n_vector)
      case 5: imputed = values(message.imputedint64array?.pointee.n_vector)
      case 6: imputed = values(message.imputedstringdictionary?.pointee.n_map)
      case 7: imputed = values(message.imputedint64dictionary?.pointee.n_map)
      default: imputed = .none
      }
      let replaced: Detail
      switch message.replace_value_case.rawValue {
      case 11: replaced = .number(message.replacedoublevalue)
      case 12: replaced = .integer(Int(message.replaceint64value))
      case 13: replaced = .text(shown(message.replacestringvalue))
      default: replaced = .none
      }
      return [("imputed", imputed), ("replaced", replaced)]
    }
  }

  private static func values(_ count: Int?) -> Detail { .text("\(count ?? 0) values") }

  private static func featureVectorizer(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__FeatureVectorizer.self) {
      let columns = messages($0.pointee.n_inputlist, $0.pointee.inputlist)
      let width = columns.reduce(UInt64(0)) { $0 &+ $1.pointee.inputdimensions }
      return [
        ("columns", .integer(columns.count)), ("dimensions", .unsigned(width)),
        (
          "inputs",
          .list(
            columns.prefix(100).map {
              .object([
                "name": .text(shown($0.pointee.inputcolumn)),
                "dimensions": .unsigned($0.pointee.inputdimensions),
              ])
            })
        ),
      ]
    }
  }

  private static func dictVectorizer(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__DictVectorizer.self) {
      let message = $0.pointee
      let keys = ClassLabels(
        strings: message.map_case.rawValue == 1 ? message.stringtoindex : nil,
        numbers: message.map_case.rawValue == 2 ? message.int64toindex : nil)
      return [("keys", keys?.detail ?? .none)]
    }
  }

  private static func scaler(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__Scaler.self) {
      let message = $0.pointee
      return [
        ("scales", .integer(message.n_scalevalue)), ("shifts", .integer(message.n_shiftvalue)),
        (
          "first_scales",
          .list(scalars(message.n_scalevalue, message.scalevalue).prefix(10).map(Detail.number))
        ),
        (
          "first_shifts",
          .list(scalars(message.n_shiftvalue, message.shiftvalue).prefix(10).map(Detail.number))
        ),
      ]
    }
  }

  private static func categoricalMapping(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__CategoricalMapping.self) {
      let message = $0.pointee
      var fields: Fields = []
      switch message.mapping_type_case.rawValue {
      case 1:
        fields = [
          ("mapping", .text("string to int64")),
          ("entries", .integer(message.stringtoint64map?.pointee.n_map ?? 0)),
        ]
      case 2:
        fields = [
          ("mapping", .text("int64 to string")),
          ("entries", .integer(message.int64tostringmap?.pointee.n_map ?? 0)),
        ]
      default: fields = [("mapping", .none)]
      }
      switch message.value_on_unknown_case.rawValue {
      case 101: fields.append(("unknown", .text(shown(message.strvalue))))
      case 102: fields.append(("unknown", .integer(Int(message.int64value))))
      default: break
      }
      return fields
    }
  }
}
