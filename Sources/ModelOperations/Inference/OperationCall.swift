import ModelGraph
import ModelTensors

/// Why the type of an operation's result cannot be inferred.
struct InferenceFault: Error {
  /// What does not fit, in one sentence.
  var message: String
}

/// The values of a function while its types are inferred.
final class InferenceScope {
  var values: [String: InferredType] = [:]
  var constants: [String: Value] = [:]
  var symbols = SymbolSource()
}

/// One operation as the inference rules see it: its inputs with what is known of them.
struct OperationCall {
  let operation: GraphOperation
  /// The specification version of the function's opset.
  let version: Int
  /// The values that are known.
  let scope: InferenceScope

  var symbols: SymbolSource {
    get { scope.symbols }
    nonmutating set { scope.symbols = newValue }
    nonmutating _modify { yield &scope.symbols }
  }

  func fault(_ message: String) -> InferenceFault { InferenceFault(message: message) }

  // MARK: Tensors

  /// What an input with one binding is bound to, or nil when it is absent.
  func type(_ input: String) -> InferredType? {
    if let argument = operation.inputs[input] {
      return argument.bindings.first.flatMap { type($0) }
    }
    return operation.attributes[input].map { InferredType(of: $0, &symbols) }
  }

  private func type(_ binding: Binding) -> InferredType? {
    switch binding.kind {
    case .name(let name): scope.values[name]
    case .value(let value): InferredType(of: value, &symbols)
    case .absent: nil
    }
  }

  /// The tensor that an input is bound to.
  func tensor(_ input: String) throws(InferenceFault) -> InferredTensor {
    guard let tensor = type(input)?.tensor else {
      throw fault("The input \(input) is no tensor that is known.")
    }
    return tensor
  }

  /// The tensor that an optional input is bound to.
  func optionalTensor(_ input: String) -> InferredTensor? { type(input)?.tensor }

  /// The tensors that an input of several bindings is bound to.
  func tensors(_ input: String) throws(InferenceFault) -> [InferredTensor] {
    var tensors: [InferredTensor] = []
    for binding in operation.inputs[input]?.bindings ?? [] {
      guard let tensor = type(binding)?.tensor else {
        throw fault("The input \(input) holds something that is no known tensor.")
      }
      tensors.append(tensor)
    }
    guard !tensors.isEmpty else { throw fault("The input \(input) is missing.") }
    return tensors
  }

  /// The tensor's sizes.
  func shape(_ input: String) throws(InferenceFault) -> [SymbolicSize] {
    guard let shape = try tensor(input).shape else {
      throw fault("The rank of \(input) is not known.")
    }
    return shape
  }

  // MARK: Constants

  /// The constant that an input is bound to, or nil.
  private func value(_ input: String) -> Value? {
    guard let argument = operation.inputs[input] else { return operation.attributes[input] }
    return argument.value ?? argument.name.flatMap { scope.constants[$0] }
  }

  /// Whether the input is there.
  func has(_ input: String) -> Bool {
    operation.inputs[input]?.bindings.isEmpty == false || operation.attributes[input] != nil
  }

  /// The elements of an input of integers, constant or computed from sizes; nil where they are not
  /// known.
  func integers(_ input: String) -> [SymbolicSize]? {
    if let values = value(input)?.intValues { return values.map { symbols.size($0) } }
    return type(input)?.tensor?.integers
  }

  /// The numbers of an input of integers; nil where they are not known.
  func numbers(_ input: String) -> [Int]? {
    guard let integers = integers(input) else { return nil }
    let numbers = integers.compactMap(\.value)
    return numbers.count == integers.count ? numbers : nil
  }

  /// The numbers of an input that must be known.
  func requiredNumbers(_ input: String) throws(InferenceFault) -> [Int] {
    guard let numbers = numbers(input) else {
      throw fault("The input \(input) is no known list of integers.")
    }
    return numbers
  }

