import CModelSchemas
import ModelGraph

/// The IR's interface to C messages in an arena.
///
/// The case of a oneof is the number of its field.
struct DescriptionEncoder {
  let arena: MessageArena

  func encode(_ description: ModelDescription) -> UnsafeMutablePointer<CModelDescription> {
    let message: UnsafeMutablePointer<CModelDescription> = arena.make(
      core_ml__specification__model_description__init, unknown: description.unknownFields)
    (message.pointee.n_input, message.pointee.input) = features(description.inputs)
    (message.pointee.n_output, message.pointee.output) = features(description.outputs)
    (message.pointee.n_state, message.pointee.state) = features(description.states)
    (message.pointee.n_traininginput, message.pointee.traininginput) = features(
      description.trainingInputs)
    message.pointee.predictedfeaturename = arena.text(description.predictedFeatureName)
    message.pointee.predictedprobabilitiesname = arena.text(
      description.predictedProbabilitiesName)
    (message.pointee.n_functions, message.pointee.functions) = arena.repeated(
      description.functions, function)
    message.pointee.defaultfunctionname = arena.text(description.defaultFunctionName)
    message.pointee.metadata = description.metadata.map(metadata)
    return message
  }

  private func function(
    _ function: FunctionDescription
  ) -> UnsafeMutablePointer<CFunctionDescription> {
    let message: UnsafeMutablePointer<CFunctionDescription> = arena.make(
      core_ml__specification__function_description__init, unknown: function.unknownFields)
    message.pointee.name = arena.text(function.name)
    (message.pointee.n_input, message.pointee.input) = features(function.inputs)
    (message.pointee.n_output, message.pointee.output) = features(function.outputs)
    (message.pointee.n_state, message.pointee.state) = features(function.states)
    message.pointee.predictedfeaturename = arena.text(function.predictedFeatureName)
    message.pointee.predictedprobabilitiesname = arena.text(function.predictedProbabilitiesName)
    return message
  }

  private func metadata(_ metadata: Metadata) -> UnsafeMutablePointer<CMetadata> {
    let message: UnsafeMutablePointer<CMetadata> = arena.make(
      core_ml__specification__metadata__init, unknown: metadata.unknownFields)
    message.pointee.shortdescription = arena.text(metadata.shortDescription)
    message.pointee.versionstring = arena.text(metadata.version)
    message.pointee.author = arena.text(metadata.author)
    message.pointee.license = arena.text(metadata.license)
    (message.pointee.n_userdefined, message.pointee.userdefined) = arena.entries(
      metadata.userDefined, core_ml__specification__metadata__user_defined_entry__init
    ) {
      $0.pointee.key = $1
      $0.pointee.value = arena.text($2)
    }
    return message
  }

  private func features(
    _ features: [FeatureDescription]
  ) -> (Int, UnsafeMutablePointer<UnsafeMutablePointer<CFeatureDescription>?>?) {
    arena.repeated(features) { feature in
      let message: UnsafeMutablePointer<CFeatureDescription> = arena.make(
        core_ml__specification__feature_description__init, unknown: feature.unknownFields)
      message.pointee.name = arena.text(feature.name)
      message.pointee.shortdescription = arena.text(feature.shortDescription)
      message.pointee.type = feature.type.map(featureType)
      return message
    }
  }

  private func featureType(_ type: FeatureType) -> UnsafeMutablePointer<CFeatureType> {
    let message: UnsafeMutablePointer<CFeatureType> = arena.make(
      core_ml__specification__feature_type__init, unknown: type.unknownFields)
    message.pointee.isoptional = type.isOptional ? 1 : 0
    let unknown = type.kindUnknownFields
    var number: UInt32 = 0
    switch type.kind {
    case .int64:
      number = 1
      message.pointee.int64type = int64Type(unknown)
    case .double:
      number = 2
      message.pointee.doubletype = arena.make(
        core_ml__specification__double_feature_type__init, unknown: unknown)
    case .string:
      number = 3
      message.pointee.stringtype = stringType(unknown)
    case .image(let type):
      number = 4
      message.pointee.imagetype = image(type)
    case .multiArray(let type):
      number = 5
      message.pointee.multiarraytype = array(type)
    case .dictionary(let key):
      number = 6
      let dictionary: UnsafeMutablePointer<CoreML__Specification__DictionaryFeatureType> =
        arena.make(core_ml__specification__dictionary_feature_type__init, unknown: unknown)
      if key == .int64 { dictionary.pointee.int64keytype = int64Type(type.keyUnknownFields) }
      if key == .string { dictionary.pointee.stringkeytype = stringType(type.keyUnknownFields) }
      dictionary.pointee.key_type_case.rawValue = key == .int64 ? 1 : key == .string ? 2 : 0
      message.pointee.dictionarytype = dictionary
    case .sequence(let element, let size):
      number = 7
      let sequence: UnsafeMutablePointer<CoreML__Specification__SequenceFeatureType> =
        arena.make(core_ml__specification__sequence_feature_type__init, unknown: unknown)
      if element == .int64 { sequence.pointee.int64type = int64Type(type.keyUnknownFields) }
      if element == .string { sequence.pointee.stringtype = stringType(type.keyUnknownFields) }
      sequence.pointee.type_case.rawValue = element == .int64 ? 1 : element == .string ? 3 : 0
      sequence.pointee.sizerange = size.map(sizeRange)
      message.pointee.sequencetype = sequence
    case .state(let type):
      number = 8
      let state: UnsafeMutablePointer<CoreML__Specification__StateFeatureType> = arena.make(
        core_ml__specification__state_feature_type__init, unknown: unknown)
      if let type {
        state.pointee.arraytype = array(type)
        state.pointee.type_case.rawValue = 1
      }
      message.pointee.statetype = state
    case .absent: break
    }
    message.pointee.type_case.rawValue = number
    return message
  }

