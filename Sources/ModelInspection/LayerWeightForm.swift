import CModelSchemas
import ModelGraph
import ModelSpec
import ModelTensors

/// The shape of a neural network weight and the axis that its scales belong to.
struct LayerWeightForm: Sendable, Equatable {
  var shape: [Int]
  var channelAxis = 0
}

/// The shapes of a network's weights, from the parameters of its layers.
struct LayerWeightForms {
  typealias Layer = UnsafeMutablePointer<CoreML__Specification__NeuralNetworkLayer>

  /// By layer, then by the end of the weight's path.
  private var forms: [[String: LayerWeightForm]] = []

  /// Empty when the network's message cannot be unpacked.
  init(_ network: NeuralNetwork) {
    var forms: [[String: LayerWeightForm]] = []
    try? network.withLayers { layers in
      LayerWeightForms.collect(layers, into: &forms)
    }
    self.forms = forms
  }

  /// The form of a weight; one axis where the layer does not tell or tells another size.
  func form(layer: Int, path: String, of weight: NeuralNetworkWeight) -> LayerWeightForm {
    let flat = LayerWeightForm(shape: [weight.count])
    guard forms.indices.contains(layer) else { return flat }
    let name = path.split(separator: ".").last.map(String.init) ?? path
    let known = forms[layer].first { name.hasSuffix($0.key) || name.lowercased().hasSuffix($0.key) }
    guard let form = known?.value, let count = Shape.elementCount(form.shape), count > 0 else {
      return flat
    }
    if count == weight.count { return form }
    // Codes are padded to whole bytes.
    switch weight.storage {
    case .linear(let bits), .lookup(let bits):
      let padding = weight.count - count
      return padding > 0 && padding * bits < 8 ? form : flat
    default: return flat
    }
  }

  private static func collect(_ layers: [Layer], into forms: inout [[String: LayerWeightForm]]) {
    for layer in layers {
      forms.append(shapes(of: layer))
      for nested in layer.nestedLayers { collect(nested, into: &forms) }
    }
  }

  private static func shapes(of layer: Layer) -> [String: LayerWeightForm] {
    let message = layer.pointee
    func form(_ sizes: [UInt64], axis: Int = 0) -> LayerWeightForm {
      LayerWeightForm(shape: sizes.map { Int(clamping: $0) }, channelAxis: axis)
    }
    func recurrent(_ input: UInt64, _ output: UInt64) -> [String: LayerWeightForm] {
      let (input, output) = (form([output, input]), form([output, output]))
      return [
        "weightmatrix": input, "recursionmatrix": output,
        "biasvector": LayerWeightForm(shape: [output.shape[0]]),
        "peepholevector": LayerWeightForm(shape: [output.shape[0]]),
      ]
    }
    switch message.layer_case.rawValue {
    case 100:
      guard let convolution = message.convolution?.pointee else { return [:] }
      let kernel =
        convolution.n_kernelsize == 2
        ? scalars(convolution.n_kernelsize, convolution.kernelsize) : [3, 3]
      let groups = max(1, convolution.ngroups)
      let channels = convolution.outputchannels
      return [
        "weights": convolution.isdeconvolution != 0
          ? form([convolution.kernelchannels, channels / groups] + kernel, axis: 1)
          : form([channels, convolution.kernelchannels] + kernel),
        "bias": form([channels]),
      ]
    case 140:
      guard let product = message.innerproduct?.pointee else { return [:] }
      return [
        "weights": form([product.outputchannels, product.inputchannels]),
        "bias": form([product.outputchannels]),
      ]
    case 150:
      guard let embedding = message.embedding?.pointee else { return [:] }
      return [
        "weights": form([embedding.outputchannels, embedding.inputdim]),
        "bias": form([embedding.outputchannels]),
      ]
    case 1040:
      guard let embedding = message.embeddingnd?.pointee else { return [:] }
      return [
        "weights": form([embedding.embeddingsize, embedding.vocabsize]),
        "bias": form([embedding.embeddingsize]),
      ]
    case 245:
      guard let scale = message.scale?.pointee else { return [:] }
      return [
        "scale": form(scalars(scale.n_shapescale, scale.shapescale)),
        "bias": form(scalars(scale.n_shapebias, scale.shapebias)),
      ]
    case 250:
      guard let bias = message.bias?.pointee else { return [:] }
      return ["bias": form(scalars(bias.n_shape, bias.shape))]
    case 290:
      guard let constant = message.loadconstant?.pointee else { return [:] }
      return ["data": form(scalars(constant.n_shape, constant.shape))]
    case 1070:
      guard let constant = message.loadconstantnd?.pointee else { return [:] }
      return ["data": form(scalars(constant.n_shape, constant.shape))]
    case 1045:
      guard let product = message.batchedmatmul?.pointee else { return [:] }
      return [
        "weights": form([
          product.weightmatrixfirstdimension, product.weightmatrixseconddimension,
        ])
      ]
    case 1471:
      guard let convolution = message.convolution3d?.pointee else { return [:] }
      let kernel = [convolution.kerneldepth, convolution.kernelheight, convolution.kernelwidth]
      let groups = max(1, UInt64(max(0, convolution.ngroups)))
      let channels = UInt64(max(0, convolution.outputchannels))
      let inputs = UInt64(max(0, convolution.inputchannels))
      let sizes = kernel.map { UInt64(max(0, $0)) }
      return [
        "weights": convolution.isdeconvolution != 0
          ? form([inputs, channels / groups] + sizes, axis: 1)
          : form([channels, inputs / groups] + sizes),
        "bias": form([channels]),
      ]
    case 400:
      guard let layer = message.simplerecurrent?.pointee else { return [:] }
      return recurrent(layer.inputvectorsize, layer.outputvectorsize)
    case 410:
      guard let layer = message.gru?.pointee else { return [:] }
      return recurrent(layer.inputvectorsize, layer.outputvectorsize)
    case 420:
      guard let layer = message.unidirectionallstm?.pointee else { return [:] }
      return recurrent(layer.inputvectorsize, layer.outputvectorsize)
    case 430:
      guard let layer = message.bidirectionallstm?.pointee else { return [:] }
      return recurrent(layer.inputvectorsize, layer.outputvectorsize)
    default: return [:]
    }
  }
}

extension UnsafeMutablePointer where Pointee == CoreML__Specification__NeuralNetworkLayer {
  /// The layers of the networks in a branch or loop.
  var nestedLayers: [[UnsafeMutablePointer]] {
    let networks: [UnsafeMutablePointer<CoreML__Specification__NeuralNetwork>?] =
      switch pointee.layer_case.rawValue {
      case 605: [pointee.branch?.pointee.ifbranch, pointee.branch?.pointee.elsebranch]
      case 615: [pointee.loop?.pointee.conditionnetwork, pointee.loop?.pointee.bodynetwork]
      default: []
      }
    return networks.compactMap { network in
      network.map { messages($0.pointee.n_layers, $0.pointee.layers) }
    }
  }
}
