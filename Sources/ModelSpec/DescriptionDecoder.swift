import CModelSchemas
import ModelGraph

/// C interface messages to the IR.
///
/// The case of a oneof is the number of its field.
enum DescriptionDecoder {
  static func decode(_ pointer: UnsafeMutablePointer<CModelDescription>) throws -> ModelDescription
  {
    let message = pointer.pointee
    var description = ModelDescription()
    description.inputs = try features(message.n_input, message.input)
    description.outputs = try features(message.n_output, message.output)
    description.states = try features(message.n_state, message.state)
    description.trainingInputs = try features(message.n_traininginput, message.traininginput)
    description.predictedFeatureName = try text(message.predictedfeaturename)
    description.predictedProbabilitiesName = try text(message.predictedprobabilitiesname)
    description.functions = try messages(message.n_functions, message.functions).map(function)
    description.defaultFunctionName = try text(message.defaultfunctionname)
    description.metadata = try message.metadata.map(metadata)
    description.unknownFields = unknownFields(message.base)
    return description
  }

  private static func function(
    _ pointer: UnsafeMutablePointer<CFunctionDescription>
  ) throws -> FunctionDescription {
    let message = pointer.pointee
    var function = FunctionDescription()
    function.name = try text(message.name)
    function.inputs = try features(message.n_input, message.input)
    function.outputs = try features(message.n_output, message.output)
    function.states = try features(message.n_state, message.state)
    function.predictedFeatureName = try text(message.predictedfeaturename)
    function.predictedProbabilitiesName = try text(message.predictedprobabilitiesname)
    function.unknownFields = unknownFields(message.base)
    return function
  }

  private static func metadata(_ pointer: UnsafeMutablePointer<CMetadata>) throws -> Metadata {
    let message = pointer.pointee
    var metadata = Metadata()
    metadata.shortDescription = try text(message.shortdescription)
    metadata.version = try text(message.versionstring)
    metadata.author = try text(message.author)
    metadata.license = try text(message.license)
    metadata.userDefined = NamedList(
      try messages(message.n_userdefined, message.userdefined).map {
        (key: try text($0.pointee.key), value: try text($0.pointee.value))
      })
    metadata.unknownFields = unknownFields(message.base)
    return metadata
  }

  private static func features(
    _ count: Int,
    _ list: UnsafeMutablePointer<UnsafeMutablePointer<CFeatureDescription>?>?
  ) throws -> [FeatureDescription] {
    try messages(count, list).map { pointer in
      let message = pointer.pointee
      var feature = FeatureDescription(
        name: try text(message.name), type: message.type.map(featureType))
      feature.shortDescription = try text(message.shortdescription)
      feature.unknownFields = unknownFields(message.base)
      return feature
    }
  }

  private static func featureType(_ pointer: UnsafeMutablePointer<CFeatureType>) -> FeatureType {
    let message = pointer.pointee
    var type = FeatureType(.absent)
    type.isOptional = message.isoptional != 0
    type.unknownFields = unknownFields(message.base)
    switch message.type_case.rawValue {
    case 1:
      type.kind = .int64
      type.kindUnknownFields = unknownFields(message.int64type.pointee.base)
    case 2:
      type.kind = .double
      type.kindUnknownFields = unknownFields(message.doubletype.pointee.base)
    case 3:
      type.kind = .string
      type.kindUnknownFields = unknownFields(message.stringtype.pointee.base)
    case 4: type.kind = .image(image(message.imagetype))
    case 5: type.kind = .multiArray(array(message.multiarraytype))
    case 6:
      let dictionary = message.dictionarytype.pointee
      type.kind = .dictionary(keyType(dictionary.key_type_case.rawValue, string: 2))
      type.kindUnknownFields = unknownFields(dictionary.base)
      switch dictionary.key_type_case.rawValue {
      case 1: type.keyUnknownFields = unknownFields(dictionary.int64keytype.pointee.base)
      case 2: type.keyUnknownFields = unknownFields(dictionary.stringkeytype.pointee.base)
      default: break
      }
    case 7:
      let sequence = message.sequencetype.pointee
      type.kind = .sequence(
        keyType(sequence.type_case.rawValue, string: 3), size: sequence.sizerange.map(sizeRange))
      type.kindUnknownFields = unknownFields(sequence.base)
      switch sequence.type_case.rawValue {
      case 1: type.keyUnknownFields = unknownFields(sequence.int64type.pointee.base)
      case 3: type.keyUnknownFields = unknownFields(sequence.stringtype.pointee.base)
      default: break
      }
    case 8:
      let state = message.statetype.pointee
      type.kind = .state(state.type_case.rawValue == 1 ? array(state.arraytype) : nil)
      type.kindUnknownFields = unknownFields(state.base)
    default: break
    }
    return type
  }

