// The class of the outputs.
extension InterfaceClass {
  func writeOutput(to source: inout SwiftSource) {
    source.line()
    source.document("The outputs of \(name).")
    source.line(availability.attribute)
    source.block("class \(outputName): MLFeatureProvider") { source in
      source.line("private let provider: any MLFeatureProvider")
      var scope = SwiftScope(reserved: reserved.union(outputs.map(\.identifier)))
      for feature in outputs {
        source.line()
        source.document(feature.documentation)
        source.block("var \(feature.spelled): \(feature.type)") { source in
          source.line(feature.content(in: "self.provider"))
        }
        writeShaped(feature, in: &scope, to: &source)
      }
      source.line()
      source.line("var featureNames: Set<String> { provider.featureNames }")
      source.line()
      source.block("func featureValue(for featureName: String) -> MLFeatureValue?") { source in
        source.line("provider.featureValue(for: featureName)")
      }
      source.line()
      writeMemberwise(to: &source)
      source.line()
      source.block("init(features: any MLFeatureProvider)") { source in
        source.line("self.provider = features")
      }
    }
  }

  private func writeShaped(
    _ feature: InterfaceFeature, in scope: inout SwiftScope, to source: inout SwiftSource
  ) {
    guard let scalar = feature.scalar else { return }
    let type = "MLShapedArray<\(scalar.name)>"
    source.line()
    source.conditional(scalar.condition) { source in
      source.document("The elements of `\(feature.identifier)` as a shaped array.")
      source.attribute(availability.attribute(ofMember: scalar.availability))
      let property = scope.take(feature.identifier + "ShapedArray")
      source.block("var \(property): \(type)" + (feature.isOptional ? "?" : "")) { source in
        source.line(
          feature.isOptional
            ? "self.\(feature.spelled).map { content in \(type)(content) }"
            : "\(type)(self.\(feature.spelled))")
      }
    }
  }

  /// The initializer that takes the outputs one by one.
  private func writeMemberwise(to source: inout SwiftSource) {
    let parameters = outputs.map(\.parameter).joined(separator: ", ")
    let hasOptional = outputs.contains(where: \.isOptional)
    source.block("init(\(parameters))") { source in
      if outputs.isEmpty {
        return source.line("self.provider = try! MLDictionaryFeatureProvider(dictionary: [:])")
      }
      // No local variable: any name may be that of a parameter.
      source.line("self.provider = try! MLDictionaryFeatureProvider(dictionary: ([")
      for feature in outputs {
        source.line("    \(feature.literal): \(feature.value(feature.spelled)),")
      }
      source.line(
        hasOptional
          ? "] as [String: MLFeatureValue?]).compactMapValues { $0 })"
          : "] as [String: MLFeatureValue]))")
    }
  }
}