  private func int64Type(
    _ unknown: UnknownFields = UnknownFields()
  ) -> UnsafeMutablePointer<CoreML__Specification__Int64FeatureType> {
    arena.make(core_ml__specification__int64_feature_type__init, unknown: unknown)
  }

  private func stringType(
    _ unknown: UnknownFields = UnknownFields()
  ) -> UnsafeMutablePointer<CoreML__Specification__StringFeatureType> {
    arena.make(core_ml__specification__string_feature_type__init, unknown: unknown)
  }

  private func sizeRange(_ range: SizeRange) -> UnsafeMutablePointer<CSizeRange> {
    let message: UnsafeMutablePointer<CSizeRange> = arena.make(
      core_ml__specification__size_range__init, unknown: range.unknownFields)
    message.pointee.lowerbound = range.lowerBound
    message.pointee.upperbound = range.upperBound
    return message
  }

  private func array(_ type: ArrayType) -> UnsafeMutablePointer<CArrayType> {
    let message: UnsafeMutablePointer<CArrayType> = arena.make(
      core_ml__specification__array_feature_type__init, unknown: type.unknownFields)
    (message.pointee.n_shape, message.pointee.shape) = arena.scalars(type.shape)
    message.pointee.datatype.rawValue = UInt32(bitPattern: type.dataType.rawValue)
    switch type.flexibility {
    case .fixed: break
    case .enumerated(let shapes):
      let enumerated:
        UnsafeMutablePointer<CoreML__Specification__ArrayFeatureType__EnumeratedShapes> =
          arena.make(
            core_ml__specification__array_feature_type__enumerated_shapes__init,
            unknown: type.flexibilityUnknownFields)
      (enumerated.pointee.n_shapes, enumerated.pointee.shapes) = arena.repeated(shapes) { shape in
        let item: UnsafeMutablePointer<CoreML__Specification__ArrayFeatureType__Shape> =
          arena.make(
            core_ml__specification__array_feature_type__shape__init,
            unknown: shape.unknownFields)
        (item.pointee.n_shape, item.pointee.shape) = arena.scalars(shape.sizes)
        return item
      }
      message.pointee.enumeratedshapes = enumerated
      message.pointee.shape_flexibility_case.rawValue = 21
    case .range(let ranges):
      let range: UnsafeMutablePointer<CoreML__Specification__ArrayFeatureType__ShapeRange> =
        arena.make(
          core_ml__specification__array_feature_type__shape_range__init,
          unknown: type.flexibilityUnknownFields)
      (range.pointee.n_sizeranges, range.pointee.sizeranges) = arena.repeated(
        ranges, sizeRange)
      message.pointee.shaperange = range
      message.pointee.shape_flexibility_case.rawValue = 31
    }
    switch type.defaultValue {
    case .none: break
    case .int(let value):
      message.pointee.intdefaultvalue = value
      message.pointee.default_optional_value_case.rawValue = 41
    case .float(let value):
      message.pointee.floatdefaultvalue = value
      message.pointee.default_optional_value_case.rawValue = 51
    case .double(let value):
      message.pointee.doubledefaultvalue = value
      message.pointee.default_optional_value_case.rawValue = 61
    }
    return message
  }

  private func image(_ type: ImageType) -> UnsafeMutablePointer<CImageType> {
    let message: UnsafeMutablePointer<CImageType> = arena.make(
      core_ml__specification__image_feature_type__init, unknown: type.unknownFields)
    message.pointee.width = type.width
    message.pointee.height = type.height
    message.pointee.colorspace.rawValue = UInt32(bitPattern: type.colorSpace.rawValue)
    switch type.flexibility {
    case .fixed: break
    case .enumerated(let sizes):
      let enumerated:
        UnsafeMutablePointer<CoreML__Specification__ImageFeatureType__EnumeratedImageSizes> =
          arena.make(
            core_ml__specification__image_feature_type__enumerated_image_sizes__init,
            unknown: type.flexibilityUnknownFields)
      (enumerated.pointee.n_sizes, enumerated.pointee.sizes) = arena.repeated(sizes) { size in
        let item: UnsafeMutablePointer<CoreML__Specification__ImageFeatureType__ImageSize> =
          arena.make(
            core_ml__specification__image_feature_type__image_size__init,
            unknown: size.unknownFields)
        item.pointee.width = size.width
        item.pointee.height = size.height
        return item
      }
      message.pointee.enumeratedsizes = enumerated
      message.pointee.size_flexibility_case.rawValue = 21
    case .range(let width, let height):
      let range: UnsafeMutablePointer<CoreML__Specification__ImageFeatureType__ImageSizeRange> =
        arena.make(
          core_ml__specification__image_feature_type__image_size_range__init,
          unknown: type.flexibilityUnknownFields)
      range.pointee.widthrange = width.map(sizeRange)
      range.pointee.heightrange = height.map(sizeRange)
      message.pointee.imagesizerange = range
      message.pointee.size_flexibility_case.rawValue = 31
    }
    return message
  }
}
