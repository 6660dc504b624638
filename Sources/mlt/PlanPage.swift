import ModelPlan

/// A plan as a page that stands alone: no other file, no network, readable without JavaScript.
///
/// The number of its elements has a bound, whatever the number of operations.
struct PlanPage {
  var plan: Plan
  var title: String
  var model: String

  /// The document.
  var html: String {
    let name = HTMLText.escaped(title)
    let parts = [
      header, summary, timeline, costs, charts, advice, children, table, assumptions, foot,
    ]
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
      style-src 'unsafe-inline'; script-src 'unsafe-inline'">
      <title>\(name) on \(HTMLText.escaped(plan.device))</title>
      <style>
      \(PlanPage.style)
      </style>
      </head>
      <body>
      \(parts.filter { !$0.isEmpty }.joined(separator: "\n"))
      <script>
      \(PlanPage.script)
      </script>
      </body>
      </html>

      """
  }

  /// A part of the page with its heading and, below it, a line that says what is seen.
  func section(_ id: String, _ title: String, _ explanation: String = "", _ body: String) -> String
  {
    let note =
      explanation.isEmpty
      ? "" : HTMLText.element("p", "class=\"note\"", HTMLText.escaped(explanation)) + "\n"
    return "<section id=\"\(id)\">\n<h2>\(HTMLText.escaped(title))</h2>\n\(note)\(body)\n</section>"
  }

  // MARK: Head

  private var header: String {
    let facts = [
      ("device", plan.device), ("chip", plan.chip), ("system", plan.os), ("units", plan.units),
      ("function", plan.function),
    ]
    let list = facts.map { name, value in
      "<div><dt>\(name)</dt><dd>\(HTMLText.escaped(value))</dd></div>"
    }
    return """
      <header>
      <h1>\(HTMLText.escaped(title))</h1>
      <p class="path">\(HTMLText.escaped(model))</p>
      <dl class="facts">\(list.joined())</dl>
      </header>
      """
  }

  private var summary: String {
    let range =
      "between \(PlanText.time(plan.range.low)) and \(PlanText.time(plan.range.high))"
    let cards = [
      ("estimated latency", PlanText.time(plan.latency), range),
      ("multiply-adds", PlanText.count(plan.multiplyAdds), "of one prediction"),
      ("weights", PlanText.bytes(plan.weightBytes), "in memory"),
      ("activations", PlanText.bytes(plan.peakActivationBytes), "at most at one time"),
      (
        "operations", "\(plan.operations.count)",
        Human.counted(plan.transfers.count, "change") + " of unit"
      ),
    ].map { name, value, note in
      "<div class=\"card\"><span>\(name)</span><strong>\(value)</strong><small>\(note)</small></div>"
    }
    return """
      <section id="summary">
      <div class="cards">\(cards.joined())</div>
      \(shares)
      </section>
      """
  }

  /// The time of each unit as parts of one bar.
  private var shares: String {
    let times = ComputeUnit.allCases.reversed().map { unit in
      (unit, plan.operations.filter { $0.preferred == unit })
    }.filter { !$0.1.isEmpty }
    let parts = times.map { unit, own in
      let share = own.reduce(0) { $0 + $1.cost }
      return
        "<i class=\"u-\(unit.rawValue)\" style=\"width:\(HTMLText.number(share * 100, 3))%\"></i>"
    }
    var legend = times.map { unit, own in
      let time = PlanText.time(own.reduce(0) { $0 + $1.milliseconds })
      let share = PlanText.percent(own.reduce(0) { $0 + $1.cost })
      return "<span><i class=\"u-\(unit.rawValue)\"></i>\(unit.title): \(share), \(time), "
        + "\(Human.counted(own.count, "operation"))</span>"
    }
    if plan.startMilliseconds > 0 {
      legend.append("<span>start: \(PlanText.time(plan.startMilliseconds))</span>")
    }
    let moved = plan.transfers.reduce(0) { $0 + $1.milliseconds }
    if moved > 0 { legend.append("<span>changes of unit: \(PlanText.time(moved))</span>") }
    return """
      <div class="shares" role="img" aria-label="Share of each unit in the time">\(parts.joined())</div>
      <p class="legend">\(legend.joined())</p>
      """
  }

  private var foot: String {
    """
    <footer>An estimate of mlt from the graph alone: no Apple hardware or runtime took part. \
    Confidence: A documented by Apple, M measured and published by others, R reported by single \
    authors, D derived.</footer>
    """
  }
}
