import ModelGraph

// The class of the inputs.
extension InterfaceClass {
  func writeInput(
    _ className: String, _ features: [InterfaceFeature], title: String, to source: inout SwiftSource
  ) {
    source.line()
    source.document(title)
    source.line(availability.attribute)
    source.block("class \(className): MLFeatureProvider") { source in
      for feature in features {
        source.document(feature.documentation)
        source.line("var \(feature.spelled): \(feature.type)")
        source.line()
      }
      let names = features.map(\.literal).joined(separator: ", ")
      source.line("var featureNames: Set<String> { [\(names)] }")
      source.line()
      source.block("func featureValue(for featureName: String) -> MLFeatureValue?") { source in
        if features.isEmpty { return source.line("return nil") }
        source.line("switch featureName {")
        for feature in features {
          source.line(
            "case \(feature.literal): return \(feature.value("self.\(feature.spelled)"))")
        }
        source.line("default: return nil")
        source.line("}")
      }
      source.line()
      let parameters = features.map(\.parameter).joined(separator: ", ")
      source.block("init(\(parameters))") { source in
        for feature in features { source.line("self.\(feature.spelled) = \(feature.spelled)") }
      }
      writeArrays(features, to: &source)
      writeImages(features, to: &source)
    }
  }

  /// The initializer that takes shaped arrays.
  private func writeArrays(_ features: [InterfaceFeature], to source: inout SwiftSource) {
    guard let shaped = ShapedParameters(features) else { return }
    source.line()
    source.conditional(shaped.condition) { source in
      source.attribute(availability.attribute(ofMember: shaped.availability))
      source.block("convenience init(\(shaped.list.joined(separator: ", ")))") { source in
        let arguments = features.map { feature in
          if feature.scalar == nil { return feature.argument }
          return feature.isOptional
            ? "\(feature.identifier): \(feature.spelled).map { content in MLMultiArray(content) }"
            : "\(feature.identifier): MLMultiArray(\(feature.spelled))"
        }
        source.line("self.init(\(arguments.joined(separator: ", ")))")
      }
    }
  }

  /// Initializers and setters that make pixel buffers of images and of files.
  private func writeImages(_ features: [InterfaceFeature], to source: inout SwiftSource) {
    let images = features.filter { $0.conversion("") != nil }
    if images.isEmpty { return }
    let attribute = availability.attribute(ofMember: .imageConversion)
    for (ending, type, label) in InterfaceFeature.imageSources {
      let parameters = features.map { feature in
        feature.conversion("") == nil
          ? feature.parameter
          : "\(feature.identifier)\(ending) \(feature.spelled): \(type)"
            + (feature.isOptional ? "?" : "")
      }
      let arguments = features.map { feature in
        guard let value = feature.conversion(label) else { return feature.argument }
        return feature.isOptional
          ? "\(feature.identifier): try \(feature.spelled).map { content in "
            + "try \(feature.conversion(label, of: "content") ?? value) }"
          : "\(feature.identifier): try \(value)"
      }
      source.line()
      source.attribute(attribute)
      source.block("convenience init(\(parameters.joined(separator: ", "))) throws") { source in
        source.line("self.init(\(arguments.joined(separator: ", ")))")
      }
    }
    var scope = SwiftScope(reserved: Set(features.map(\.identifier)))
    for image in images {
      let setter = scope.take("set" + SwiftIdentifier.capitalized(image.identifier))
      for (_, type, label) in InterfaceFeature.imageSources {
        guard let value = image.conversion(label) else { continue }
        source.line()
        source.attribute(attribute)
        source.block("func \(setter)(with \(image.spelled): \(type)) throws") { source in
          source.line("self.\(image.spelled) = try \(value)")
        }
      }
    }
  }
}

/// Parameters for features whose arrays are given as shaped arrays.
struct ShapedParameters {
  let list: [String]
  let availability: InterfaceAvailability
  /// The condition of compilation under which all their types exist.
  let condition: String?

  /// The parameters, or nil where no feature is an array.
  init?(_ features: [InterfaceFeature]) {
    let scalars = features.compactMap(\.scalar)
    if scalars.isEmpty { return nil }
    availability = scalars.reduce(.concurrency) { $0.joined($1.availability) }
    condition = scalars.lazy.compactMap(\.condition).first
    // Without an array that must be given, a call without arguments would have two meanings.
    let hasDefaults = features.contains { $0.scalar != nil && !$0.isOptional }
    list = features.map { feature in
      guard let scalar = feature.scalar else { return feature.parameter }
      let end = feature.isOptional ? hasDefaults ? "? = nil" : "?" : ""
      return "\(feature.spelled): MLShapedArray<\(scalar.name)>\(end)"
    }
  }
}

extension InterfaceFeature {
  /// What an image is made of: the ending of the parameter's label, the type, and the label of the
  /// initializer of `MLFeatureValue`.
  fileprivate static let imageSources = [
    ("With", "CGImage", "cgImage"), ("At", "URL", "imageAt"),
  ]

  /// The element of a multi-array that Swift has a type for.
  var scalar: ArrayType.Scalar? {
    if case .multiArray(let array) = kind { return array.scalar }
    return nil
  }

  /// The pixel buffer of the image in the parameter of that name, or nil where its size or format
  /// is not known.
  fileprivate func conversion(_ label: String, of content: String? = nil) -> String? {
    guard case .image(let image) = kind, let format = image.pixelFormat, image.width > 0,
      image.height > 0
    else { return nil }
    return "MLFeatureValue(\(label): \(content ?? spelled), pixelsWide: \(image.width), "
      + "pixelsHigh: \(image.height), pixelFormatType: \(format), options: nil).imageBufferValue!"
  }
}
