import CModelSchemas
import ModelGraph
import ModelSpec

// Models whose content only Core ML knows, and models that stand for others.
extension ModelDetails {
  static func language(_ model: OpaqueModel) throws -> Fields {
    func fields(
      _ revision: UInt32, _ language: ProtobufCBinaryData, _ data: ProtobufCBinaryData
    ) -> Fields {
      let language = shown(language)
      return [
        ("revision", .integer(Int(revision))),
        ("language", language.isEmpty ? .none : .text(language)),
        ("parameter_bytes", .integer(data.len)),
      ]
    }
    switch model.typeName {
    case "textClassifier":
      return try model.withMessage(as: CoreML__Specification__CoreMLModels__TextClassifier.self) {
        let message = $0.pointee
        return fields(message.revision, message.language, message.modelparameterdata)
          + message.labels.fields
      }
    case "gazetteer":
      return try model.withMessage(as: CoreML__Specification__CoreMLModels__Gazetteer.self) {
        let message = $0.pointee
        return fields(message.revision, message.language, message.modelparameterdata)
          + message.labels.fields
      }
    case "wordTagger":
      return try model.withMessage(as: CoreML__Specification__CoreMLModels__WordTagger.self) {
        let message = $0.pointee
        let tags = ClassLabels(
          strings: message.tags_case.rawValue == 200 ? message.stringtags : nil)
        return fields(message.revision, message.language, message.modelparameterdata) + [
          ("tokens_output", .text(shown(message.tokensoutputfeaturename))),
          ("tags_output", .text(shown(message.tokentagsoutputfeaturename))),
          ("locations_output", .text(shown(message.tokenlocationsoutputfeaturename))),
          ("lengths_output", .text(shown(message.tokenlengthsoutputfeaturename))),
        ] + tags.fields
      }
    default:
      return try model.withMessage(as: CoreML__Specification__CoreMLModels__WordEmbedding.self) {
        fields($0.pointee.revision, $0.pointee.language, $0.pointee.modelparameterdata)
      }
    }
  }

  static func featurePrint(_ model: OpaqueModel) throws -> Fields {
    func fields(_ type: String, _ revision: UInt32?) -> Fields {
      [("type", .text(type)), ("revision", revision.map { .integer(Int($0)) } ?? .none)]
    }
    switch model.typeName {
    case "visionFeaturePrint":
      return try model.withMessage(
        as: CoreML__Specification__CoreMLModels__VisionFeaturePrint.self
      ) {
        let message = $0.pointee
        switch message.vision_feature_print_type_case.rawValue {
        case 20: return fields("scene", message.scene?.pointee.version.rawValue)
        case 21:
          let objects = message.objects?.pointee
          return fields("objects", objects?.version.rawValue) + [
            ("outputs", .texts(objects.map { shownTexts($0.n_output, $0.output) } ?? []))
          ]
        default: return [("type", .none)]
        }
      }
    case "audioFeaturePrint":
      return try model.withMessage(
        as: CoreML__Specification__CoreMLModels__AudioFeaturePrint.self
      ) {
        $0.pointee.audio_feature_print_type_case.rawValue == 20
          ? fields("sound", $0.pointee.sound?.pointee.version.rawValue) : [("type", .none)]
      }
    default:
      return try model.withMessage(
        as: CoreML__Specification__CoreMLModels__SoundAnalysisPreprocessing.self
      ) {
        $0.pointee.sound_analysis_preprocessing_type_case.rawValue == 20
          ? [("type", .text("vggish"))] : [("type", .none)]
      }
    }
  }

  static func custom(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__CustomModel.self) {
      let message = $0.pointee
      let parameters = messages(message.n_parameters, message.parameters).map {
        entry -> (key: String, value: Detail) in
        (shown(entry.pointee.key), value(entry.pointee.value))
      }
      var fields: Fields = [("class_name", .text(shown(message.classname)))]
      if !parameters.isEmpty {
        fields.append(("parameters", .object(NamedList(parameters))))
      }
      let description = shown(message.description)
      if !description.isEmpty { fields.append(("description", .text(description))) }
      return fields
    }
  }

  private static func value(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__CustomModel__CustomModelParamValue>?
  ) -> Detail {
    guard let value = pointer?.pointee else { return .none }
    switch value.value_case.rawValue {
    case 10: return .number(value.doublevalue)
    case 20: return .text(shown(value.stringvalue))
    case 30: return .integer(Int(value.intvalue))
    case 40: return .integer(Int(value.longvalue))
    case 50: return .bool(value.boolvalue != 0)
    case 60: return .text("\(value.bytesvalue.len) bytes")
    default: return .none
    }
  }

  static func linked(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__LinkedModel.self) {
      guard $0.pointee.link_type_case.rawValue == 1, let file = $0.pointee.linkedmodelfile?.pointee
      else { return [("file", .none)] }
      return [
        (
          "file",
          file.linkedmodelfilename.map { .text(shown($0.pointee.defaultvalue)) } ?? .none
        ),
        (
          "search_path",
          file.linkedmodelsearchpath.map { .text(shown($0.pointee.defaultvalue)) } ?? .none
        ),
      ]
    }
  }

  static func serialized(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__SerializedModel.self) {
      [
        ("identifier", .text(shown($0.pointee.identifier))),
        ("model_bytes", .integer($0.pointee.model.len)),
      ]
    }
  }

  static func nonMaximumSuppression(_ model: OpaqueModel) throws -> Fields {
    try model.withMessage(as: CoreML__Specification__NonMaximumSuppression.self) {
      let message = $0.pointee
      let isPickTop = message.suppression_method_case.rawValue == 1
      return [
        ("iou_threshold", .number(message.iouthreshold)),
        ("confidence_threshold", .number(message.confidencethreshold)),
        ("method", isPickTop ? .text("pick top") : .none),
        ("per_class", .bool((isPickTop ? message.picktop?.pointee.perclass ?? 0 : 0) != 0)),
        ("confidence_input", .text(shown(message.confidenceinputfeaturename))),
        ("coordinates_input", .text(shown(message.coordinatesinputfeaturename))),
        ("iou_threshold_input", .text(shown(message.iouthresholdinputfeaturename))),
        ("confidence_threshold_input", .text(shown(message.confidencethresholdinputfeaturename))),
        ("confidence_output", .text(shown(message.confidenceoutputfeaturename))),
        ("coordinates_output", .text(shown(message.coordinatesoutputfeaturename))),
      ] + message.labels.fields
    }
  }

  /// The strings of a repeated field, up to 100; invalid UTF-8 is repaired.
  static func shownTexts(
    _ count: Int, _ list: UnsafeMutablePointer<ProtobufCBinaryData>?
  ) -> [String] {
    UnsafeBufferPointer(start: list, count: list == nil ? 0 : min(count, 100)).map(shown)
  }
}