  /// The number of an input of one integer; its default where it is absent.
  func number(_ input: String, default standard: Int? = nil) throws(InferenceFault) -> Int {
    if !has(input), let standard { return standard }
    guard let numbers = numbers(input), numbers.count == 1 else {
      throw fault("The input \(input) is no known integer.")
    }
    return numbers[0]
  }

  /// The truth value of a constant input; its default where it is absent.
  func flag(_ input: String, default standard: Bool = false) -> Bool {
    value(input)?.boolValue ?? standard
  }

  /// The truth values of a constant input; none where it is absent.
  func flags(_ input: String) -> [Bool] {
    guard let source = value(input)?.tensorSource, source.elementCount <= 64,
      let bytes = try? source.bytes()
    else { return [] }
    return bytes.map { $0 != 0 }
  }

  /// The text of a constant input; its default where it is absent.
  func text(_ input: String, default standard: String = "") -> String {
    value(input)?.stringValue ?? standard
  }

  /// The first element of a constant input of numbers.
  func real(_ input: String) -> Double? {
    guard let value = value(input) else { return nil }
    if let number = value.intValue { return Double(number) }
    guard let source = value.tensorSource, source.elementCount == 1,
      let bytes = try? source.bytes()
    else { return nil }
    switch source.elementType {
    case .float32: return bytes.withUnsafeBytes { Double($0.loadUnaligned(as: Float.self)) }
    case .float16:
      return bytes.withUnsafeBytes {
        Double(HalfFloat.float($0.loadUnaligned(as: UInt16.self)))
      }
    default: return nil
    }
  }

  /// The element type that a constant input names.
  func elementType(_ input: String, default standard: ElementType?) -> ElementType? {
    let name = text(input)
    return ElementType(rawValue: name == "fp64" ? "fp32" : name) ?? standard
  }

  // MARK: Axes

  /// An axis counted from the front.
  func axis(_ axis: Int, rank: Int) throws(InferenceFault) -> Int {
    guard let axis = Shape.normalized(axis: axis, rank: rank) else {
      throw fault("The axis \(axis) is outside the rank \(rank).")
    }
    return axis
  }

  /// Axes counted from the front; all of them where the input is absent.
  func axes(_ input: String, rank: Int) throws(InferenceFault) -> [Int] {
    if !has(input) { return Array(0..<rank) }
    var axes: [Int] = []
    for number in try requiredNumbers(input) { axes.append(try axis(number, rank: rank)) }
    return axes
  }

  /// The common shape of two that are broadcast.
  func broadcast(
    _ left: [SymbolicSize]?, _ right: [SymbolicSize]?
  ) throws(InferenceFault) -> [SymbolicSize]? {
    guard let left, let right else { return nil }
    let rank = max(left.count, right.count)
    let own = [SymbolicSize](repeating: 1, count: rank - left.count) + left
    let other = [SymbolicSize](repeating: 1, count: rank - right.count) + right
    var shape: [SymbolicSize] = []
    for (one, two) in zip(own, other) { shape.append(try broadcast(one, two)) }
    return shape
  }

  func broadcast(
    _ one: SymbolicSize, _ two: SymbolicSize
  ) throws(InferenceFault) -> SymbolicSize {
    switch (one, two) {
    case _ where one == two: return one
    case (.known(1), let other), (let other, .known(1)): return other
    case (.known(let left), .known(let right)):
      throw fault("Sizes \(left) and \(right) cannot be broadcast.")
    // A symbol beside a number is 1 or that number.
    case (.known, .symbol): return one
    case (.symbol, .known): return two
    case (.symbol, .symbol): return symbols.next()
    }
  }
}

extension InferredType {
  /// What a value that stands in the program is.
  init(of value: Value, _ symbols: inout SymbolSource) {
    self.init(value.type, &symbols)
    guard case .tensor(var tensor) = self, let count = tensor.elementCount, count <= 64,
      tensor.elementType?.isInteger == true, let values = value.intValues
    else { return }
    tensor.integers = values.map { symbols.size($0) }
    self = .tensor(tensor)
  }
}
