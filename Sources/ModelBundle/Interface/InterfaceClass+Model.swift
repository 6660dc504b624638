import ModelInspection

// The class that loads the model.
extension InterfaceClass {
  func writeModel(to source: inout SwiftSource) {
    source.line()
    source.document(modelDocumentation)
    source.line(availability.attribute)
    source.block("class \(name)") { source in
      source.line("let model: MLModel")
      writeLabels(to: &source)
      writeFunction(to: &source)
      source.line()
      source.document("Where the app's bundle, or that of a framework, has the compiled model.")
      source.block("class var urlOfModelInThisBundle: URL") { source in
        source.line("let bundle = Bundle(for: self)")
        source.line(
          "return bundle.url(forResource: \(SwiftSource.literal(resource)), "
            + "withExtension: \"mlmodelc\")!")
      }
      source.line()
      source.document("Wraps a model that is loaded already.")
      source.block("init(model: MLModel)") { source in source.line("self.model = model") }
      writeInitializers(to: &source)
      writeLoaders(to: &source)
      writePredictions(to: &source)
    }
  }

  private var modelDocumentation: [String] {
    var paragraphs = [
      functionName.map { "The function \($0) of the model: loads it and predicts." }
        ?? "Loads the model and predicts."
    ]
    guard let metadata else { return paragraphs }
    paragraphs.append(metadata.shortDescription)
    let facts = [
      ("Author", metadata.author), ("Version", metadata.version), ("License", metadata.license),
    ]
    paragraphs += facts.compactMap { title, text in text.isEmpty ? nil : "\(title): \(text)" }
    return paragraphs
  }

  private func writeLabels(to source: inout SwiftSource) {
    guard let labels, labels.count > 0 else { return }
    let (type, literals) =
      switch labels {
      case .strings(let texts): ("String", texts.map(SwiftSource.literal))
      case .integers(let numbers): ("Int64", numbers.map { "\($0)" })
      }
    source.line()
    source.document("The classes, in the order in which the model holds them.")
    source.line("static let classLabels: [\(type)] = [")
    for literal in literals { source.line("    \(literal),") }
    source.line("]")
  }

  /// What a class of a named function adds to a configuration.
  private func writeFunction(to source: inout SwiftSource) {
    guard let functionName else { return }
    source.line()
    source.document("The name of the function in the model.")
    source.line("static let functionName = \(SwiftSource.literal(functionName))")
    source.line()
    source.document("A copy of the configuration that selects the function.")
    source.block(
      "private class func selecting(_ configuration: MLModelConfiguration) -> MLModelConfiguration"
    ) { source in
      source.line("let selected = configuration.copy() as! MLModelConfiguration")
      source.line("selected.functionName = functionName")
      source.line("return selected")
    }
  }

  /// The configuration that is handed to `MLModel`.
  private var configuration: String {
    functionName == nil ? "configuration" : "selecting(configuration)"
  }

  private func writeInitializers(to source: inout SwiftSource) {
    let configured = availability.attribute(ofMember: .configuration)
    source.line()
    source.document("Loads the model from the bundle of this class; an error ends the process.")
    source.line(
      "@available(*, deprecated, message: \"Use init(configuration:), which reports errors.\")")
    source.block("convenience init()") { source in
      source.line("try! self.init(contentsOf: type(of: self).urlOfModelInThisBundle)")
    }
    source.line()
    source.document("Loads the model from the bundle of this class.")
    source.attribute(configured)
    source.block("convenience init(configuration: MLModelConfiguration) throws") { source in
      source.line(
        "try self.init(contentsOf: type(of: self).urlOfModelInThisBundle, "
          + "configuration: configuration)")
    }
    source.line()
    source.document("Loads a compiled model.")
    source.block("convenience init(contentsOf modelURL: URL) throws") { source in
      source.line(
        functionName == nil
          ? "try self.init(model: MLModel(contentsOf: modelURL))"
          : "try self.init(contentsOf: modelURL, configuration: MLModelConfiguration())")
    }
    source.line()
    source.document("Loads a compiled model as the configuration tells.")
    source.attribute(configured)
    source.block(
      "convenience init(contentsOf modelURL: URL, configuration: MLModelConfiguration) throws"
    ) { source in
      let prefix = functionName == nil ? "" : "\(name)."
      source.line(
        "try self.init(model: MLModel(contentsOf: modelURL, "
          + "configuration: \(prefix)\(configuration)))")
    }
  }

  private func writeLoaders(to source: inout SwiftSource) {
    let handled = availability.attribute(ofMember: .loading)
    let suspending = availability.attribute(ofMember: .concurrency)
    let option = "configuration: MLModelConfiguration = MLModelConfiguration()"
    let handler = "completionHandler handler: @escaping (Result<\(name), Error>) -> Void"
    source.line()
    source.document("Loads the model from the bundle of this class, then calls the handler.")
    source.attribute(handled)
    source.block("class func load(\(option), \(handler))") { source in
      source.line(
        "load(contentsOf: urlOfModelInThisBundle, configuration: configuration, "
          + "completionHandler: handler)")
    }
    source.line()
    source.document("Loads the model from the bundle of this class.")
    source.attribute(suspending)
    source.block("class func load(\(option)) async throws -> \(name)") { source in
      source.line(
        "try await load(contentsOf: urlOfModelInThisBundle, configuration: configuration)")
    }
    source.line()
    source.document("Loads a compiled model, then calls the handler.")
    source.attribute(handled)
    source.block("class func load(contentsOf modelURL: URL, \(option), \(handler))") { source in
      source.block(
        "MLModel.load(contentsOf: modelURL, configuration: \(configuration))", after: "result in"
      ) { source in
        source.line("handler(result.map { model in \(name)(model: model) })")
      }
    }
    source.line()
    source.document("Loads a compiled model.")
    source.attribute(suspending)
    source.block(
      "class func load(contentsOf modelURL: URL, \(option)) async throws -> \(name)"
    ) { source in
      source.line(
        "let model = try await MLModel.load(contentsOf: modelURL, configuration: \(configuration))")
      source.line("return \(name)(model: model)")
    }
  }
}
