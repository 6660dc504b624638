// The class of the states.
extension InterfaceClass {
  func writeState(to source: inout SwiftSource) {
    source.line()
    source.document("The states of \(name), which predictions change.")
    source.line(availability.joined(.state).attribute)
    source.block("final class \(stateName)") { source in
      source.document("The states by name.")
      source.block("enum Name: String, CaseIterable") { source in
        for state in states {
          source.document(state.summary)
          source.line("case \(state.spelled) = \(state.literal)")
        }
      }
      source.line()
      source.line("let handle: MLState")
      source.line()
      source.block("init(handle: MLState)") { source in source.line("self.handle = handle") }
      source.line()
      source.document("Calls the closure with the array of a state, to read or to change it.")
      source.block(
        "func withMultiArray<R>(for stateName: Name, _ body: (MLMultiArray) throws -> R) "
          + "rethrows -> R"
      ) { source in
        source.line("try handle.withMultiArray(for: stateName.rawValue, body)")
      }
    }
  }
}
