import CModelSchemas
import ModelGraph
import ModelSpec

/// Training parameters with their defaults and what may be set instead.
enum Parameters {
  static func detail(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__Int64Parameter>?
  ) -> Detail {
    guard let parameter = pointer?.pointee else { return .none }
    var fields: NamedList<Detail> = ["default": .integer(Int(parameter.defaultvalue))]
    switch parameter.allowed_values_case.rawValue {
    case 10:
      if let range = parameter.range?.pointee {
        fields["range"] = .integers([Int(range.minvalue), Int(range.maxvalue)])
      }
    case 11:
      if let set = parameter.set?.pointee {
        fields["allowed"] = .integers(scalars(set.n_values, set.values).prefix(100).map { Int($0) })
      }
    default: break
    }
    return .object(fields)
  }

  static func detail(
    _ pointer: UnsafeMutablePointer<CoreML__Specification__DoubleParameter>?
  ) -> Detail {
    guard let parameter = pointer?.pointee else { return .none }
    var fields: NamedList<Detail> = ["default": .number(parameter.defaultvalue)]
    if parameter.allowed_values_case.rawValue == 10, let range = parameter.range?.pointee {
      fields["range"] = .list([.number(range.minvalue), .number(range.maxvalue)])
    }
    return .object(fields)
  }
}
