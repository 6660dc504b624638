/// Collects what a text rests on and what it leaves out.
struct MILNotes {
  /// A form of text that no text of Apple's compiler at hand shows.
  enum Form: String, CaseIterable {
    case header6 = "the header of specification version 6"
    case headerOther = "the header of specification versions from 10 on"
    case opsets = "the spelling of opsets other than CoreML6, CoreML7 and CoreML8"
    case multipleFunctions = "several functions: their order"
    case states = "states"
    case specialFloats = "infinity and NaN in literals"
    case payloadNaN = "NaN with a payload in literals"
    case narrowTypes = "element types narrower than a byte"
    case smallFloats = "the names and literals of bf16 and fp8"
    case unsignedTypes = "the name of the type uint32"
    case variadicShapes = "types of variadic or unknown rank"
    case otherBindings = "arguments of no binding, or of several that are not all names"
    case noOutputs = "operations without outputs"
    case constexprArguments = "constexpr operations with arguments"
    case blocks = "nested blocks"
    case classify = "the classify operation"
    case lists = "operations on lists"
    case aggregates = "list, tuple and dictionary constants"
    case escapes = "escape sequences in strings"
    case quotedNames = "names that are no identifiers"
    case nestedBlobs = "weights in lists, tuples or dictionaries"
    case oldEnumerations = "enumerated shapes in MIL 1.0"
    case enumerationKeys = "the keys of enumerated shapes"
    case severalEnumerations = "enumerated shapes of several inputs"
    case mixedFlexibility = "range and enumerated shapes in one function"
    case unboundedRange = "ranges without an upper bound"
    case flexibleImages = "flexible image sizes"
  }

  /// A part of a program that text has no place for.
  enum Loss: String {
    case docStrings = "doc strings"
    case unknownFields = "fields that the schema does not name"
    case specializations = "specializations other than the active one"
    case blockParts = "inputs and attributes of the blocks of functions"
    case typeAttributes = "attributes of tensor types"
    case rank = "ranks that differ from the number of dimensions"
    case valueTypes = "types of values in lists, tuples and dictionaries"
    case lists = "lists of elements other than the one that the type uses"
    case padding = "unused bits behind packed elements"
    case programVersion = "a program version other than 1"
    case flexibility = "flexible shapes of inputs that the function does not have"
  }

  private var forms: Set<Form> = []
  private var losses: Set<Loss> = []

  mutating func rests(on form: Form) { forms.insert(form) }
  mutating func drops(_ loss: Loss) { losses.insert(loss) }

  var report: MILPrinter.Report {
    var report = MILPrinter.Report()
    report.unproved = forms.map(\.rawValue).sorted()
    report.dropped = losses.map(\.rawValue).sorted()
    return report
  }
}
