import ModelTensors

/// The shapes that a function's inputs may take, as the attribute `FlexibleShapeInformation` says
/// them.
struct FlexibleShapes {
  static let attribute = "FlexibleShapeInformation"

  /// What one input may be beside its default.
  private enum Choice {
    /// The least and the greatest size per axis; −1 for none.
    case range([[Int64]])
    case enumerated([[Int64]])
  }

  private struct Input {
    var name: String
    var standard: [Int64]
    var choice: Choice
    var isUnbounded = false
    var isImage = false
  }

  private var features: [FeatureDescription]

  /// The flexible inputs of a function, or nil when there are none.
  init?(_ description: ModelDescription?, function: String) {
    guard let description else { return nil }
    if let entry = description.functions.first(where: { $0.name == function }) {
      features = entry.inputs
    } else if description.functions.isEmpty {
      features = description.inputs
    } else {
      return nil
    }
    features.removeAll { feature in
      switch feature.type?.kind {
      case .multiArray(let type): type.flexibility == .fixed
      case .image(let type): type.flexibility == .fixed
      default: true
      }
    }
    if features.isEmpty { return nil }
  }

  /// Sets the attribute, unless the function has it.
  func add(
    to function: inout Function, _ notes: inout MILNotes, _ version: MILVersion
  ) throws(MILTextError) {
    if function.attributes[Self.attribute] != nil { return }
    var inputs: [Input] = []
    let types = Dictionary(function.inputs.map { ($0.name, $0.type) }) { first, _ in first }
    for feature in features {
      guard let type = types[feature.name]??.tensor else {
        notes.drops(.flexibility)
        continue
      }
      if let input = Self.input(feature, type) { inputs.append(input) }
    }
    guard !inputs.isEmpty else { return }
    inputs.sort { MILSyntax.precedes($0.name, $1.name) }
    note(inputs, &notes, version)
    function.attributes[Self.attribute] = try Self.value(inputs)
  }

  private func note(_ inputs: [Input], _ notes: inout MILNotes, _ version: MILVersion) {
    if inputs.contains(where: \.isUnbounded) { notes.rests(on: .unboundedRange) }
    if inputs.contains(where: \.isImage) { notes.rests(on: .flexibleImages) }
    let enumerated = inputs.filter {
      if case .enumerated = $0.choice { return true }
      return false
    }
    if enumerated.isEmpty { return }
    notes.rests(on: .enumerationKeys)
    if !version.hasBareScalars { notes.rests(on: .oldEnumerations) }
    if enumerated.count > 1 { notes.rests(on: .severalEnumerations) }
    if enumerated.count < inputs.count { notes.rests(on: .mixedFlexibility) }
  }

  private static func input(_ feature: FeatureDescription, _ type: TensorType) -> Input? {
    switch feature.type?.kind {
    case .multiArray(let array):
      switch array.flexibility {
      case .fixed: return nil
      case .range(let ranges): return input(feature.name, array.shape, ranges)
      case .enumerated(let shapes):
        return input(feature.name, array.shape, enumerated: shapes.map(\.sizes))
      }
    case .image(let image): return input(feature.name, image, type)
    default: return nil
    }
  }

  private static func input(
    _ name: String, _ standard: [Int64], _ ranges: [SizeRange]
  ) -> Input? {
    var isUnbounded = false
    let sizes = ranges.map { range -> [Int64] in
      let upper = range.upperBound < 0 || range.upperBound > Int32.max ? -1 : range.upperBound
      isUnbounded = isUnbounded || upper == -1
      return [Int64(clamping: range.lowerBound), upper]
    }
    if sizes.allSatisfy({ $0[0] == $0[1] }) { return nil }
    return Input(
      name: name, standard: standard.isEmpty ? sizes.map { $0[0] } : standard,
      choice: .range(sizes), isUnbounded: isUnbounded)
  }

  private static func input(
    _ name: String, _ standard: [Int64], enumerated shapes: [[Int64]]
  ) -> Input? {
    guard let first = shapes.first else { return nil }
    return Input(
      name: name, standard: standard.isEmpty ? first : standard, choice: .enumerated(shapes))
  }

  /// An image is a tensor whose last axes are channels, height and width.
  private static func input(_ name: String, _ image: ImageType, _ type: TensorType) -> Input? {
    let rank = type.dimensions.count
    guard rank >= 3, let channels = type.dimensions[rank - 3].size else { return nil }
    func shape(_ height: Int64, _ width: Int64) -> [Int64] {
      [Int64](repeating: 1, count: rank - 3) + [Int64(channels), height, width]
    }
    let standard = shape(image.height, image.width)
    var input: Input?
    switch image.flexibility {
    case .fixed: return nil
    case .enumerated(let sizes):
      let shapes = sizes.map { shape(Int64(clamping: $0.height), Int64(clamping: $0.width)) }
      input = self.input(name, standard, enumerated: shapes)
    case .range(let width, let height):
      var ranges = standard.map { SizeRange(lowerBound: UInt64(clamping: $0), upperBound: $0) }
      if let height { ranges[rank - 2] = height }
      if let width { ranges[rank - 1] = width }
      input = self.input(name, standard, ranges)
    }
    input?.isImage = true
    return input
  }

