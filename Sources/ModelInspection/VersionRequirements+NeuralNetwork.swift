import CModelSchemas
import ModelGraph
import ModelSpec

extension VersionRequirements {
  mutating func add(_ network: NeuralNetwork) throws {
    for layer in network.layers {
      if layer.type == "custom" {
        require(2, "custom layer \(layer.customClassName ?? "")", at: layer.name)
      }
      addType(of: layer)
      for weight in layer.weights {
        switch weight.storage {
        case .float16: require(2, "fp16 weights", at: layer.name)
        case .linear, .lookup:
          require(3, "quantized weights \(weight.storage.name)", at: layer.name)
        case .int8: require(5, "int8 weights with dynamic quantization", at: layer.name)
        case .float32, .empty: break
        }
      }
    }
    // The message tells what the view of the layers leaves out.
    let found = try network.withNetwork { message in
      var found = MessageFeatures()
      if message.arrayMapping != 0 { found.features.append((4, "exact mapping of array shapes")) }
      if message.imageMapping != 0 { found.features.append((4, "rank 4 mapping of images")) }
      if message.update != nil { found.features.append((4, "training parameters")) }
      found.visit(message.layers)
      return found
    }
    for (version, reason) in found.features { require(version, reason) }
  }

  private mutating func addType(of layer: NeuralNetworkLayer) {
    let type = layer.type
    if type == "none" || VersionRequirements.firstLayers.contains(type) {
      if type == "convolution" && layer.inputs.count > 1 {
        require(4, "convolution with computed weights", at: layer.name)
      }
    } else if VersionRequirements.ios12Layers.contains(type) {
      require(3, "layer \(type)", at: layer.name)
    } else if VersionRequirements.ios14Layers.contains(type) {
      require(5, "layer \(type)", at: layer.name)
    } else {
      require(4, "layer \(type)", at: layer.name)
    }
  }

  private struct MessageFeatures {
    var features: [(version: Int, reason: String)] = []

    mutating func visit(_ layers: [LayerWeightForms.Layer]) {
      for layer in layers {
        let message = layer.pointee
        switch message.layer_case.rawValue {
        case 140 where message.innerproduct?.pointee.int8dynamicquantize ?? 0 != 0,
          1045 where message.batchedmatmul?.pointee.int8dynamicquantize ?? 0 != 0:
          features.append((5, "dynamic quantization of a layer"))
        case 210:
          guard let upsample = message.upsample?.pointee else { continue }
          if upsample.linearupsamplemode.rawValue != 0 || upsample.n_fractionalscalingfactor > 0 {
            features.append((5, "upsample by a fraction or with aligned corners"))
          }
        case 345 where message.reorganizedata?.pointee.mode.rawValue == 2:
          features.append((5, "reorganizeData by pixel shuffle"))
        case 980 where message.concatnd?.pointee.interleave ?? 0 != 0:
          features.append((5, "interleaving concatND"))
        case 1000:
          guard let slice = message.slicedynamic?.pointee else { continue }
          if message.n_input == 7 || slice.n_squeezemasks > 0 {
            features.append((5, "sliceDynamic with squeeze masks"))
          }
        default: break
        }
        for nested in layer.nestedLayers { visit(nested) }
      }
    }
  }

  private static let firstLayers: Set<String> = [
    "convolution", "innerProduct", "batchnorm", "activation", "pooling", "padding", "concat",
    "lrn", "softmax", "split", "add", "multiply", "unary", "upsample", "bias", "l2normalize",
    "reshape", "flatten", "permute", "reduce", "loadConstant", "scale", "simpleRecurrent", "gru",
    "uniDirectionalLSTM", "biDirectionalLSTM", "crop", "average", "max", "min", "dot", "mvn",
    "embedding", "sequenceRepeat", "reorganizeData", "slice", "custom",
  ]
  private static let ios12Layers: Set<String> = ["resizeBilinear", "cropResize"]
  private static let ios14Layers: Set<String> = [
    "cumSum", "oneHot", "clampedReLU", "argSort", "pooling3d", "globalPooling3d", "sliceBySize",
    "convolution3d",
  ]
}