  private static func keyType(_ number: UInt32, string: UInt32) -> FeatureType.KeyType {
    number == 1 ? .int64 : number == string ? .string : .absent
  }

  private static func sizeRange(_ pointer: UnsafeMutablePointer<CSizeRange>) -> SizeRange {
    var range = SizeRange(
      lowerBound: pointer.pointee.lowerbound, upperBound: pointer.pointee.upperbound)
    range.unknownFields = unknownFields(pointer.pointee.base)
    return range
  }

  private static func array(_ pointer: UnsafeMutablePointer<CArrayType>) -> ArrayType {
    let message = pointer.pointee
    var type = ArrayType(
      shape: scalars(message.n_shape, message.shape),
      dataType: .init(rawValue: Int32(bitPattern: message.datatype.rawValue)))
    type.unknownFields = unknownFields(message.base)
    switch message.shape_flexibility_case.rawValue {
    case 21:
      let enumerated = message.enumeratedshapes.pointee
      type.flexibility = .enumerated(
        messages(enumerated.n_shapes, enumerated.shapes).map {
          var shape = ArrayType.EnumeratedShape(
            sizes: scalars($0.pointee.n_shape, $0.pointee.shape))
          shape.unknownFields = unknownFields($0.pointee.base)
          return shape
        })
      type.flexibilityUnknownFields = unknownFields(enumerated.base)
    case 31:
      let range = message.shaperange.pointee
      type.flexibility = .range(messages(range.n_sizeranges, range.sizeranges).map(sizeRange))
      type.flexibilityUnknownFields = unknownFields(range.base)
    default: break
    }
    switch message.default_optional_value_case.rawValue {
    case 41: type.defaultValue = .int(message.intdefaultvalue)
    case 51: type.defaultValue = .float(message.floatdefaultvalue)
    case 61: type.defaultValue = .double(message.doubledefaultvalue)
    default: break
    }
    return type
  }

  private static func image(_ pointer: UnsafeMutablePointer<CImageType>) -> ImageType {
    let message = pointer.pointee
    var type = ImageType(
      width: message.width, height: message.height,
      colorSpace: .init(rawValue: Int32(bitPattern: message.colorspace.rawValue)))
    type.unknownFields = unknownFields(message.base)
    switch message.size_flexibility_case.rawValue {
    case 21:
      let enumerated = message.enumeratedsizes.pointee
      type.flexibility = .enumerated(
        messages(enumerated.n_sizes, enumerated.sizes).map {
          var size = ImageType.Size(width: $0.pointee.width, height: $0.pointee.height)
          size.unknownFields = unknownFields($0.pointee.base)
          return size
        })
      type.flexibilityUnknownFields = unknownFields(enumerated.base)
    case 31:
      let range = message.imagesizerange.pointee
      type.flexibility = .range(
        width: range.widthrange.map(sizeRange), height: range.heightrange.map(sizeRange))
      type.flexibilityUnknownFields = unknownFields(range.base)
    default: break
    }
    return type
  }
}