  private static func value(_ inputs: [Input]) throws(MILTextError) -> Value {
    var parts = [
      part("DefaultShapes", Build.shapes(try Build.entries(inputs.map { ($0.name, $0.standard) })))
    ]
    var keyed: [(key: String, shapes: [(String, [Int64])])] = []
    var keys: Set<String> = []
    for shapes in combinations(inputs) {
      var text = shapes.map { "\($0.0)=\($0.1.map(String.init).joined(separator: ","))" }
        .joined(separator: ";")
      while !keys.insert(key(text)).inserted { text += ";" }
      keyed.append((key(text), shapes))
    }
    if !keyed.isEmpty {
      var entries: [(String, Value)] = []
      for (key, shapes) in keyed.sorted(by: { MILSyntax.precedes($0.key, $1.key) }) {
        entries.append((key, Build.shapes(try Build.entries(shapes))))
      }
      parts.append(part("EnumeratedShapes", Build.dictionary(entries, of: Build.shapesType)))
    }
    var ranges: [(String, Value)] = []
    for input in inputs {
      guard case .range(let sizes) = input.choice else { continue }
      var axes: [Value] = []
      for size in sizes { axes.append(try Build.int32s(size)) }
      ranges.append(
        (
          input.name,
          Value(type: Build.rangesType, content: .immediate(ImmediateValue(.list(axes))))
        ))
    }
    if !ranges.isEmpty {
      parts.append(part("RangeDims", Build.dictionary(ranges, of: Build.rangesType)))
    }
    return Build.tuple(parts)
  }

  private static func part(_ name: String, _ value: Value) -> Value {
    Build.tuple([.string(name), value])
  }

  /// The enumerated shapes of all inputs together: the first of each, the second of each, and so
  /// on; an input with fewer shapes keeps its default.
  private static func combinations(_ inputs: [Input]) -> [[(String, [Int64])]] {
    var lists: [(name: String, standard: [Int64], shapes: [[Int64]])] = []
    for input in inputs {
      if case .enumerated(let shapes) = input.choice {
        lists.append((input.name, input.standard, shapes))
      }
    }
    let count = lists.map(\.shapes.count).max() ?? 0
    var seen: Set<[[Int64]]> = []
    return (0..<count).compactMap { index in
      let shapes = lists.map { ($0.name, index < $0.shapes.count ? $0.shapes[index] : $0.standard) }
      return seen.insert(shapes.map(\.1)).inserted ? shapes : nil
    }
  }

  /// Eight hexadecimal digits of a text: FNV-1a.
  private static func key(_ text: String) -> String {
    var hash: UInt32 = 0x811C_9DC5
    for byte in text.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// Values of the kinds that the attribute is made of.
private enum Build {
  static let shapeType = ValueType(
    .tensor(
      TensorType(
        dataType: DataType(.int32), rank: 1, dimensions: [Dimension(.unknown(variadic: false))])))
  static let shapesType = ValueType(.dictionary(key: .tensor(.string), value: shapeType))
  static let rangesType = ValueType(
    .list(element: .tensor(.int32, [2]), length: Dimension(.unknown(variadic: false))))

  static func int32s(_ numbers: [Int64]) throws(MILTextError) -> Value {
    var values: [Int32] = []
    for number in numbers {
      guard let value = Int32(exactly: number) else {
        throw MILTextError("the size \(number) in a flexible shape is too great")
      }
      values.append(value)
    }
    return .int32s(values)
  }

  static func entries(_ shapes: [(String, [Int64])]) throws(MILTextError) -> [(String, Value)] {
    var entries: [(String, Value)] = []
    for (name, shape) in shapes { entries.append((name, try int32s(shape))) }
    return entries
  }

  static func shapes(_ entries: [(String, Value)]) -> Value { dictionary(entries, of: shapeType) }

  static func dictionary(_ entries: [(String, Value)], of type: ValueType) -> Value {
    let pairs = entries.map { ImmediateValue.Pair(key: .string($0.0), value: $0.1) }
    return Value(
      type: ValueType(.dictionary(key: .tensor(.string), value: type)),
      content: .immediate(ImmediateValue(.dictionary(pairs))))
  }

  static func tuple(_ values: [Value]) -> Value {
    Value(
      type: ValueType(.tuple(values.map { $0.type ?? ValueType(.absent) })),
      content: .immediate(ImmediateValue(.tuple(values))))
  }
}
