/// A plot as SVG: axes with marks, lines, areas and points.
struct PlotFrame {
  static let width = 640.0
  static let height = 400.0
  /// Where the axes run, with room for their marks.
  static let across = (96.0, width - 26)
  static let upwards = (height - 56, 30.0)

  let x: PlotScale
  let y: PlotScale
  var label: String
  var horizontal: String
  var vertical: String
  private var grid: [String] = []
  private var shapes: [String] = []

  init(x: PlotScale, y: PlotScale, label: String, horizontal: String, vertical: String) {
    self.x = x
    self.y = y
    self.label = label
    self.horizontal = horizontal
    self.vertical = vertical
  }

  private func number(_ value: Double) -> String { HTMLText.number(value, 1) }
  private func place(_ point: (Double, Double)) -> String {
    "\(number(x.place(point.0))) \(number(y.place(point.1)))"
  }

  mutating func tick(x value: Double, _ text: String) {
    let place = number(x.place(value))
    grid.append(
      "<path class=\"grid\" d=\"M\(place) \(number(y.places.0))V\(number(y.places.1))\"/>"
        + "<text x=\"\(place)\" y=\"\(number(y.places.0 + 22))\" text-anchor=\"middle\">"
        + "\(HTMLText.escaped(text))</text>")
  }

  mutating func tick(y value: Double, _ text: String) {
    let place = y.place(value)
    grid.append(
      "<path class=\"grid\" d=\"M\(number(x.places.0)) \(number(place))H\(number(x.places.1))\"/>"
        + "<text x=\"\(number(x.places.0 - 6))\" y=\"\(number(place + 4))\" text-anchor=\"end\">"
        + "\(HTMLText.escaped(text))</text>")
  }

  mutating func line(_ points: [(Double, Double)], _ style: String, _ title: String) {
    shapes.append(
      "<path class=\"\(style)\" d=\"M\(points.map(place).joined(separator: "L"))\">"
        + "<title>\(HTMLText.escaped(title))</title></path>")
  }

  /// Steps from the bottom, each until the next begins.
  mutating func area(_ steps: [(Double, Double)], end: Double, _ style: String) {
    var path = "M\(place((steps.first?.0 ?? 0, 0)))"
    for (start, value) in steps {
      path += "H\(number(x.place(start)))V\(number(y.place(value)))"
    }
    path += "H\(number(x.place(end)))V\(number(y.place(0)))Z"
    shapes.append("<path class=\"\(style)\" d=\"\(path)\"/>")
  }

  mutating func point(
    _ horizontal: Double, _ vertical: Double, _ style: String, _ title: String,
    radius: Double = 4.5
  ) {
    shapes.append(
      "<circle class=\"\(style)\" cx=\"\(number(x.place(horizontal)))\" "
        + "cy=\"\(number(y.place(vertical)))\" r=\"\(number(radius))\">"
        + "<title>\(HTMLText.escaped(title))</title></circle>")
  }

  /// A text beside a point, on the side with more room.
  mutating func note(_ horizontal: Double, _ vertical: Double, _ text: String) {
    let place = x.place(horizontal)
    let isRight = place > (x.places.0 + x.places.1) / 2
    shapes.append(
      "<text class=\"mark\" x=\"\(number(place + (isRight ? -11 : 11)))\" "
        + "y=\"\(number(y.place(vertical) - 2))\" text-anchor=\"\(isRight ? "end" : "start")\">"
        + "\(HTMLText.escaped(text))</text>")
  }

  var svg: String {
    let middle = number((x.places.0 + x.places.1) / 2)
    return """
      <svg class="plot" viewBox="0 0 \(number(Self.width)) \(number(Self.height))" role="img" \
      aria-label="\(HTMLText.escaped(label))">
      \(grid.joined(separator: "\n"))
      <text x="\(middle)" y="\(number(Self.height - 8))" text-anchor="middle">\
      \(HTMLText.escaped(horizontal))</text>
      <text x="4" y="16">\(HTMLText.escaped(vertical))</text>
      <g>
      \(shapes.joined(separator: "\n"))
      </g>
      </svg>
      """
  }
}
