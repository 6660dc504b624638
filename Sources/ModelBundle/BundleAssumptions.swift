import ModelGraph

/// Parts of a bundle that rest on reports of public projects or on inference, not on a file that
/// Apple's compiler wrote; docs/compiled-bundles.md has the ground of each.
enum BundleAssumption: String, CaseIterable {
  case programVersion = "coremldata.bin: the engine version of this specification version"
  case functionRecords = "coremldata.bin: one record per function"
  case classifierProgram = "coremldata.bin: classifier programs end like other programs"
  case pipelineVersion = "coremldata.bin: pipelines have engine version 1.0.1"
  case specificationForm = "coremldata.bin: this model kind is kept as its specification"
  case modelNames = "modelNames/coremldata.bin: the names of a pipeline's models"
  case childWeights = "weights: each model of a pipeline has its own copy"
  case compilerVersion = "model.mil: buildInfo names a version of Apple's compiler"
  case modelHash = "analytics: modelHash is the SHA-256 of the specification"
  case specificationAnalytics = "analytics: the sections of kinds other than programs"
  case className = "metadata.json: the characters of generatedClassName"
  case operationNames = "metadata.json: the opsets in mlProgramOperationTypeHistogram"
  case featureTypes =
    "metadata.json: features other than fixed arrays and colour images"
  case storagePrecision = "metadata.json: the name of this storagePrecision"
}

extension BundleAssumption {
  /// What the metadata of a model rests on.
  static func ofMetadata(_ metadata: BundleMetadata, _ model: Model) -> Set<BundleAssumption> {
    var found: Set<BundleAssumption> = []
    let features =
      metadata.inputSchema + metadata.outputSchema + (metadata.stateSchema ?? [])
      + (metadata.functions ?? []).flatMap { $0.inputSchema + $0.outputSchema + $0.stateSchema }
    let areObserved = features.allSatisfy { feature in
      feature.type == "MultiArray" || feature.isColor == "1" && feature.hasSizeFlexibility == "0"
    }
    if !areObserved { found.insert(.featureTypes) }
    if let precision = metadata.storagePrecision,
      !["Float16", "Float32", "Int8"].contains(precision)
    {
      found.insert(.storagePrecision)
    }
    for program in model.programs {
      for (_, function) in program.functions {
        function.activeBlock?.forEachOperation { operation, _ in
          let name = OperationNames.name(of: operation.type, opset: function.opset)
          if !operation.isConst && !name.isObserved { found.insert(.operationNames) }
        }
      }
    }
    return found
  }
}
