import ModelToolchain

/// Models with interfaces that are hard to name, without content.
public enum InterfaceModels {
  /// A feature of any type.
  public static func feature(
    _ name: String, _ kind: FeatureType.Kind?, optional: Bool = false, _ description: String = ""
  ) -> FeatureDescription {
    var feature = FeatureDescription(name: name, type: kind.map { FeatureType($0) })
    feature.type?.isOptional = optional
    feature.shortDescription = description
    return feature
  }

  /// A model of this interface.
  public static func model(
    _ inputs: [FeatureDescription], _ outputs: [FeatureDescription], version: Int = 5
  ) -> Model {
    var description = ModelDescription()
    description.inputs = inputs
    description.outputs = outputs
    return Model(specificationVersion: version, description: description, kind: .absent)
  }

  /// A multi-array type.
  public static func array(_ type: ArrayType.DataType, _ shape: [Int64] = [1, 4])
    -> FeatureType.Kind
  {
    .multiArray(ArrayType(shape: shape, dataType: type))
  }

  /// An image type by the number of its colour space.
  public static func image(_ colorSpace: Int32, width: Int64 = 8) -> FeatureType.Kind {
    .image(ImageType(width: width, height: 6, colorSpace: .init(rawValue: colorSpace)))
  }

  /// Every type that a feature can have.
  public static let kinds: [FeatureType.Kind?] = [
    .int64, .double, .string, image(10), image(20), image(30), image(40), image(99),
    image(20, width: 0), array(.float32), array(.float64), array(.float16), array(.int32),
    array(.int8), array(.init(rawValue: 7)), .dictionary(.int64), .dictionary(.string),
    .dictionary(.absent), .sequence(.int64, size: nil), .sequence(.string, size: nil), .state(nil),
    .absent, nil,
  ]

  /// Names that Swift does not take as they are, or that mean something else in an interface.
  public static let names = [
    "", "_", "$0", "0", "1st", "a-b", "a_b", "a.b", "a b", "class", "in", "self", "Self", "init",
    "deinit", "subscript", "super", "Type", "dynamicType", "await", "copy", "featureNames",
    "featureValue", "featureName", "provider", "features", "values", "value", "content", "input",
    "inputs", "options", "state", "using", "model", "prediction", "configuration", "String", "Set",
    "URL", "Data", "MLModel", "MLMultiArray", "CVPixelBuffer", "kCVPixelFormatType_32BGRA", "type",
    "🙂", "🙂🙂", "名前", "naïve", "x\"y", "x\\(y)", "x\ny", "x\r\ny", "x\u{2028}y", "x\u{202E}y",
    "\u{0}", "\u{301}", "\"\"\"", "*/", "#if", "`x`", "image", "imageWith", "Image", "setImage",
    "x", "xShapedArray", "x_", "M", "MInput", "MOutput", "true", "nil", "inout", "let", "var",
    "Any", "Never",
  ]

  /// Interfaces that are hard, by the names of their files.
  public static var hard: [(name: String, model: Model)] {
    [
      ("nothing", model([], [feature("y", .double)])),
      ("names", model(names.map { feature($0, array(.float32)) }, named(.string))),
      ("imageNames", model(named(image(20)), named(array(.float16)), version: 7)),
      ("kinds", model(typed(optional: false), typed(optional: false))),
      ("optionals", model(typed(optional: true), typed(optional: true), version: 1)),
      ("only optional", model([feature("x", array(.float32), optional: true)], [])),
      ("some-optional", model(typed(optional: false) + typed(optional: true), [], version: 99)),
      ("class", model(named(.int64), [feature("y", .dictionary(.string))], version: 0)),
      ("M", model(named(.sequence(.string, size: nil)), named(image(40)), version: 1)),
      ("String", model([feature("x", .string, "one\rtwo\u{2028}three\n\n*/ four\n")], [])),
      ("🙂", states), ("functions", functions), ("training", training),
    ]
  }

  private static func named(_ kind: FeatureType.Kind) -> [FeatureDescription] {
    names.map { feature($0, kind) }
  }

  private static func typed(optional: Bool) -> [FeatureDescription] {
    kinds.enumerated().map { feature("\(optional ? "o" : "f")\($0)", $1, optional: optional) }
  }

  private static var states: Model {
    var model = model(
      [feature("state", array(.float16)), feature("using", .int64)],
      [feature("y", array(.float32))], version: 9)
    model.description?.states = (["kv", "allCases", "rawValue", "hashValue"] + names).map {
      feature($0, .state(nil))
    }
    return model
  }

  private static var functions: Model {
    var model = model([], [], version: 9)
    model.description?.functions = ["decode", "main", "a-b", "a_b", "Input", "deco\"de"].map {
      var function = FunctionDescription()
      function.name = $0
      function.inputs = [feature("input", array(.int32))]
      function.outputs = [feature("output", array(.float16))]
      if $0 == "decode" { function.states = [feature("kv", .state(nil))] }
      return function
    }
    model.description?.defaultFunctionName = "main"
    return model
  }

  private static var training: Model {
    var model = model([feature("x", array(.float32))], [feature("y", .string)], version: 4)
    model.isUpdatable = true
    model.description?.trainingInputs = [feature("x", array(.float32)), feature("y", .string)]
    return model
  }
}
